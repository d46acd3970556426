"""The command lines of approvals and capabilities."""

from __future__ import annotations

import argparse

from toolcrib.cli.parser import Commands, Parser, add_actions, add_command, add_common, add_json, positive

STATES = ("pending", "approved", "rejected", "expired", "superseded")
STATUSES = ("pending", "approved", "auto_approved", "revoked")
DEFAULT_CANDIDATES = 5


def add_approvals(commands: Commands) -> None:
    parser = add_command(commands, "approvals", "decide about proposed servers and changed tools")
    actions = add_actions(parser, ("list", "show", "approve", "reject", "why"))
    listing = _action(actions, "list", "list the servers and changes that wait for a decision")
    listing.add_argument(
        "--state", choices=STATES, default="pending", help="only proposals in this state (default: %(default)s)"
    )
    listing.add_argument("--all", action="store_true", help="show proposals in every state")
    show = _action(
        actions,
        "show",
        "show a request in full: what would be run or contacted, and its tools; or each word that changed",
    )
    _add_request(show)
    approve = _action(
        actions, "approve", "agree to a proposed server, or to what changed: its tools are offered from then on"
    )
    _add_request(approve)
    approve.add_argument("-y", "--yes", action="store_true", help="do it without asking")
    approve.add_argument(
        "--unpinned", action="store_true", help="also a package without an exact version, which can change by itself"
    )
    approve.add_argument("--reason", default="", metavar="TEXT", help="why, for the record")
    _add_choices(approve)
    reject = _action(actions, "reject", "refuse a proposed server or what changed, or take an approval back")
    _add_request(reject)
    reject.add_argument("-y", "--yes", action="store_true", help="do it without asking")
    reject.add_argument("--reason", default="", metavar="TEXT", help="why, for the record")
    why = _action(actions, "why", "say why a tool can or can't be used: who agreed to it, and what was found in it")
    why.add_argument("name", metavar="SERVER[:TOOL]", help="a server, or one of its tools")


def _add_choices(approve: argparse.ArgumentParser) -> None:
    """What of a server's changes is meant; each of them may be repeated."""
    for kind, what in (("tool", "NAME"), ("prompt", "NAME"), ("resource", "ADDRESS"), ("template", "ADDRESS")):
        told = f"of what changed only this {kind}; may be repeated"
        approve.add_argument(f"--{kind}", action="append", default=[], metavar=what, help=told)
    approve.add_argument("--itself", action="store_true", help="of what changed only what the server says of itself")


def add_capabilities(commands: Commands) -> None:
    parser = add_command(commands, "capabilities", "list, write, read and find tools as capabilities")
    actions = add_actions(parser, ("list", "show", "export", "import", "resolve"))
    listing = _action(actions, "list", "list what may be used")
    listing.add_argument(
        "pattern", metavar="ID", nargs="?", default="", help="an id, or a pattern such as mcp.github.*"
    )
    listing.add_argument("--domain", default="", metavar="NAME", help="only this domain, such as github or cloud.aws")
    listing.add_argument("--category", default="", metavar="NAME", help="only this category, such as read or search")
    listing.add_argument(
        "--provider", default="", metavar="NAME", help="only this server, or servers with this in their address"
    )
    listing.add_argument("--text", default="", metavar="WORDS", help="only those with these words")
    listing.add_argument("--status", choices=STATUSES, help="only those with this status; implies --all")
    listing.add_argument("--all", action="store_true", help="also show what may not be used, with the reason")
    show = _action(actions, "show", "show one capability as RTFS, with its status and history")
    show.add_argument("id", metavar="ID", help="its id, such as mcp.github.list_issues")
    export = _action(actions, "export", "write capabilities as RTFS files")
    export.add_argument("servers", metavar="SERVER", nargs="*", help="servers to write (default: all)")
    export.add_argument("--to", metavar="FOLDER", help="write them to this folder (default: the state folder)")
    reading = _action(actions, "import", "read RTFS files and propose their servers; nothing is approved by that")
    reading.add_argument("path", metavar="PATH", help="a .rtfs file, or a folder with such files")
    resolve = _action(actions, "resolve", "find what could do something that is missing")
    resolve.add_argument("wanted", metavar="WANTED", nargs="+", help="an id, or a description in your own words")
    resolve.add_argument("--live", action="store_true", help="ask the registries themselves, not the copy of them")
    resolve.add_argument(
        "--limit",
        type=positive,
        default=DEFAULT_CANDIDATES,
        metavar="N",
        help="at most this many candidates (default: %(default)s)",
    )


def _action(actions: Commands, name: str, help: str) -> Parser:
    parser = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
    add_common(parser)
    add_json(parser)
    return parser


def _add_request(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "request", metavar="REQUEST", help="the id of the request, the name of the server, or the path of a file"
    )
