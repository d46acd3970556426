"""The workflow file runs what a person runs, on every system and with every Python that the package names."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))
JOB = WORKFLOW["jobs"]["run"]
JOBS = WORKFLOW["jobs"].values()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_it_runs_with_each_python_that_the_package_names() -> None:
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))

    assert JOB["strategy"]["matrix"]["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    (python,) = [step["with"] for step in JOB["steps"] if "setup-python" in step.get("uses", "")]
    assert python["python-version"] == "${{ matrix.python }}"


def test_it_runs_on_all_three_systems_and_one_that_fails_stops_no_other() -> None:
    systems = JOB["strategy"]["matrix"]["os"]

    assert [name.partition("-")[0] for name in systems] == ["ubuntu", "macos", "windows"]
    assert JOB["runs-on"] == "${{ matrix.os }}"
    assert JOB["strategy"]["fail-fast"] is False
    assert JOB["defaults"]["run"]["shell"] == "bash"


def test_it_runs_what_a_person_runs_and_nothing_else() -> None:
    (run,) = [step["run"] for step in JOB["steps"] if "run" in step]
    # Root is needed on Linux only: hosts are made there, and must not be left out.
    as_root = "${{ runner.os == 'Linux' && 'sudo --preserve-env env \"PATH=$PATH\"' || '' }}"
    assert run == f"{as_root} bash .ci/run"
    said = subprocess.run(["bash", "-n", str(ROOT / ".ci" / "run")], capture_output=True, timeout=10, check=False)
    assert (said.returncode, said.stderr) == (0, b"")


def test_coverage_is_measured_in_a_job_of_its_own() -> None:
    (run,) = [step["run"] for step in WORKFLOW["jobs"]["coverage"]["steps"] if "run" in step]

    assert run.endswith("make coverage")
    assert WORKFLOW["jobs"].keys() == {"run", "coverage"}


def test_it_may_only_read_and_ends_by_itself() -> None:
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert all("permissions" not in job for job in JOBS)
    assert all(0 < job["timeout-minutes"] <= 90 for job in JOBS)
    # YAML 1.1 reads the key `on` as true.
    assert set(WORKFLOW[True]) == {"push", "pull_request"}


def test_every_action_has_a_version() -> None:
    actions = [step["uses"] for job in JOBS for step in job["steps"] if "uses" in step]

    assert len(actions) == 6
    assert [
        action for action in actions if not re.fullmatch(r"actions/[\w-]+@v\d+(\.\d+)*|.+@[0-9a-f]{40}", action)
    ] == []


@pytest.mark.skipif(sys.platform == "win32", reason="this is what it plans there, seen from elsewhere")
@pytest.mark.parametrize("target", ["check", "test"])
def test_on_windows_the_programs_are_where_windows_has_them(target: str) -> None:
    command = ["make", "--no-print-directory", "--dry-run", "--always-make", "OS=Windows_NT", "SHELL=/bin/sh", target]
    planned = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True).stdout

    assert planned.startswith("python -m venv .venv\n")
    assert ".venv/Scripts/python -m pip" in planned
    assert ".venv/bin" not in planned
