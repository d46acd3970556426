"""What would be started or contacted, in words for a person who decides about it."""

from __future__ import annotations

from toolcrib.model.server import Launch, RemoteLaunch, StdioLaunch
from toolcrib.model.shell_words import shell_word


def launch_lines(launch: Launch) -> list[tuple[str, str]]:
    """The exact launch: nothing of it is covered, shortened or left out."""
    told = _contacted(launch) if isinstance(launch, RemoteLaunch) else _started(launch)
    return [(label, text) for label, text in told if text]


def _contacted(launch: RemoteLaunch) -> list[tuple[str, str]]:
    headers = [("Sends header", _visible(f"{name}: {value}")) for name, value in launch.headers.items()]
    return [("Contacts", _visible(launch.url)), *headers]


def _started(launch: StdioLaunch) -> list[tuple[str, str]]:
    variables = [("Gets variable", _visible(f"{name}={value}")) for name, value in launch.env.items()]
    places = [("Gets the variables of", launch.env_file), ("Runs in", launch.cwd)]
    # The words of a command as a shell would be told them, so that the ends of each can be seen.
    words = " ".join(map(shell_word, (launch.command, *launch.args)))
    return [
        ("Runs", words),
        *variables,
        *((label, _visible(place or "")) for label, place in places),
        ("Gets your variables", ", ".join(map(_visible, launch.pass_env))),
    ]


def _visible(text: str) -> str:
    """A text as it is; where something in it would not show, as a shell would be told it."""
    return text if text.isprintable() else shell_word(text)
