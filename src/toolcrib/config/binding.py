"""Binds the entries of a configuration to the client whose workspace it is: which process of a launch it means."""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

from toolcrib.config.paths import home_folder, working_folder
from toolcrib.config.programs import located, names_a_file
from toolcrib.config.references import References, variable, with_home
from toolcrib.config.secret_refs import bearer_for, named_variables
from toolcrib.config.sharing import is_private, minds_folder
from toolcrib.model.server import ServerSpec, StdioLaunch
from toolcrib.model.site import Site

# New in each process: what is made of secrets with it can be compared here, and nowhere else.
_KEY = secrets.token_bytes(32)

# Of the variables that every child gets, those that decide whose files and which network it sees.
_ALWAYS_COUNT = re.compile(
    r"HOME|USERPROFILE|TZ|XDG_(?:CONFIG|CACHE|DATA|STATE)_HOME|(?:LOCAL)?APPDATA"
    r"|(?:HTTP|HTTPS|NO|ALL)_PROXY|SSL_CERT_(?:FILE|DIR)|(?:REQUESTS|CURL)_CA_BUNDLE|NODE_EXTRA_CA_CERTS",
    re.IGNORECASE,
)


def bound(specs: Iterable[ServerSpec], site: Site, stateful: Iterable[str] = ()) -> tuple[ServerSpec, ...]:
    """The entries as this client launches them; equal instances of one launch are one process."""
    binding = _Binding(site)
    patterns = tuple(stateful)
    return tuple(binding.bind(spec, is_private=is_private(spec, patterns)) for spec in specs)


class _Binding:
    def __init__(self, site: Site) -> None:
        self._site = site
        # Many entries name the same few programs.
        self._program = cache(partial(located, env=site.env, folder=site.folder))
        self._always = sorted((name, value) for name, value in site.env.items() if _ALWAYS_COUNT.fullmatch(name))
        self._anywhere = Site(site.env, _home(site))

    def bind(self, spec: ServerSpec, *, is_private: bool) -> ServerSpec:
        counts = minds_folder(spec)
        told = [self._values(spec), *self._place(spec, counts=counts)]
        site = self._site if counts else self._anywhere
        return replace(spec, site=site, instance=_digest(told), is_private=is_private)

    def _values(self, spec: ServerSpec) -> list[tuple[str, str | None]]:
        """What the client's variables give to the server, under which names."""
        env = self._site.env
        named = [(name, variable(name, env)) for name in sorted(set(_variables(spec)))]
        if not isinstance(spec.launch, StdioLaunch):
            return [*named, ("", bearer_for(spec, env))]
        return [*named, *self._always]

    def _place(self, spec: ServerSpec, *, counts: bool) -> list[str | None]:
        """The program that is started, and the folder where it matters."""
        launch = spec.launch
        if not isinstance(launch, StdioLaunch):
            return []
        return [self._program_of(launch), self._folder() if counts else None]

    def _program_of(self, launch: StdioLaunch) -> str | None:
        env = self._site.env
        command = with_home(References(env).resolved(launch.command), env)
        # These say by themselves which program they mean.
        if "PATH" in launch.env or (launch.cwd and names_a_file(command)):
            return None
        return self._program(command)

    def _folder(self) -> str:
        return str(Path(self._site.folder) if self._site.folder is not None else working_folder())


def _home(site: Site) -> str | None:
    """Where a server runs that does not mind: at home, so that it keeps no client's folder busy."""
    home = home_folder(site.env)
    return str(home) if site.folder is not None and home.is_dir() else site.folder


def _variables(spec: ServerSpec) -> Iterator[str]:
    for text in _texts(spec):
        yield from named_variables(text)
        if "~" in text:
            yield from ("HOME", "USERPROFILE")
    if isinstance(spec.launch, StdioLaunch):
        yield from spec.launch.pass_env


def _texts(spec: ServerSpec) -> Iterator[str]:
    launch = spec.launch
    if not isinstance(launch, StdioLaunch):
        yield from (launch.url, *launch.headers.values())
        return
    yield from (launch.command, *launch.args, *launch.env.values())
    yield from (launch.env_file or "", launch.cwd or "")
    if launch.sandbox is not None:
        yield from (*launch.sandbox.read, *launch.sandbox.write)


def _digest(told: object) -> str:
    return hashlib.blake2b(json.dumps(told).encode(), key=_KEY, digest_size=16).hexdigest()
