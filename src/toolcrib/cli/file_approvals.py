"""Project files in `toolcrib approvals`: a person looks at the servers of one, and trusts it as it is or not."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from toolcrib.approvals.file_queue import FROM_PROJECT_FILE, FileQueue, may_become
from toolcrib.approvals.proposal import Decision
from toolcrib.cli.agreement import agreed, asked_to_reject, chosen_changes
from toolcrib.cli.approval_text import date, decided, decision_json, risk_line
from toolcrib.cli.exits import OK
from toolcrib.cli.file_text import Held, held_by
from toolcrib.cli.opened_capabilities import Opened, person
from toolcrib.cli.output import Output
from toolcrib.cli.terminal import Terminal
from toolcrib.config.file_requests import FileRequest, content_of, digest, digest_of
from toolcrib.config.find import EXTENSIONS
from toolcrib.config.paths import Paths
from toolcrib.config.project_files import is_project_file
from toolcrib.engine.met_files import opened_file_queue
from toolcrib.errors import ValidationError
from toolcrib.model.clean_text import clean

_GONE = "The file has changed since, or is gone: what it held then is no longer known."
_ID = re.compile("file-[0-9a-f]{8}")


def is_meant(options: argparse.Namespace) -> bool:
    """Whether a command is about one of these files: it names a request, or the file itself."""
    if options.action not in ("show", "approve", "reject"):
        return False
    named = options.request
    return bool(_ID.fullmatch(named)) or os.sep in named or _is_file_here(named)


def _is_file_here(named: str) -> bool:
    try:
        file = Path(named)
        return is_project_file(file) or (file.suffix in EXTENSIONS and file.is_file())
    except OSError:  # the working directory is gone
        return False


def requests(door: Opened, *, state: str | None = "pending") -> list[FileRequest]:
    """Those in this state, or in any, about files that some gateway met or that are in this folder."""
    return _queue(door).all(state)


def file_json(request: FileRequest, expires_at: float) -> dict[str, Any]:
    """The members that requests about servers have, and besides what is in the file."""
    held, decision = _asked_about(request), _decision(request)
    body: dict[str, Any] = {
        "id": request.id,
        "server": request.path,
        "version": request.version,
        "state": request.state,
        "source": FROM_PROJECT_FILE,
        "launch": None,  # each of its servers has its own
        "toolCount": 0,
        "risk": {"level": held.risk.level, "reasons": list(held.risk.reasons)},
        "requestedAt": request.since or None,
        "expiresAt": expires_at if request.since else None,
        "subject": "file",
        "path": request.path,
        "sha256": request.sha256,
        **held.json(),
    }
    if decision is not None:
        body["decision"] = decision_json(decision)
    return body


def listed_json(door: Opened, found: Sequence[FileRequest]) -> list[dict[str, Any]]:
    queue = _queue(door)
    return [file_json(one, queue.expires_at(one)) for one in found]


def decide(options: argparse.Namespace, output: Output, door: Opened) -> int:
    """`show`, `approve` or `reject` of one file."""
    queue = _queue(door)
    request = queue.get(options.request)
    if options.action == "approve":
        return _approve(options, output, queue, request)
    if options.action == "reject":
        return _reject(options, output, queue, request)
    if output.as_json:
        output.json(file_json(request, queue.expires_at(request)))
    else:
        _print_request(output.out, queue, request)
    return OK


def _approve(options: argparse.Namespace, output: Output, queue: FileQueue, request: FileRequest) -> int:
    if chosen_changes(options):
        raise ValidationError("of a file everything is approved or nothing: its servers can't be chosen one by one")
    if request.state == "approved":
        return _told(output, queue, request, f"{request.path} is already approved; nothing was changed", unchanged=True)
    if not output.as_json:
        _print_request(output.out, queue, request)
    if not agreed(options):
        output.note("nothing was approved")
        return OK
    approved = queue.approve(request.id, person(), options.reason)
    return _told(output, queue, approved, f"trusted until it changes: {approved.path}")


def _reject(options: argparse.Namespace, output: Output, queue: FileQueue, request: FileRequest) -> int:
    if request.state == "rejected":
        return _told(output, queue, request, f"{request.path} is already rejected; nothing was changed", unchanged=True)
    if may_become(request, "rejected") and not _rejection_agreed(options, output, request):
        return OK
    rejected = queue.reject(request.id, person(), options.reason)
    return _told(output, queue, rejected, f"{rejected.path} is rejected; it is asked about again when it changes")


def _rejection_agreed(options: argparse.Namespace, output: Output, request: FileRequest) -> bool:
    """The file is shown in short, and a person at a terminal is asked."""
    if not output.as_json:
        held = _asked_about(request)
        names = clean(", ".join(spec.name for spec in held.servers)) or "none"
        output.out.paragraph(_heading(request), "", "bold")
        if not held.text:
            output.out.paragraph(f"Servers: {names}" if _is_there(request) else _GONE, "  ")
    return asked_to_reject(options, output)


def _told(output: Output, queue: FileQueue, request: FileRequest, words: str, *, unchanged: bool = False) -> int:
    if output.as_json:
        more = {"unchanged": True} if unchanged else {}
        output.json({"success": True, **file_json(request, queue.expires_at(request)), **more})
    else:
        output.out.paragraph(words)
    return OK


def _print_request(out: Terminal, queue: FileQueue, request: FileRequest) -> None:
    held, decision = _asked_about(request), _decision(request)
    out.paragraph(_heading(request), "", "bold")
    until = f"{date(request.since)}, until {date(queue.expires_at(request))}" if request.since else ""
    told = [("Request", request.id), ("Proposed by", FROM_PROJECT_FILE), ("Since", until)]
    told += [("Risk", risk_line(held.risk) if _is_there(request) else ""), ("Decided", decided(decision))]
    for label, text in told:
        if text:
            out.paragraph(f"{label}: {clean(text)}", "  ")
    if _is_there(request):
        held.print(out)
    else:
        out.paragraph(_GONE, "  ")


def _heading(request: FileRequest) -> str:
    return f"{clean(request.path)} ({request.state}, version {request.version})"


def _asked_about(request: FileRequest) -> Held:
    """What a person is asked about; nothing where the file is another one by now."""
    content = content_of(Path(request.path))
    is_same = content is not None and digest(content) == request.sha256
    return held_by(Path(request.path), content) if content is not None and is_same else Held(problems=[_GONE])


def _is_there(request: FileRequest) -> bool:
    return digest_of(Path(request.path)) == request.sha256


def _decision(request: FileRequest) -> Decision | None:
    """Who decided, when and why; nothing where that was not kept."""
    return Decision(request.by, request.at, request.reason) if request.by else None


def _queue(door: Opened) -> FileQueue:
    queue = opened_file_queue(Paths.of(os.environ), door.tell)
    with suppress(OSError):  # a folder that can't be written to keeps nobody from looking
        queue.meet(door.settings.untrusted_files)
    return queue
