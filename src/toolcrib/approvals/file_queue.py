"""Files with servers that came with a folder, and what persons decide about them; `TrustedFiles` says which are in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from toolcrib.approvals.approvals import AUTOMATIC, EXPIRY_SECONDS, MOST_CHARACTERS
from toolcrib.approvals.events import Event, Happening, Tell, nobody
from toolcrib.approvals.proposal import MOVES, State
from toolcrib.config.file_requests import FileRecord, FileRequest, digest_of
from toolcrib.config.settings import UntrustedFile
from toolcrib.config.trust import Agreement, TrustedFiles, trusted_name
from toolcrib.errors import ApprovalNotFound, ApprovalRefused

FROM_PROJECT_FILE = "project file"


class FileQueue:
    """The requests about files. They have the states and moves of proposals.

    An approved one is not written down as such: it is approved as long as its content is the one that is trusted.
    """

    def __init__(
        self,
        record: FileRecord,
        trusted: TrustedFiles,
        *,
        now: Callable[[], float],
        tell: Tell = nobody,
        expiry_seconds: float = EXPIRY_SECONDS,
    ) -> None:
        self._record = record
        self._trusted = trusted
        self._now = now
        self._tell = tell
        self._expiry_seconds = expiry_seconds

    # -- looking

    def all(self, state: str | None = None) -> list[FileRequest]:
        """Requests, oldest first; pending ones that are too old, or whose file is another one by now, are over."""
        kept = self._settled()
        known = [*self._without_request(kept), *kept]
        return [one for one in known if state in (None, one.state)]

    def get(self, name: str) -> FileRequest:
        """One by its id, or the one that waits or is newest of a file by its path."""
        known = self.all()
        path = str(Path(name).absolute())
        found = [one for one in known if one.id == name] or [one for one in known if one.path == path]
        if not found:
            raise ApprovalNotFound(
                f"there is no approval request {name!r}", hint="`toolcrib approvals list --all` shows all of them."
            )
        return max(found, key=lambda one: (one.state == "pending", one.version))

    def expires_at(self, request: FileRequest) -> float:
        return request.since + self._expiry_seconds

    # -- asking

    def meet(self, found: Iterable[UntrustedFile]) -> list[FileRequest]:
        """Ask about these files, unless somebody was asked about them as they are; the new requests are given back."""
        known = self._settled()
        fresh = [self._new(one.path, one.sha256, known) for one in found if not _is_open(one.path, one.sha256, known)]
        if fresh:
            self._record.save(fresh)
        return fresh

    # -- deciding

    def approve(self, id: str, by: str, reason: str = "") -> FileRequest:
        """A person agrees to exactly this content; what was approved of the file before is superseded."""
        request = self.get(id)
        _refuse_unless_possible(request, "approved")
        if self.trust(Path(request.path), by, expected=request.sha256, reason=reason) != request.sha256:
            raise ApprovalRefused(
                f"{request.path} was not trusted: it changed after it was shown", hint="Look at it again."
            )
        return self.get(request.id)

    def trust(self, path: Path, by: str, *, expected: str, reason: str = "") -> str:
        """The same for a file that a person names; the hash of what it holds. If it is another one, it is not trusted."""
        before = self._approved(path)
        at, reason = self._now(), reason[:MOST_CHARACTERS]
        digest = self._trusted.trust(path, expected=expected, by=by, at=at, reason=reason)
        if digest == expected:
            # Who had agreed to them, when and why stays with them.
            over = [replace(one, state="superseded") for one in before if one.sha256 != digest]
            known = self._record.all()
            is_missing = not self._is_asked_about(path, digest, known)
            self._record.save([*over, *([self._new(path.absolute(), digest, known)] if is_missing else [])])
            self._happened("approval_approved", path, by, reason)
        return digest

    def forget(self, path: Path, by: str) -> bool:
        """Trust a file no longer, and ask about it anew when it is met; False where it was not trusted."""
        before = self._approved(path)
        was_trusted = self._trusted.forget(path)
        over = [replace(one, state="superseded", by=by, at=self._now(), reason="no longer trusted") for one in before]
        if over:
            self._record.save(over)
        self._happened("approval_rejected", path, by, "")
        return was_trusted

    def reject(self, id: str, by: str, reason: str = "") -> FileRequest:
        """A person refuses this content, or takes back that they trusted it; nobody is asked about it again."""
        request = self.get(id)
        _refuse_unless_possible(request, "rejected")
        if request.state == "approved":
            self._trusted.forget(Path(request.path))
        rejected = replace(request, state="rejected", by=by, at=self._now(), reason=reason[:MOST_CHARACTERS])
        self._record.save([rejected])
        self._happened("approval_rejected", Path(request.path), by, rejected.reason)
        return rejected

    # -- inside

    def _settled(self) -> list[FileRequest]:
        """What is kept, as it stands now; what is over by itself is written down."""
        kept = self._record.all()
        now = [self._as_it_stands(one) for one in kept]
        over = [one for one, before in zip(now, kept, strict=True) if one.state in _OVER and before.state not in _OVER]
        if over:
            with suppress(OSError):  # a folder that can't be written to keeps nobody from looking
                self._record.save(over)
        return now

    def _as_it_stands(self, request: FileRequest) -> FileRequest:
        if request.state in _OVER:
            return request
        agreement = self._trusted.agreement_to(Path(request.path))
        if agreement is not None and agreement.sha256 == request.sha256:
            return _approved(request, agreement)
        if request.state != "pending":
            return request
        if self._now() >= self.expires_at(request):
            return replace(request, state="expired", by=AUTOMATIC, at=self._now())
        if digest_of(Path(request.path)) != request.sha256:
            reason = "the file is another one now, or gone"
            return replace(request, state="superseded", by=AUTOMATIC, at=self._now(), reason=reason)
        return request

    def _without_request(self, kept: Iterable[FileRequest]) -> Iterator[FileRequest]:
        """The files that somebody trusted without a request, or before there were any."""
        about = {(trusted_name(Path(one.path)), one.sha256) for one in kept if one.state == "approved"}
        for path, agreement in self._trusted.agreements().items():
            if (str(path), agreement.sha256) not in about:
                yield _approved(FileRequest(str(path), agreement.sha256, agreement.at), agreement)

    def _approved(self, path: Path) -> list[FileRequest]:
        name = trusted_name(path)
        return [one for one in self.all("approved") if trusted_name(Path(one.path)) == name]

    def _is_asked_about(self, path: Path, digest: str, known: Iterable[FileRequest]) -> bool:
        name = trusted_name(path)
        same = (one for one in known if one.sha256 == digest and one.state not in _OVER)
        return any(trusted_name(Path(one.path)) == name for one in same)

    def _new(self, path: Path, digest: str, known: Iterable[FileRequest]) -> FileRequest:
        versions = (one.version for one in known if one.path == str(path))
        return FileRequest(str(path), digest, self._now(), max(versions, default=0) + 1)

    def _happened(self, what: Happening, path: Path, by: str, reason: str) -> None:
        self._tell(Event(what, self._now(), by, FROM_PROJECT_FILE, trusted_name(path), reason))


_OVER = frozenset({"expired", "superseded"})


def _approved(request: FileRequest, agreement: Agreement) -> FileRequest:
    return replace(request, state="approved", by=agreement.by, at=agreement.at, reason=agreement.reason)


def _is_open(path: Path, digest: str, known: Iterable[FileRequest]) -> bool:
    return any(one.is_about(path, digest) and one.state not in _OVER for one in known)


def may_become(request: FileRequest, state: State) -> bool:
    return any(before == request.state and state in after for before, after in MOVES.items())


def _refuse_unless_possible(request: FileRequest, state: State) -> None:
    if not may_become(request, state):
        raise ApprovalRefused(
            f"{request.id} is {request.state} and can't become {state}",
            hint="`toolcrib approvals`, run in its folder, asks anew about the file." if request.state in _OVER else "",
        )
