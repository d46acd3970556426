"""The library's few names, and what importing them costs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import toolcrib

PROTOCOL_STACK = ("mcp", "mcp_types", "pydantic", "starlette", "uvicorn", "httpx2", "anyio")


def modules_after(statement: str) -> set[str]:
    """The modules a fresh interpreter has loaded after one statement."""
    program = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30, check=True)
    return set(json.loads(done.stdout))


@pytest.mark.parametrize("name", toolcrib.__all__)
def test_every_public_name_resolves(name: str) -> None:
    assert getattr(toolcrib, name) is getattr(toolcrib, name)


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Gatewya'"):
        _ = toolcrib.Gatewya


def test_importing_the_package_loads_nothing_but_itself() -> None:
    ours = {name for name in modules_after("import toolcrib") if name.startswith("toolcrib")}

    assert ours == {"toolcrib", "toolcrib.version"}


@pytest.mark.parametrize(
    "statement",
    [
        "import toolcrib; toolcrib.load_settings",
        "import toolcrib; toolcrib.Gateway",
        "import toolcrib; toolcrib.ToolcribError",
        "import toolcrib; toolcrib.SearchAnswer, toolcrib.ExecutionResult, toolcrib.ServerStatus, toolcrib.ConfigCheck",
        "import toolcrib; toolcrib.MCPDiscoveryProvider",
        "import toolcrib; toolcrib.validate_config()",
        "from toolcrib.cli.main import main; main(['list'])",
        "from toolcrib.cli.main import main; main(['lst'])",
        "import toolcrib.engine.open_catalog",
        "from toolcrib.cli.main import main; main(['settings'])",
    ],
)
def test_reading_needs_no_protocol_stack(statement: str) -> None:
    quiet = f"import contextlib, io\nwith contextlib.redirect_stdout(io.StringIO()):\n    {statement}"

    assert not modules_after(quiet) & set(PROTOCOL_STACK)
