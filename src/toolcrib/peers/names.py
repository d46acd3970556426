"""What peers are called here, and who claims the name of somebody else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

from toolcrib.config.names import shorten, slug
from toolcrib.model.peer import PEER_SERVER_PREFIX, KnownPeer

_END_CHARACTERS = 6
_NO_WORD = re.compile(r"[\W_]+")
# Letters of other scripts that look like ours, in lower case: each row has ours, and the code points of theirs.
_LOOK_ALIKES = {
    point: ours
    for ours, points in {
        "a": (0x430, 0x3B1, 0x251),
        "b": (0x432, 0x44C, 0x3B2),
        "c": (0x441, 0x3F2),
        "d": (0x501,),
        "e": (0x435, 0x3B5),
        "g": (0x261, 0x581),
        "h": (0x4BB, 0x43D, 0x570),
        "j": (0x458, 0x3F3),
        "k": (0x43A, 0x3BA),
        "m": (0x43C,),
        "n": (0x43F, 0x578),
        "o": (0x43E, 0x3BF, 0x585, ord("0")),
        "p": (0x440, 0x3C1),
        "q": (0x51B,),
        "r": (0x433,),
        "s": (0x455,),
        "t": (0x442, 0x3C4),
        "u": (0x3C5, 0x57D),
        "v": (0x3BD,),
        "w": (0x51D,),
        "x": (0x445, 0x3C7),
        "y": (0x443, 0x3B3),
        # These look like each other in many fonts.
        "l": (0x4CF, 0x456, 0x3B9, 0x131, ord("i"), ord("1"), ord("|")),
    }.items()
    for point in points
}
IsTaken = Callable[[str], bool]


def server_name(title: str) -> str:
    """The server's name of a peer that calls itself so, where nobody else has it."""
    return shorten(PEER_SERVER_PREFIX + slug(title), title)


def unnamed(peer_id: str, is_taken: IsTaken) -> str:
    """The name of a peer that has not sent its card; two ids may have the same end."""
    short = PEER_SERVER_PREFIX + peer_id[-_END_CHARACTERS:]
    return PEER_SERVER_PREFIX + peer_id if is_taken(short) else short


def name_for(peer: KnownPeer, title: str, is_taken: IsTaken) -> str:
    """The name of a peer that calls itself so; if another has it, with the end of its id."""
    plain, end = server_name(title), peer.peer_id[-_END_CHARACTERS:]
    candidates = (plain, f"{plain[: 63 - len(end)]}-{end}")
    return next((name for name in candidates if not is_taken(name)), peer.server)


def whose_name(title: str, peers: Iterable[KnownPeer]) -> KnownPeer | None:
    """The trusted peer that is called so, or so that a person would not see the difference."""
    claimed = _looks(title)
    return next((peer for peer in peers if peer.is_trusted and claimed in _names(peer)), None)


def _names(peer: KnownPeer) -> set[str]:
    return {_looks(peer.title), _looks(peer.server.removeprefix(PEER_SERVER_PREFIX))}


def _looks(name: str) -> str:
    """The same for all names that look alike: without case, accents, signs at the ends, and letters of other scripts."""
    plain = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", name).casefold()).translate(_LOOK_ALIKES)
    seen = "".join(character for character in plain if character.isprintable() and not unicodedata.combining(character))
    return _NO_WORD.sub("-", seen).strip("-") or slug(name).lower()
