"""What would be started or contacted, in words for a person who decides about it."""

from __future__ import annotations

from collections.abc import Sequence

from toolcrib.approvals.proposal import shown_launch
from toolcrib.model.server import Launch, RemoteLaunch
from toolcrib.model.shell_words import shell_word


def launch_lines(launch: Launch) -> list[tuple[str, str]]:
    """The exact launch; credentials in it are covered, whatever else it holds is shown."""
    shown = shown_launch(launch)
    if isinstance(launch, RemoteLaunch):
        headers = [("Sends header", f"{name}: {value}") for name, value in shown["headers"].items()]
        return [("Contacts", shown["url"]), *headers]
    variables = [("Gets variable", f"{name}={value}") for name, value in shown.get("env", {}).items()]
    more = [("Gets the variables of", launch.env_file or ""), ("Runs in", launch.cwd or "")]
    passed = [("Gets your variables", ", ".join(launch.pass_env))]
    told = [("Runs", _command_line(shown["command"], shown["args"])), *variables, *more, *passed]
    return [(label, text) for label, text in told if text]


def _command_line(command: str, args: Sequence[str]) -> str:
    """The words of a command as a shell would be told them, so that the ends of each can be seen, and nothing is hidden."""
    return " ".join(map(shell_word, (command, *args)))
