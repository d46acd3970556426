"""Every error that leaves Toolcrib, named by what the reader can do next; what a module raises for itself stays in it.

ToolcribError                     .code (stable), .hint (what to do next), .details, .retryable, .retry_after_seconds
├── ConfigurationError            edit a file: .problems, each with file, path, found, expected
├── ValidationError               a request that does not fit its contract
│   └── RtfsError                 edit an RTFS text: .line, .column
├── ServerNotFound                .nearest
├── ToolNotFound                  .nearest, .available
├── InvalidArguments              fix the call: .problems, each with the field and why
├── ToolDisabled                  a rule, the server's entry or the caller's rights say no
├── ToolChanged                   a person has to review the tool again
│   └── ServerMovedOn             it is another one than when the call looked it up; nothing was sent
├── ToolPending                   a person has to approve the tool first
├── ToolQuarantined               the tool's definition looks hostile: a person has to look at it first
├── ConfirmationRequired          a person has to agree to the call, and this client can't ask one
├── CallDeclined                  a person was asked, and said no
├── AuditUnavailable              the call can't be written to the audit log, and must be
├── RateLimited                   wait: .retry_after_seconds
├── Overloaded                    too many calls at once: try again
├── OutcomeUnknown                the gateway ended while the call ran: check before running it again
├── ClientCannotAnswer            the tool asks something that this client can't answer: .needs
├── ResultExpired                 run the tool again
├── RegistryError                 a registry answers what can't be used: .registry
├── NotInRegistry                 no server of that name is in the registries: .nearest
├── ApprovalNotFound              .nearest
├── ApprovalRefused               a proposal that can't be made, or can't be decided so
├── CapabilityNotFound            .nearest
├── CapabilityRefused             a capability that can't take the place of the one registered: .reasons
├── PeerNotFound                  .nearest
├── TokenNotFound                 .nearest
├── PeerRefused                   a peer is not the one it should be, or says what can't be believed: .reason
├── ExtraMissing                  install an extra of Toolcrib: .extra
├── StoreUnavailable              what should be kept can't be read or written now; work goes on without it
├── IndexUnreadable               the stored search index can't be used: it is made anew
├── WeightsUnreadable             the file of the search model can't be used: install again
├── SchemaConversionFailed        a schema has no type: it is taken as "anything"
└── UpstreamError                 .server
    ├── ServerConnectionError     could not be reached; .sent says whether the call may have run
    │   ├── AnswerTooLarge        ... or its answer is larger than the limit
    │   └── SignInUnavailable     ... or new tokens for it can't be had now: nobody need sign in again
    ├── NeedsConfiguration        a variable or file the entry names is missing
    ├── SandboxUnavailable        its entry wants a sandbox, which can't be had here: .reason
    ├── AuthenticationFailed      401 or 403
    │   └── SignInRequired        a person has to sign in first: .scopes
    ├── SignInFailed              a sign-in did not come to its end: .reason
    ├── CallTimeout               no answer in time
    └── ToolExecutionError        the server answered with an error
        ├── SessionInitFailed     ... to the handshake
        └── ToolsListFailed       ... to the request for its tools, resources or prompts

`retryable` is true of failures that may pass by themselves: too many requests (429), not available now (503), no answer in
time, a connection that was cut. docs/library.md says for each code what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a file or a call, precise enough to fix it."""

    where: str
    message: str
    source: str = ""

    def __str__(self) -> str:
        place = f"{self.source}: {self.where}" if self.source and self.where else self.source or self.where
        return f"{place}: {self.message}" if place else self.message


class ToolcribError(Exception):
    """The root: `code` is stable, the message is for people, `hint` says what to do next."""

    code: ClassVar[str] = "INTERNAL_ERROR"
    retryable: bool = False
    retry_after_seconds: float | None = None

    def __init__(self, message: str, *, hint: str = "", **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: dict[str, Any] = {key: value for key, value in details.items() if value}


class ConfigurationError(ToolcribError):
    """Something in a configuration file must be edited."""

    code = "CONFIGURATION_ERROR"

    def __init__(self, problems: Sequence[Problem], *, hint: str = "") -> None:
        super().__init__("\n".join(map(str, problems)), hint=hint)
        self.problems = tuple(problems)


class ValidationError(ToolcribError):
    """A request that does not fit its contract."""

    code = "VALIDATION_ERROR"


class RtfsError(ValidationError):
    """An RTFS text that cannot be read; `line` and `column` count from 1."""

    code = "RTFS_ERROR"

    def __init__(self, message: str, *, line: int, column: int, hint: str = "") -> None:
        super().__init__(f"line {line}, column {column}: {message}", hint=hint, line=line, column=column)
        self.line = line
        self.column = column


class ServerNotFound(ToolcribError):
    """No server of that name is known."""

    code = "SERVER_NOT_FOUND"


class ToolNotFound(ToolcribError):
    """The server is known, the tool is not."""

    code = "TOOL_NOT_FOUND"


class InvalidArguments(ToolcribError):
    """The arguments do not fit the tool's input schema."""

    code = "TOOL_VALIDATION_ERROR"

    def __init__(self, problems: Sequence[Problem], *, hint: str = "") -> None:
        super().__init__("; ".join(map(str, problems)), hint=hint)
        self.problems = tuple(problems)


class ToolDisabled(ToolcribError):
    """A rule keeps this tool behind the counter."""

    code = "TOOL_DISABLED"


class ToolChanged(ToolcribError):
    """The tool's definition is not the one that was reviewed."""

    code = "TOOL_CHANGED"


class ServerMovedOn(ToolChanged):
    """The tool is another one, or off, than when the call looked it up: its server came back, or a person thought about it.

    Nothing was sent.
    """


class ToolPending(ToolcribError):
    """Nobody has approved this tool yet."""

    code = "TOOL_PENDING"


class ToolQuarantined(ToolcribError):
    """The tool's definition looks hostile."""

    code = "TOOL_QUARANTINED"


# A tool that is there, and that this caller may not use now.
KEPT_AWAY = (ToolDisabled, ToolChanged, ToolPending, ToolQuarantined)


class ConfirmationRequired(ToolcribError):
    """A person has to agree to the call, and nobody can be asked."""

    code = "CONFIRMATION_REQUIRED"


class CallDeclined(ToolcribError):
    """A person was asked whether the call may run, and did not agree."""

    code = "CALL_DECLINED"


class AuditUnavailable(ToolcribError):
    """The call can't be written to the audit log, and nothing may run unwritten."""

    code = "AUDIT_UNAVAILABLE"
    retryable = True


class RateLimited(ToolcribError):
    """Too many requests: wait `retry_after_seconds`."""

    code = "RATE_LIMITED"
    retryable = True

    def __init__(self, message: str, *, retry_after_seconds: float | None = None, hint: str = "") -> None:
        super().__init__(message, hint=hint, retryAfterSeconds=retry_after_seconds)
        self.retry_after_seconds = retry_after_seconds


class Overloaded(ToolcribError):
    """Too many calls are running at once."""

    code = "OVERLOADED"


class OutcomeUnknown(ToolcribError):
    """The gateway ended while a call was running."""

    code = "OUTCOME_UNKNOWN"


class ClientCannotAnswer(ToolcribError):
    """A tool failed since it asks something of the client, which the client can't answer; `needs` says what."""

    code = "CLIENT_CANNOT_ANSWER"

    def __init__(self, message: str, *, needs: Sequence[str], hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, needs=list(needs), **details)
        self.needs = tuple(needs)


class ResultExpired(ToolcribError):
    """A stored result is gone."""

    code = "RESULT_EXPIRED"


class RegistryError(ToolcribError):
    """A registry of servers answered with something that can't be used; `registry` is its address."""

    code = "REGISTRY_ERROR"

    def __init__(self, message: str, *, registry: str, hint: str = "", **details: Any) -> None:
        super().__init__(f"{registry}: {message}", hint=hint, **details)
        self.registry = registry


class NotInRegistry(ToolcribError):
    """No registry knows a server of that name."""

    code = "NOT_IN_REGISTRY"


class ApprovalNotFound(ToolcribError):
    """No request for approval has that id."""

    code = "APPROVAL_NOT_FOUND"


class ApprovalRefused(ToolcribError):
    """A server can't be proposed, or a proposal can't be decided that way."""

    code = "APPROVAL_REFUSED"


class CapabilityNotFound(ToolcribError):
    """No capability of that id is known."""

    code = "CAPABILITY_NOT_FOUND"


class CapabilityRefused(ToolcribError):
    """A capability can't be registered, or removed, the way it was asked."""

    code = "CAPABILITY_REFUSED"


class PeerNotFound(ToolcribError):
    """No peer of that name or id is known."""

    code = "PEER_NOT_FOUND"


class TokenNotFound(ToolcribError):
    """No token of that name or id was made, or it was revoked."""

    code = "TOKEN_NOT_FOUND"


class PeerRefused(ToolcribError):
    """A peer is not the one it should be, or what it says can't be believed; `reason` is one word."""

    code = "PEER_REFUSED"

    def __init__(self, message: str, *, reason: str, hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, reason=reason, **details)
        self.reason = reason


class ExtraMissing(ToolcribError):
    """What was asked for needs packages that are not installed; `extra` names the extra that brings them."""

    code = "EXTRA_MISSING"

    def __init__(self, message: str, *, extra: str, hint: str = "", **details: Any) -> None:
        how = f"Install it: pip install 'toolcrib[{extra}]'."
        super().__init__(message, hint=f"{how} {hint}".strip(), extra=extra, **details)
        self.extra = extra


class SchemaConversionFailed(ToolcribError):
    """A schema that no type stands for."""

    code = "SCHEMA_CONVERSION_FAILED"


class StoreUnavailable(ToolcribError):
    """What should be kept cannot be read or written now; work goes on without it."""

    code = "STORE_UNAVAILABLE"


class IndexUnreadable(ToolcribError):
    """The stored index is missing, damaged, or made by another version; it can be made anew."""

    code = "INDEX_UNREADABLE"


class WeightsUnreadable(ToolcribError):
    """The file that holds the encoder is missing or damaged."""

    code = "WEIGHTS_UNREADABLE"

    def __init__(self, path: Path, why: str) -> None:
        super().__init__(f"cannot read the search model {path}: {why}", hint="install Toolcrib again")


class UpstreamError(ToolcribError):
    """A server behind the counter failed us; `server` says which."""

    def __init__(self, message: str, *, server: str, hint: str = "", **details: Any) -> None:
        super().__init__(message, hint=hint, **details)
        self.server = server


class ServerConnectionError(UpstreamError):
    """The server could not be reached, or went away.

    `sent` is true when the request had left us: whether the tool ran is then unknown.
    """

    code = "SERVER_CONNECTION_ERROR"

    def __init__(
        self,
        message: str,
        *,
        server: str,
        sent: bool = False,
        retryable: bool = False,
        hint: str = "",
        **details: Any,
    ) -> None:
        super().__init__(message, server=server, hint=hint, **details)
        self.sent = sent
        self.retryable = retryable
        self.retry_after_seconds = details.get("retryAfterSeconds")


class AnswerTooLarge(ServerConnectionError):
    """A message went over the limit; asking for it again would not make it smaller."""


class SignInUnavailable(ServerConnectionError):
    """The token has run out and a new one can't be had at the moment; the sign-in itself is as good as before."""

    code = "SIGN_IN_UNAVAILABLE"

    def __init__(self, message: str, *, server: str, hint: str = "", **details: Any) -> None:
        super().__init__(message, server=server, sent=False, retryable=True, hint=hint, **details)


class NeedsConfiguration(UpstreamError):
    """The server's entry names a variable or a file that is missing."""

    code = "SERVER_NEEDS_CONFIGURATION"


class SandboxUnavailable(UpstreamError):
    """The server's entry wants a sandbox, which can't be had here; `reason` says why."""

    code = "SANDBOX_UNAVAILABLE"

    def __init__(self, message: str, *, server: str, reason: str, hint: str = "", **details: Any) -> None:
        super().__init__(message, server=server, hint=hint, reason=reason, **details)
        self.reason = reason


class AuthenticationFailed(UpstreamError):
    """The server refused our credentials."""

    code = "AUTHENTICATION_FAILED"


class SignInRequired(AuthenticationFailed):
    """The server wants a sign-in, a new one, or (`needs_more`) one that allows more: `scopes` are those it asks for."""

    code = "SIGN_IN_REQUIRED"

    def __init__(
        self, message: str, *, server: str, scopes: str = "", needs_more: bool = False, hint: str = "", **details: Any
    ) -> None:
        super().__init__(message, server=server, hint=hint, scopes=scopes, **details)
        self.scopes = scopes
        self.needs_more = needs_more


class SignInFailed(UpstreamError):
    """A sign-in did not come to its end; `reason` is one word."""

    code = "SIGN_IN_FAILED"

    def __init__(self, message: str, *, server: str, reason: str, hint: str = "", **details: Any) -> None:
        super().__init__(message, server=server, hint=hint, reason=reason, **details)
        self.reason = reason


class CallTimeout(UpstreamError):
    """The server did not answer in time; the request was cancelled there."""

    code = "TOOL_EXECUTION_TIMEOUT"
    retryable = True


class ToolExecutionError(UpstreamError):
    """The server answered the request with a protocol error; its own code and data are in the details."""

    code = "TOOL_EXECUTION_ERROR"

    def __init__(
        self, message: str, *, server: str, rpc_code: int = 0, data: Any = None, hint: str = "", **details: Any
    ) -> None:
        super().__init__(message, server=server, hint=hint, rpcCode=rpc_code, **details)
        self.rpc_code = rpc_code
        if data is not None:
            self.details["data"] = data


class SessionInitFailed(ToolExecutionError):
    """The server refused the handshake."""


class ToolsListFailed(ToolExecutionError):
    """The server would not list its tools, resources or prompts."""


# The names that the design of the discovery service has for these two.
ConnectionFailed = ServerConnectionError
Timeout = CallTimeout
