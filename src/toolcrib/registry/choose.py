"""Which way of running a server to propose first."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from toolcrib.config.names import slug
from toolcrib.model.addresses import is_public_host
from toolcrib.model.server import FROM_REGISTRY, Origin, RemoteLaunch, ServerSpec
from toolcrib.registry.entry import RegistryServer, Remote
from toolcrib.registry.recipe import Bundle, Plan, Recipe
from toolcrib.registry.recipes import plans, remote_plan

# An isolated one first.
_KINDS = ("oci", "npm", "pypi", "nuget", "mcpb")
_WEB = ("http://", "https://", "{")


def best_remote(server: RegistryServer) -> Remote | None:
    """The address to prefer: http or https (Streamable HTTP before SSE), else mcp:, else any that is given."""
    given = [remote for remote in server.remotes if remote.url]
    return min(given, key=_remoteness, default=None)


def best_plan(
    server: RegistryServer, *, has_runtime: Callable[[str], bool], prefers_remote: bool = False
) -> Recipe | Bundle | None:
    """The plan to propose: a package whose runtime is installed, else an address; None where nothing can be launched."""
    made = plans(server)
    usable = [plan for plan in made if isinstance(plan, Recipe | Bundle)]
    local = sorted((plan for plan in usable if plan.kind != "remote"), key=lambda plan: _KINDS.index(plan.kind))
    installed = [plan for plan in local if isinstance(plan, Recipe) and has_runtime(plan.runtime)]
    remotes = _ordered_remotes(server, made)
    ranked = [*remotes, *installed, *local] if prefers_remote else [*installed, *remotes, *local]
    return ranked[0] if ranked else None


def unapproved_spec(server: RegistryServer) -> ServerSpec | None:
    """The server as it may be contacted before anyone approved it; None where it has no open address.

    Nothing of this machine goes with it: an address or a header that needs a value makes it None, and its origin keeps
    tokens of the environment away from it. Only a registry inside a network may name addresses inside one.
    """
    remote = best_remote(server)
    plan = remote_plan(server, remote) if remote is not None else None
    if not isinstance(plan, Recipe) or any("${" in text for text in (plan.url, *plan.headers.values())):
        return None
    if not _is_open(plan.url) and _is_open(server.registry):
        return None
    return ServerSpec(
        name=slug(server.short_name),
        launch=RemoteLaunch(plan.url, plan.headers, plan.transport),
        title=server.name,
        description=server.description,
        origin=Origin(FROM_REGISTRY, server.registry),
    )


def _is_open(url: str) -> bool:
    """Whether it leads, encrypted, to the open network."""
    parts = urlsplit(url)
    return parts.scheme == "https" and is_public_host(parts.hostname or "")


def _ordered_remotes(server: RegistryServer, made: Iterable[Plan]) -> list[Recipe]:
    addresses = list(made)[len(server.packages) :]
    paired = [
        (remote, plan) for remote, plan in zip(server.remotes, addresses, strict=False) if isinstance(plan, Recipe)
    ]
    return [plan for _, plan in sorted(paired, key=lambda pair: _remoteness(pair[0]))]


def _remoteness(remote: Remote) -> tuple[bool, bool, bool]:
    is_web = remote.url.lower().startswith(_WEB) or remote.type in ("http", "https")
    return (not is_web, not is_web and not remote.url.lower().startswith("mcp://"), remote.type == "sse")
