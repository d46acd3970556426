"""`toolcrib doctor`: try every server for real and explain what is wrong."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolcrib.cli.ages import still
from toolcrib.cli.chosen import chosen_servers, why_none
from toolcrib.cli.doctor_remarks import remarks, remarks_json
from toolcrib.cli.exits import FAILED, OK
from toolcrib.cli.open_catalog import settings_of
from toolcrib.cli.output import Output, problem_json
from toolcrib.cli.progress import Progress
from toolcrib.cli.surroundings import Surroundings, around
from toolcrib.cli.table import print_table
from toolcrib.cli.ticking import ticking
from toolcrib.cli.wording import counted
from toolcrib.config.paths import Paths
from toolcrib.config.settings import Settings
from toolcrib.engine.checkup import Checkup, check_server
from toolcrib.engine.sign_in_state import SignInState
from toolcrib.errors import Problem
from toolcrib.gateway import Gateway
from toolcrib.lan.libp2p_process import missing_packages
from toolcrib.model.clean_text import clean
from toolcrib.model.finding import Finding
from toolcrib.model.server import ServerSpec

MOST_NOT_CHECKED = 5
MOST_FINDINGS = 5


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    settings = settings_of(options, output)
    specs = chosen_servers(settings, options.servers)
    checkups = around(options).run(_check_all(around(options), settings, specs, output)) if specs else []
    # An entry that could not even be read is a server that does not work.
    left_out = () if options.servers else settings.problems
    missing = () if options.servers else _missing_extras(settings)
    audit_log = Paths.of(around(options).env).audit_log
    if output.as_json:
        output.json(
            {
                "servers": [_as_json(checkup) for checkup in checkups],
                "problems": [problem_json(one) for one in (*left_out, *missing)],
                **remarks_json(specs, audit_log),
            }
        )
    elif not checkups:
        output.out.paragraph(why_none(settings))
    else:
        _print(checkups, output)
    if not output.as_json:
        for one in missing:
            output.out.paragraph(str(one))
        for remark in remarks(specs, audit_log):
            output.out.paragraph(remark)
    is_fine = not left_out and not missing and all(checkup.is_fine for checkup in checkups)
    return OK if is_fine else FAILED


def _missing_extras(settings: Settings) -> list[Problem]:
    """What the settings ask for and is not installed."""
    if not settings.peers_enabled or not settings.peers_libp2p:
        return []
    missing = missing_packages()
    return [] if missing is None else [Problem("", f"{missing.message}. {missing.hint}")]


async def _check_all(
    here: Surroundings, settings: Settings, specs: Sequence[ServerSpec], output: Output
) -> list[Checkup]:
    said = replace(settings, max_retries=0)
    slots = asyncio.Semaphore(settings.max_parallel_discoveries)
    with Progress(output.err, "Trying servers", [spec.name for spec in specs], is_quiet=output.is_quiet) as progress:
        async with here.gateway(said) as gateway, ticking(progress):
            return await asyncio.gather(*(_check(gateway, spec, here.env, slots, progress) for spec in specs))


async def _check(
    gateway: Gateway, spec: ServerSpec, env: Mapping[str, str], slots: asyncio.Semaphore, progress: Progress
) -> Checkup:
    async with slots:
        progress.started(spec.name)
        checkup = await check_server(gateway, spec, env, time.monotonic)
    if checkup.is_fine:
        progress.done(spec.name, counted(checkup.tools or 0, "tool"))
    else:
        progress.failed(spec.name, checkup.message)
    return checkup


def _print(checkups: Sequence[Checkup], output: Output) -> None:
    out = output.out
    rows = [
        (
            f"{'✓' if one.is_fine else '✗'} {one.server}",
            "ok" if one.is_fine else one.code,
            "-" if one.tools is None else str(one.tools),
            f"{one.seconds:.1f} s",
            (f"called {one.called}" if one.called else "listed its tools") if one.is_fine else "see below",
        )
        for one in checkups
    ]
    print_table(
        out,
        ("SERVER", "RESULT", "TOOLS", "TIME", "DETAIL"),
        rows,
        ["green" if one.is_fine else "red" for one in checkups],
    )
    for one in checkups:
        if not one.is_fine:
            out.write()
            out.write(out.paint(f"{clean(one.server)}: {one.code}", "bold"))
            out.paragraph(one.message, "  ")
            out.paragraph(f"Next: {one.next_step}", "  ", "cyan")
    _print_sign_ins(checkups, output)
    _print_not_checked(checkups, output)
    _print_waiting(checkups, output)
    _print_findings(checkups, output)
    broken = sum(not one.is_fine for one in checkups)
    out.write()
    out.write(f"{len(checkups) - broken} of {len(checkups)} servers work.")


def _print_sign_ins(checkups: Sequence[Checkup], output: Output) -> None:
    signed_in = [one for one in checkups if one.sign_in is not None]
    if signed_in:
        output.out.write()
    for one in signed_in:
        output.out.paragraph(f"{one.server}: {_sign_in_words(one.sign_in)}")


def _sign_in_words(state: SignInState | None) -> str:
    assert state is not None
    if not state.is_signed_in:
        return f"signed out: {state.ended_because}"
    left = "" if state.expires_at is None else f", which holds for {still(state.expires_at - time.time())}"
    if state.expires_at is not None and state.expires_at <= time.time():
        left = ", which has run out"
    return f"signed in with a token{left}{' and renews by itself' if state.renews else ''}"


def _print_not_checked(checkups: Sequence[Checkup], output: Output) -> None:
    """Nothing is broken, but whoever calls these tools hears of a mistake only from their server."""
    for one in checkups:
        for tool, reason in list(one.not_checked.items())[:MOST_NOT_CHECKED]:
            output.out.write()
            output.out.paragraph(f"{one.server}:{tool}: its arguments can't be checked before a call: {reason}")
        if (more := len(one.not_checked) - MOST_NOT_CHECKED) > 0:
            output.out.paragraph(f"{one.server}: the same holds for {more} more of its tools (--json lists them)")


def _print_waiting(checkups: Sequence[Checkup], output: Output) -> None:
    """Nothing is broken, but these tools can't be used before a person has looked at them."""
    for one in checkups:
        if one.waiting:
            output.out.write()
            tools = f"{counted(one.waiting, 'tool')} can't be used until you agree"
            output.out.paragraph(f"{one.server}: {tools}; see `toolcrib approvals show {one.server}`")


def _print_findings(checkups: Sequence[Checkup], output: Output) -> None:
    """What is used although something in its definition is odd, and what is not used because it looks hostile."""
    for one in checkups:
        for name, finding in sorted(one.findings, key=lambda found: found[0] not in one.kept_away)[:MOST_FINDINGS]:
            output.out.write()
            is_kept_away = name in one.kept_away
            state = "is not in use:" if is_kept_away else "is in use, though"
            words = f"{one.server}:{name} {state} it {finding.why} ({finding.rule} at {finding.where})"
            output.out.paragraph(clean(words), "", "red" if is_kept_away else "yellow")
        if (more := len(one.findings) - MOST_FINDINGS) > 0:
            output.out.paragraph(f"{one.server}: {more} more of this kind (--json lists them)")


def _finding_json(name: str, finding: Finding, *, is_kept_away: bool) -> dict[str, Any]:
    told = {"rule": finding.rule, "level": finding.level, "where": finding.where, "why": finding.why}
    return {"name": name, "keptAway": is_kept_away, **told, "excerpt": finding.excerpt}


def _as_json(checkup: Checkup) -> dict[str, Any]:
    rendered: dict[str, Any] = {
        "name": checkup.server,
        "ok": checkup.is_fine,
        "seconds": round(checkup.seconds, 2),
        "toolCount": checkup.tools,
        "called": checkup.called or None,
    }
    if not checkup.is_fine:
        rendered |= {"code": checkup.code, "message": checkup.message, "nextStep": checkup.next_step}
    if checkup.sign_in is not None:
        rendered["signIn"] = {
            "signedIn": checkup.sign_in.is_signed_in,
            "expiresAt": checkup.sign_in.expires_at,
            "renews": checkup.sign_in.renews,
            "endedBecause": checkup.sign_in.ended_because or None,
        }
    if checkup.not_checked:
        rendered["notChecked"] = dict(checkup.not_checked)
    if checkup.waiting:
        rendered["waitingForReview"] = checkup.waiting
    if checkup.findings:
        rendered["findings"] = [
            _finding_json(name, finding, is_kept_away=name in checkup.kept_away) for name, finding in checkup.findings
        ]
    return rendered
