"""The `sandbox` of an entry: what the server may reach, or that it runs without one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from toolcrib.config.values import Reader, join, unknown_keys
from toolcrib.model.sandbox import NETWORKS, Network, Sandbox

SANDBOX_KEYS: Mapping[str, str] = {
    "read": "Files and folders that it may read, besides its own program and the system's.",
    "write": "Files and folders that it may also write.",
    "network": "`none` (the default): it reaches nothing, not even this machine. `all`: whatever this machine reaches. Or a list of hosts (`api.example.com`, `api.example.com:8443`), which it reaches over https, if it uses the proxy that its variables name.",
}

_HOST = re.compile(
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9-]+)*\.?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?"
)


def sandbox_options(entry: Reader, beside: Callable[[str], str]) -> tuple[Sandbox | None, list[str]]:
    """The sandbox, and warnings about it; `beside` makes a path that is meant from the folder of the file whole."""
    given = entry.data.get("sandbox")
    if given is None or given is False:
        return None, []
    if given is True:
        return Sandbox(), []
    if not isinstance(given, Mapping):
        entry.expected("sandbox", "true, false or a map", given)
        return None, []
    reader = Reader(given, join(entry.where, "sandbox"), entry.source)
    hosts = _hosts(reader)
    options = Sandbox(
        read=tuple(map(beside, reader.texts("read") or ())),
        write=tuple(map(beside, reader.texts("write") or ())),
        network="none" if hosts is not None else _network(reader),
        hosts=hosts or (),
    )
    entry.problems.extend(reader.problems)
    return options, [f"sandbox.{key}: {message}" for key, message in unknown_keys(given, SANDBOX_KEYS)]


def written_sandbox(sandbox: Sandbox | None) -> bool | dict[str, object] | None:
    """The same in the words of an entry; None where there is nothing to say."""
    if sandbox is None:
        return None
    values = {"read": list(sandbox.read), "write": list(sandbox.write)}
    network: dict[str, object] = {} if sandbox.network == "none" else {"network": sandbox.network}
    if sandbox.hosts:
        network = {"network": list(sandbox.hosts)}
    return {**{key: value for key, value in values.items() if value}, **network} or True


def _hosts(reader: Reader) -> tuple[str, ...] | None:
    """The hosts, where the network is a list of them."""
    if not isinstance(reader.data.get("network"), list):
        return None
    hosts = reader.texts("network") or ()
    for place, host in enumerate(hosts):
        if not _HOST.fullmatch(host):
            reader.fail(join("network", place), "expected a host or host:port, found something else")
    return hosts


def _network(reader: Reader) -> Network:
    stated = reader.text("network")
    for word in NETWORKS:
        if stated in (None, word):
            return word
    reader.fail("network", f"expected {' or '.join(NETWORKS)}, found another word")
    return "none"
