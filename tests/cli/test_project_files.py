"""Files that came with a folder: a person sees their servers before any of them is used."""

from __future__ import annotations

import json
import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from toolcrib.approvals.approvals import EXPIRY_SECONDS, Approvals, ProposalRequest
from toolcrib.cli.main import main
from toolcrib.config.load import load_settings
from toolcrib.config.paths import Paths
from toolcrib.model.server import StdioLaunch
from toolcrib.storage.sqlite_capabilities import SqliteCapabilities

Printed = pytest.CaptureFixture[str]


def project(command: str = "run-me", name: str = ".mcp.json", **more: Any) -> Path:
    path = Path.cwd() / name
    path.parent.mkdir(parents=True, exist_ok=True)
    key = "servers" if ".vscode" in name else "mcpServers"
    path.write_text(json.dumps({key: {"local": {"command": command, "args": ["--all"], **more}}}), encoding="utf-8")
    return path


def names() -> list[str]:
    return [server.name for server in load_settings().servers]


def waiting(capsys: Printed, *words: str) -> list[dict[str, Any]]:
    capsys.readouterr()
    assert main(["approvals", "list", "--json", *words]) == 0
    return [one for one in json.loads(capsys.readouterr().out)["approvals"] if one.get("subject") == "file"]


def test_trust_shows_every_server_of_a_clients_file_and_uses_them_from_then_on(capsys: Printed) -> None:
    file = project(env={"GREETING": "hello"})
    own = Path("toolcrib.yaml")
    own.write_text("servers: {}\n", encoding="utf-8")

    assert main(["trust"]) == 0

    said = capsys.readouterr().out
    assert "Runs: run-me --all" in said
    assert "Gets variable: GREETING=hello" in said
    assert said.count("trusted until it changes") == 2
    assert names() == ["local"]
    assert main(["trust", "--list"]) == 0
    assert str(file.resolve()) in capsys.readouterr().out

    assert main(["trust", "--forget"]) == 0
    assert names() == []


def test_trust_hides_nothing_of_what_would_run_though_it_looks_like_a_key(capsys: Printed) -> None:
    key = "sk-" + "a1B2c3" * 6
    option = f"--import=./{key}.js"
    project(command=key, env={"MODE_TOKEN": option, "TOKEN_HELPER": "helper", "OWN_TOKEN": key})
    (request,) = waiting(capsys)
    env = {
        "MODE_TOKEN": option,
        "TOKEN_HELPER": "helper",
        "OWN_TOKEN": "***",
    }  # the second can only be a secret, and perhaps the person's own
    assert request["servers"][0]["launch"] == {"command": key, "args": ["--all"], "env": env}

    for words in (["approvals", "show", request["id"]], ["trust"]):
        assert main(words) == 0
        said = capsys.readouterr().out
        assert f"Runs: {key} --all\n" in said
        assert f"Gets variable: MODE_TOKEN={option}\n" in said


def test_an_untrusted_file_waits_among_the_approvals_and_can_be_approved_there(capsys: Printed) -> None:
    file = project()
    (request,) = waiting(capsys)
    assert (request["path"], request["state"]) == (str(file), "pending")
    assert request["servers"] == [{"name": "local", "launch": {"command": "run-me", "args": ["--all"]}}]
    assert main(["approvals", "show", request["id"]]) == 0
    assert "Runs: run-me --all" in capsys.readouterr().out
    assert main(["approvals", "approve", request["id"]]) == 1, "nobody was asked, and there is no --yes"

    assert main(["approvals", "approve", request["id"], "--yes"]) == 0

    assert names() == ["local"]
    assert waiting(capsys) == []


def test_a_decided_file_stays_in_the_queue_with_who_decided_when_and_why(capsys: Printed) -> None:
    file = project()
    (request,) = waiting(capsys)
    assert main(["approvals", "approve", request["id"], "--yes", "--reason", "we need it"]) == 0

    (approved,) = waiting(capsys, "--all")
    assert waiting(capsys, "--state", "approved") == [approved]
    assert (approved["id"], approved["state"]) == (request["id"], "approved")
    assert (approved["decision"]["reason"], approved["decision"]["by"] != "") == ("we need it", True)
    assert main(["approvals", "show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "(approved, version 1)" in shown
    assert ": we need it" in shown
    assert main(["approvals", "approve", request["id"], "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unchanged"] is True

    assert main(["approvals", "reject", request["id"], "--reason", "changed my mind"]) == 0
    assert names() == []
    assert [(one["state"], one["decision"]["reason"]) for one in waiting(capsys, "--all")] == [
        ("rejected", "changed my mind")
    ]
    assert main(["approvals", "reject", request["id"]]) == 0
    assert "is already rejected; nothing was changed" in capsys.readouterr().out
    assert main(["approvals", "approve", request["id"], "--yes"]) == 0
    assert names() == ["local"]


def test_a_request_about_a_file_has_the_members_of_one_about_a_server(capsys: Printed) -> None:
    request = ProposalRequest(name="notes", launch=StdioLaunch("npx", ("notes",)), source="agent")
    with closing(SqliteCapabilities(Paths.of(os.environ).catalog)) as store:
        Approvals(store, now=lambda: 1e10, new_id=lambda: "apr-1").propose(request, "agent")
    project()
    main(["approvals", "list", "--json"])
    of_file, of_server = json.loads(capsys.readouterr().out)["approvals"]

    assert (of_file["subject"], of_server["subject"]) == ("file", "server")
    assert of_server.keys() <= of_file.keys()
    assert (of_file["source"], of_file["risk"]["level"]) == ("project file", "high")
    assert of_file["expiresAt"] - of_file["requestedAt"] == EXPIRY_SECONDS


def test_the_servers_of_a_file_are_not_chosen_one_by_one(capsys: Printed) -> None:
    project()
    (request,) = waiting(capsys)

    assert main(["approvals", "approve", request["id"], "--tool", "echo", "--yes"]) == 1
    assert names() == []


def test_what_a_file_holds_now_is_not_shown_under_an_earlier_request(capsys: Printed) -> None:
    project()
    (first,) = waiting(capsys)
    project("run-something-else")
    waiting(capsys)

    assert main(["approvals", "show", first["id"]]) == 0
    shown = capsys.readouterr().out
    assert "(superseded, version 1)" in shown
    assert "run-something-else" not in shown


def test_an_earlier_request_says_plainly_that_nobody_knows_what_it_was_about(capsys: Printed) -> None:
    project()
    (first,) = waiting(capsys)
    project("run-something-else")
    waiting(capsys)

    for action in ("show", "reject"):
        main(["approvals", action, first["id"]])
        said = capsys.readouterr().out
        assert ("Risk:" in said, "Servers: none" in said) == (False, False)
        assert ("what it held then is no longer known" in said) is (action == "show")
    assert main(["approvals", "list", "--all"]) == 0
    (row,) = (row for row in capsys.readouterr().out.splitlines() if first["id"] in row)
    assert "medium" not in row


@pytest.mark.parametrize("name", [".mcp.json", ".cursor/mcp.json"])
def test_a_file_is_named_by_its_path_however_short(capsys: Printed, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    file = project(name=name)
    waiting(capsys)
    monkeypatch.chdir(file.parent)

    assert main(["approvals", "show", file.name]) == 0
    assert str(file) in capsys.readouterr().out
    assert main(["approvals", "reject", file.name, "-y"]) == 0
    assert [one["state"] for one in waiting(capsys, "--all")] == ["rejected"]


def test_what_a_file_refers_to_is_shown_as_it_is_written_there_and_its_secrets_are_not(capsys: Printed) -> None:
    entry: dict[str, Any] = {
        "command": "cat",
        "args": ["${file:/etc/shadow}", "${HOME}/${$}{HOME}"],
        "env": {"ONE_TOKEN": "${keyring:foo}", "OTHER_TOKEN": "s3cr3t-lily", "PLACE": "${file:/x}"},
    }
    far = {
        "type": "http",
        "url": "https://x.example/?k=${file:/x}",
        "headers": {"A": "Bearer ${keyring:foo}", "B": "s3cr3t"},
    }
    Path(".mcp.json").write_text(json.dumps({"mcpServers": {"near": entry, "far": far}}), encoding="utf-8")

    (request,) = waiting(capsys)
    near, remote = (one["launch"] for one in request["servers"])
    assert near["args"] == entry["args"]
    assert near["env"] == {**entry["env"], "OTHER_TOKEN": "***"}
    assert (remote["url"], remote["headers"]) == (far["url"], {"A": "Bearer ${keyring:foo}", "B": "***"})
    assert "it would be given the value of $" not in request["risk"]["reasons"]
    assert main(["trust"]) == 0
    said = capsys.readouterr().out
    assert "Runs: cat '${file:/etc/shadow}'" in said
    assert "Sends header: A: Bearer ${keyring:foo}" in said
    assert "s3cr3t" not in said


def test_trust_is_kept_with_who_agreed_and_when(capsys: Printed) -> None:
    project()
    assert main(["trust"]) == 0
    capsys.readouterr()

    assert main(["trust", "--list"]) == 0
    assert ", by " in capsys.readouterr().out
    (approved,) = waiting(capsys, "--state", "approved")
    assert approved["decision"]["by"]


def test_an_edited_file_is_another_request(capsys: Printed) -> None:
    project()
    (first,) = waiting(capsys)
    project("run-something-else")

    assert main(["approvals", "approve", first["id"], "--yes"]) != 0
    assert names() == []
    (second,) = waiting(capsys)
    assert second["id"] != first["id"]


def test_a_rejected_file_is_not_asked_about_again_until_it_changes(capsys: Printed) -> None:
    project()
    (request,) = waiting(capsys)

    assert main(["approvals", "reject", request["id"]]) == 0

    assert waiting(capsys) == []
    assert [one["state"] for one in waiting(capsys, "--all")] == ["rejected"]
    assert names() == []
    assert load_settings().warnings == ()
    project("run-something-else")
    assert len(waiting(capsys)) == 1


def test_what_waits_in_another_folder_is_listed_here(
    capsys: Printed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = project(name=".cursor/mcp.json")
    waiting(capsys)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    assert [one["path"] for one in waiting(capsys)] == [str(file)]


def test_who_agreed_to_a_file_is_in_the_audit_log(capsys: Printed) -> None:
    file = project()
    assert main(["trust"]) == 0
    assert main(["trust", "--forget"]) == 0
    (request,) = waiting(capsys)
    assert main(["approvals", "approve", request["id"], "--yes"]) == 0

    lines = [json.loads(line) for line in Paths.of(os.environ).audit_log.read_text("utf-8").splitlines()]

    about = [(line["outcome"], line["tool"]) for line in lines if line.get("tool") == str(file.resolve())]
    assert about == [(f"approval_{word}", str(file.resolve())) for word in ("approved", "rejected", "approved")]
