"""Which options of `docker run` an entry may set, and which of them would open this machine to the container."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from toolcrib.registry import grammar
from toolcrib.registry.arguments import Piece, flag_and_value, has_flag
from toolcrib.registry.asking import Asking, is_example
from toolcrib.registry.entry import Argument, Input
from toolcrib.registry.recipe import Refused

_ALWAYS_SET = frozenset({"run", "-i", "--interactive", "--rm", "-it", "-ti", "-t", "--tty", "--attach", "-a"})
_SWITCHES = frozenset({"--init", "--read-only"})
_WITH_VALUE = frozenset(
    "-p --publish --name --pull --platform -u --user -w --workdir -m --memory --cpus --tmpfs --shm-size".split()
)
_VARIABLES = frozenset({"-e", "--env"})
_FOLDERS = frozenset({"-v", "--volume", "--mount"})
_NETWORKS = frozenset({"--network", "--net"})
# As docker names them, however an entry does; `..` leads to a folder nobody can name beforehand.
_SYSTEM_FOLDER = re.compile(
    r"/|~|\.\.(?:/.*)?|/(?:private/)?(?:etc|var|proc|sys|dev|boot|usr|bin|sbin|lib|lib64|root|run)(?:/.*)?"
    r"|/(?:private|opt|home|Users|mnt|media)(?:/[^/]*)?|(?:.*/)?\.docker(?:/.*)?|[A-Za-z]:[\\/]?",
    re.IGNORECASE,
)
_NETWORK = re.compile(r"(?!host$)[A-Za-z0-9][\w.-]*", re.ASCII | re.IGNORECASE)
_MOUNT_KEYS = {
    "type": "type",
    **dict.fromkeys(("source", "src"), "source"),
    **dict.fromkeys(("target", "dst", "destination"), "target"),
    **dict.fromkeys(("readonly", "ro"), "readonly"),
}
_WITH_DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")
_NAMES_ONLY = re.compile(r"\{[^{}]*\}")


@dataclass(slots=True)
class DockerOptions:
    """What an entry's options come to on the command line, and what to say of them."""

    words: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def take(self, found: Iterable[Piece], asking: Asking) -> None:
        """Add the options, or refuse them."""
        for piece in found:
            name = (piece.flag or piece.value or "").removesuffix("=")
            if name in _ALWAYS_SET:
                continue
            if name in _SWITCHES and piece.flag:
                self.words.append(name)
            elif piece.value and piece.flag and _is_harmless(name, piece.value):
                self.words += [name, piece.value]
            elif name in _FOLDERS and piece.value:
                self._take_folder(name, piece.value, asking)
            else:
                raise Refused(f"{grammar.shown(name)} is not an option of docker that an entry may set")

    def _take_folder(self, name: str, text: str, asking: Asking) -> None:
        # A default counts as what will be shared: few people change it.
        plain = _WITH_DEFAULT.sub(r"\1", text)
        source = _mounted(plain) if name == "--mount" else _volume(plain)
        if "docker.sock" in plain or _SYSTEM_FOLDER.fullmatch(_normal(source)):
            raise Refused(f"it wants to hand the folder {grammar.shown(source)} of this machine to the container")
        if is_example(source):
            folder = asking.text(
                Input(is_required=True), asking.variable("folder"), "a folder shared with the container"
            )
            text = text.replace(source, folder or "", 1)
        if source.startswith(("/", ".", "$", "~")):
            self.warnings.append(f"a folder of this machine is shared with the container: {text}")
        self.words += [name, text]


def apart(arguments: Sequence[Argument]) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    """Options of `docker run` and arguments of the program, where an old entry listed both (and the image) as the latter."""
    if not any(argument.input.name in ("--rm", "-i") for argument in arguments):
        return (), tuple(arguments)
    image = next((at for at, argument in enumerate(arguments) if not argument.is_named), len(arguments))
    return tuple(arguments[:image]), tuple(arguments[image + 1 :])


def variables(arguments: Iterable[Argument]) -> tuple[list[Input], list[Argument]]:
    """The variables that `-e NAME` and `-e NAME=value` ask for, and the other arguments."""
    found: list[Input] = []
    others: list[Argument] = []
    for argument in arguments:
        flag, given = flag_and_value(argument.input) if has_flag(argument) else ("", None)
        if given is None or flag.removesuffix("=") not in _VARIABLES:
            others.append(argument)
            continue
        name, _, value = given.value.partition("=")
        known = value if not _NAMES_ONLY.fullmatch(value) or value[1:-1] in given.variables else ""
        is_secret = given.is_secret or _sounds_secret(name)
        found.append(replace(given, name=name, value=known, default="", is_required=True, is_secret=is_secret))
    return found, others


def _is_harmless(name: str, value: str) -> bool:
    if name in _NETWORKS:
        return _NETWORK.fullmatch(value) is not None
    if name == "--add-host":
        return value == "host.docker.internal:host-gateway"
    return name in _WITH_VALUE and not value.startswith("-")


def _volume(text: str) -> str:
    """What `--volume` shares."""
    whole = re.match(r"[A-Za-z]:[\\/][^:]*|\$\{[^}]*\}[^:]*", text)
    return whole[0] if whole else text.partition(":")[0]


def _mounted(text: str) -> str:
    """What `--mount` shares; refused unless docker can read it in no other way than we do."""
    fields: dict[str, str] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        key = _MOUNT_KEYS.get(name, "")
        if not key or key in fields or '"' in value:
            raise Refused(f"{grammar.shown(part)} is not a part of --mount that an entry may set")
        fields[key] = value
    if fields.get("type") not in ("bind", "volume"):
        raise Refused("its --mount is neither a bind nor a volume")
    return fields.get("source", "")


def _normal(folder: str) -> str:
    """A folder without detours; POSIX keeps two slashes at the beginning apart, docker does not."""
    return re.sub(r"^/+", "/", posixpath.normpath(folder.strip())) if folder.strip() else ""


def _sounds_secret(name: str) -> bool:
    return re.search(r"token|key|secret|passw|pwd|auth|credential", name, re.IGNORECASE) is not None
