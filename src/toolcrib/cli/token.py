"""`toolcrib token`: tokens for single programs that use the gateway over HTTP."""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

from toolcrib.cli.ages import ago, still
from toolcrib.cli.exits import OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output
from toolcrib.cli.since import deadline
from toolcrib.cli.surroundings import around
from toolcrib.cli.table import print_table
from toolcrib.config.names import did_you_mean, nearest
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.errors import TokenNotFound, ValidationError
from toolcrib.model.named_token import NamedToken, new_text
from toolcrib.storage.token_file import TokenFile, Tokens
from toolcrib.workspace.profiles import check_profile

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
ONCE = "This is the only time it is shown: give it to the program as its bearer token. `toolcrib token revoke {name}` ends it."


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    tokens = TokenFile(Paths.of(around(options).env).named_tokens)
    match options.action:
        case "create":
            _create(options, output, tokens)
        case "list":
            _list(output, tokens)
        case _:
            _revoke(options.name, output, tokens)
    return OK


def _create(options: argparse.Namespace, output: Output, tokens: TokenFile) -> None:
    now = time.time()
    id, text, sha256 = new_text()
    settings = settings_of(options, output)
    check_profile(settings, options.token_profile)
    token = NamedToken(
        id=id,
        name=_checked_name(options.name),
        sha256=sha256,
        created_at=now,
        expires_at=deadline(options.expires, now) if options.expires else None,
        servers=_listed(options.servers, "--servers"),
        tags=_listed(options.tags, "--tags"),
        read_only=options.read_only,
        profile=options.token_profile,
    )
    tokens.change(lambda kept: _with(kept, token, now))
    for note in _leading_nowhere(token, settings):
        output.note(f"note: {note}")
    if output.as_json:
        output.json({"success": True, "token": text, **_as_json(token)})
        return
    output.out.write(text)
    output.note(f"{token.name} may use {_may_use(token)}{_until(token, now)}. {ONCE.format(name=token.name)}")


def _leading_nowhere(token: NamedToken, settings: Settings) -> Iterator[str]:
    """What a token is for and is not there now: it may come later, but mostly it is a typing error."""
    servers = [server.name for server in settings.servers]
    for pattern in token.servers or ():
        if not any(fnmatchcase(name, pattern) for name in servers):
            yield f"no server is called {pattern!r} now{did_you_mean(pattern, servers)}"
    tags = {tag for rule in settings.tool_rules for tag in rule.tags}
    for tag in token.tags or ():
        if tag not in tags:
            yield f"no rule gives the tag {tag!r} now{did_you_mean(tag, tags)}"


def _with(kept: Tokens, token: NamedToken, now: float) -> Tokens:
    """The tokens with a new one; those that are over are of no use to anybody and make room for their names."""
    good = tuple(one for one in kept if not one.is_over(now))
    if any(one.name == token.name for one in good):
        raise ValidationError(
            f"there is a token {token.name!r} already", hint=f"`toolcrib token revoke {token.name}` ends it."
        )
    return (*good, token)


def _list(output: Output, tokens: TokenFile) -> None:
    kept, now = tokens.all(), time.time()
    if output.as_json:
        output.json({"tokens": [{**_as_json(one), "expired": one.is_over(now)} for one in kept]})
    elif not kept:
        output.out.paragraph("There are no tokens yet: `toolcrib token create NAME` makes one.")
    else:
        rows = [(one.name, one.id, ago(now - one.created_at), _ends(one, now), _may_use(one)) for one in kept]
        print_table(output.out, ("TOKEN", "ID", "MADE", "EXPIRES", "MAY USE"), rows)


def _revoke(name: str, output: Output, tokens: TokenFile) -> None:
    ended: list[NamedToken] = []

    def without(kept: Tokens) -> Tokens:
        ended.extend(one for one in kept if name in (one.name, one.id))
        if not ended:
            close = nearest(name, [one.name for one in kept])
            raise TokenNotFound(
                f"there is no token {name!r}",
                hint="`toolcrib token list` shows all.",
                nearest=[close] if close else [],
            )
        return tuple(one for one in kept if one not in ended)

    tokens.change(without)
    if output.as_json:
        output.json({"success": True, "revoked": [_as_json(one) for one in ended]})
    else:
        output.out.paragraph(f"{ended[0].name} is revoked: it is refused from now on, and its streams end.")


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValidationError(f"{name!r} can't be the name of a token: use letters, digits, dots and dashes")
    return name


def _listed(given: Sequence[str] | None, option: str) -> tuple[str, ...] | None:
    """What an option names, each time as a list with commas; nothing at all in it would be a token for nothing."""
    if given is None:
        return None
    names = tuple(dict.fromkeys(name.strip() for words in given for name in words.split(",") if name.strip()))
    if not names:
        raise ValidationError(f"{option}: expected at least one name")
    return names


def _may_use(token: NamedToken) -> str:
    parts = [
        f"servers {', '.join(token.servers)}" if token.servers is not None else "all servers",
        f"tools tagged {' or '.join(token.tags)}" if token.tags is not None else "",
        "only what changes nothing" if token.read_only else "",
        f"what profile {token.profile} allows" if token.profile else "",
    ]
    return "; ".join(part for part in parts if part)


def _until(token: NamedToken, now: float) -> str:
    return "" if token.expires_at is None else f", for {still(token.expires_at - now)}"


def _ends(token: NamedToken, now: float) -> str:
    if token.expires_at is None:
        return "never"
    return "is over" if token.is_over(now) else f"in {still(token.expires_at - now)}"


def _as_json(token: NamedToken) -> dict[str, Any]:
    return {
        "name": token.name,
        "id": token.id,
        "createdAt": token.created_at,
        "expiresAt": token.expires_at,
        "servers": token.servers,
        "tags": token.tags,
        "readOnly": token.read_only,
        "profile": token.profile,
    }
