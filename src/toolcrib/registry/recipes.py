"""Entries to launch plans: one for each package and each remote, or the reason why there is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal
from urllib.parse import urlsplit

from toolcrib.registry import grammar
from toolcrib.registry.arguments import pieces, words
from toolcrib.registry.asking import Asking
from toolcrib.registry.docker_options import DockerOptions, apart, variables
from toolcrib.registry.entry import Argument, Input, Package, RegistryServer, Remote
from toolcrib.registry.recipe import Bundle, Plan, Recipe, Refusal, Refused
from toolcrib.registry.runtime_options import dnx_options, npx_options, uvx_options

NOT_PINNED = "no exact version is named: what runs can change from one start to the next"
NOTHING_TO_RUN = "the entry names no package and no address, only a web site or a repository"


def plans(server: RegistryServer) -> tuple[Plan, ...]:
    """Every way to run or reach the server, in the order of its entry; never empty."""
    made = [package_plan(server, package) for package in server.packages]
    made += [remote_plan(server, remote) for remote in server.remotes]
    return tuple(made) or (Refusal("none", NOTHING_TO_RUN),)


def package_plan(server: RegistryServer, package: Package) -> Plan:
    """How one package would be started on this machine."""
    build = _BUILDERS.get(package.registry_type)
    try:
        if build is None:
            kind = grammar.shown(package.registry_type)
            raise Refused(f"packages of the kind {kind} are not known here (npm, pypi, oci, nuget and mcpb are)")
        if package.transport != "stdio":
            raise Refused(
                f"it is a local service that listens at {grammar.shown(package.transport_url)}: "
                "start it yourself, then add that address"
            )
        return build(package, Asking(server.short_name))
    except Refused as reason:
        return Refusal(package.registry_type or "unknown", str(reason))


def remote_plan(server: RegistryServer, remote: Remote) -> Plan:
    """How one address would be reached."""
    asking = Asking(server.short_name, asks_unknown=True)
    try:
        url = asking.filled(remote.url, remote.variables)
        parts = grammar.address(_without_references(url))
        warnings = ["what is sent there is not encrypted"] if grammar.is_plain_http(parts) else []
        if "${" in (urlsplit(url).netloc or url):
            warnings.append("which machine it is depends on a value you give")
        return Recipe(
            "remote",
            url=url,
            transport="sse" if remote.type == "sse" else "http",
            headers=_headers(remote, asking),
            needs=asking.needs,
            warnings=tuple(warnings),
        )
    except Refused as reason:
        return Refusal("remote", str(reason))


def _npm(package: Package, asking: Asking) -> Plan:
    name = _pinned("npm", package, "@")
    options = npx_options(pieces(_without_itself(package), asking))
    return _recipe("npm", ("npx", "-y", *options, name), package, asking)


def _pypi(package: Package, asking: Asking) -> Plan:
    name = _pinned("pypi", package, "@")
    options = uvx_options(pieces(_without_itself(package), asking))
    return _recipe("pypi", ("uvx", *options, name), package, asking)


def _nuget(package: Package, asking: Asking) -> Plan:
    name = _pinned("nuget", package, "@")
    options = dnx_options(pieces(_without_itself(package), asking))
    return _recipe("nuget", ("dnx", name, "--yes", *options, "--"), package, asking)


def _oci(package: Package, asking: Asking) -> Plan:
    image = grammar.identifier("oci", package.identifier)
    if not grammar.has_tag(image) and (version := grammar.version(package.version)):
        image = grammar.identifier("oci", f"{image}:{version}")
    misplaced, own = apart(package.package_arguments)
    passed, rest = variables((*package.runtime_arguments, *misplaced))
    declared = {one.name for one in package.environment}
    env = _environment((*package.environment, *(one for one in passed if one.name not in declared)), asking)
    options = DockerOptions()
    options.take(pieces(rest, asking), asking)
    named = [word for name in env for word in ("-e", name)]
    command = ("docker", "run", "-i", "--rm", *named, *options.words, image, *words(pieces(own, asking)))
    warnings = (*options.warnings, *([] if grammar.is_pinned(image) else [NOT_PINNED]))
    return Recipe("oci", command, env, needs=asking.needs, warnings=warnings)


def _mcpb(package: Package, _: Asking) -> Plan:
    if grammar.address(package.identifier).scheme != "https":
        raise Refused("its file would be downloaded without encryption")
    return Bundle(package.identifier, grammar.sha256(package.file_sha256))


_BUILDERS: Mapping[str, Callable[[Package, Asking], Plan]] = {
    "npm": _npm,
    "pypi": _pypi,
    "nuget": _nuget,
    "oci": _oci,
    "docker": _oci,  # the word of the first schema
    "mcpb": _mcpb,
}


def _recipe(kind: str, command: tuple[str, ...], package: Package, asking: Asking) -> Recipe:
    env = _environment(package.environment, asking)
    own = words(pieces(package.package_arguments, asking))
    warnings = () if grammar.is_exact(grammar.version(package.version)) else (NOT_PINNED,)
    return Recipe(_KINDS[kind], (*command, *own), env, needs=asking.needs, warnings=warnings)


_KINDS: Mapping[str, Literal["npm", "pypi", "nuget"]] = {"npm": "npm", "pypi": "pypi", "nuget": "nuget"}


def _pinned(kind: str, package: Package, joint: str) -> str:
    grammar.home_of(kind, package.registry_base_url)
    name, version = grammar.identifier(kind, package.identifier), grammar.version(package.version)
    return f"{name}{joint}{version}" if version else name


def _without_itself(package: Package) -> list[Argument]:
    """The options of the runtime, where an entry also lists the package among them, plainly or after `--from`."""
    return [argument for argument in package.runtime_arguments if not _names_package(argument, package.identifier)]


def _names_package(argument: Argument, identifier: str) -> bool:
    flag, _, rest = argument.input.name.partition(" ")
    named = rest or argument.input.value
    is_place = flag == "--from" if argument.is_named else not argument.input.name
    return is_place and re.fullmatch(rf"{re.escape(identifier)}(?:(?:@|==)[\w.+!-]+)?", named) is not None


def _environment(wanted: Iterable[Input], asking: Asking) -> dict[str, str]:
    asked = ((one.name, asking.text(one, one.name, "an environment variable")) for one in wanted)
    made = {grammar.variable(name, text): text for name, text in asked}
    return {name: text for name, text in made.items() if text is not None}


def _headers(remote: Remote, asking: Asking) -> dict[str, str]:
    made = {
        grammar.header(declared.name): asking.text(
            declared, asking.variable(declared.name), f"the header {declared.name}"
        )
        for declared in remote.headers
    }
    return {name: text for name, text in made.items() if text is not None}


def _without_references(url: str) -> str:
    """The address with each asked-for part as a word, so that the rest can be checked."""
    return re.sub(r"\$\{[A-Z_][A-Z0-9_]*(?::-([^}]*))?\}", lambda match: match[1] or "given", url)
