"""The command lines about peers."""

from __future__ import annotations

from toolcrib.cli.parser import Commands, Parser, add_actions, add_command, add_common, add_json


def add_peers(commands: Commands) -> None:
    parser = add_command(commands, "peers", "see other agents on the network, trust or forget them")
    actions = add_actions(parser, ("list", "show", "trust", "forget", "watch"))
    listing = _action(actions, "list", "list the peers that are known")
    listing.add_argument("--all", action="store_true", help="also show those that are blocked or were not seen lately")
    show = _action(actions, "show", "show all that is known of a peer, with its tools")
    _add_name(show)
    trust = _action(actions, "trust", "agree to the tools that a peer offers now: they can be used from then on")
    _add_name(trust)
    trust.add_argument("-y", "--yes", action="store_true", help="do it without asking")
    trust.add_argument("--reason", default="", metavar="TEXT", help="why, for the record")
    forget = _action(actions, "forget", "no longer trust a peer, and forget its tools")
    _add_name(forget)
    forget.add_argument("--block", action="store_true", help="and ignore it from now on")
    _action(actions, "watch", "show what happens to peers, as it happens")


def _action(actions: Commands, name: str, help: str) -> Parser:
    parser = actions.add_parser(name, help=help, description=f"{help[0].upper()}{help[1:]}.")
    add_common(parser)
    add_json(parser)
    return parser


def _add_name(parser: Parser) -> None:
    parser.add_argument(
        "name", metavar="NAME", help="its name, or eight or more characters at the beginning or the end of its id"
    )
