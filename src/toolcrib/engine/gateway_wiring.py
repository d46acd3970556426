"""A gateway for one workspace of an engine: which way a call goes, and where its answers come from."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from toolcrib.built_in.server import BuiltIn
from toolcrib.built_in.workspace_results import WorkspaceResults
from toolcrib.calls.answer_rounds import AnswerRounds
from toolcrib.calls.as_task import AsTask
from toolcrib.calls.audit import Audit
from toolcrib.calls.audit_log import TASK_CANCELLED
from toolcrib.calls.chain import CallTool, build_chain
from toolcrib.calls.confirm import Confirm
from toolcrib.calls.fill_template import FillTemplate
from toolcrib.calls.flag_results import FlagResults
from toolcrib.calls.guard_questions import GuardQuestions
from toolcrib.calls.guard_tasks import GuardTasks
from toolcrib.calls.introspect import Introspector
from toolcrib.calls.item_results import ItemResults
from toolcrib.calls.limit_rate import LimitRate
from toolcrib.calls.observe import Observe
from toolcrib.calls.open_addresses import OpenAddresses
from toolcrib.calls.pace_requests import PaceRequests
from toolcrib.calls.question_rules import QuestionRules, rules_for
from toolcrib.calls.resolve_tool import ResolveTool
from toolcrib.calls.retry import Retry
from toolcrib.calls.server_items import ServerItems
from toolcrib.calls.sign_in import OfferSignIn
from toolcrib.calls.validate_arguments import ValidateArguments
from toolcrib.calls.watch_data_flows import WatchDataFlows
from toolcrib.clients.display import ALL_OF_THE_CONTENT, ClientDisplay
from toolcrib.clients.table import display_of
from toolcrib.config.settings import Settings
from toolcrib.engine.engine import Engine
from toolcrib.engine.from_settings import call_limit
from toolcrib.engine.item_tools import item_tools
from toolcrib.engine.list_more import listed_more
from toolcrib.gateway import Gateway
from toolcrib.limits.rate import RateLimitConfig
from toolcrib.model.call import ToolCall, ToolResult
from toolcrib.model.data_flow import stricter_mix
from toolcrib.model.effect import stricter
from toolcrib.model.finding import Finding
from toolcrib.model.server import BUILT_IN_SERVER, ServerSpec
from toolcrib.queries.listing import LIST_MORE
from toolcrib.schema.validate import ArgumentChecker
from toolcrib.workspace.workspace import Workspace

if TYPE_CHECKING:  # only names of types: most gateways never use what they stand for
    from toolcrib.discovery.service import MCPDiscoveryService
    from toolcrib.engine.capabilities import Capabilities


class WorkspaceCapabilities:
    """The capabilities of a workspace, loaded and opened on first need: most gateways are never asked."""

    def __init__(self, engine: Engine, workspace: Workspace) -> None:
        self._engine = engine
        self._workspace = workspace
        self._opened: Capabilities | None = None

    def __call__(self) -> Capabilities:
        if self._opened is None:
            code = import_module("toolcrib.engine.capabilities")
            self._opened = code.open_capabilities(
                self._workspace.view,
                self._engine.paths,
                configured=self.configured,
                tell=import_module("toolcrib.engine.audited").audited(self._engine.audit, self._engine.face),
            )
        return self._opened

    def configured(self) -> dict[str, ServerSpec]:
        """The servers of the configuration by their names, those switched off too."""
        return {spec.name: spec for spec in self._workspace.settings.servers}

    def close(self) -> None:
        if self._opened is not None:
            self._opened.close()


def wired_gateway(
    engine: Engine,
    workspace: Workspace,
    capabilities: WorkspaceCapabilities,
    *,
    reload: Callable[[], Awaitable[Settings]],
    learn: Callable[[float], Awaitable[bool]],
) -> Gateway:
    """The gateway whose calls meet every step, and whose answers come from these parts."""
    results = WorkspaceResults(engine.results, lambda: str(workspace.settings.file or ""))
    built_in = _built_in(engine, workspace, capabilities, results, lambda: gateway)

    async def call_tool(call: ToolCall) -> ToolResult:
        return await (built_in.call(call) if call.server == BUILT_IN_SERVER else engine.pool.call(call))

    def inputs() -> Mapping[str, Mapping[str, Any]]:
        return workspace.settings.introspection_inputs

    steps = _shared_steps(engine, workspace)
    chained = _chain(engine, workspace, steps, call_tool)
    introspector = Introspector(workspace.view, chained, inputs=inputs)

    def open_service() -> MCPDiscoveryService:
        service: MCPDiscoveryService = _service_wiring().wired_service(
            engine, workspace, capabilities, chained, introspector
        )
        return service

    gateway = Gateway(
        workspace,
        refresher=engine.refresher,
        open_service=open_service,
        connections=engine.pool,
        items=ServerItems(
            workspace.view,
            engine.pool,
            before_asking=[steps.limit_rate],
            before_watching=[steps.audit, ResolveTool(workspace.view, engine.refresher), steps.pace],
        ),
        call_tool=chained,
        ask_about_task=_task_chain(engine, workspace, steps),
        introspector=introspector,
        results=results,
        reload=reload,
        learn=learn,
        hints=engine.registry,
        state_key=engine.state_key,
        parked=engine.parked,
        figures=engine.figures,
    )
    built_in.add(item_tools(gateway))
    return gateway


def _built_in(
    engine: Engine,
    workspace: Workspace,
    capabilities: WorkspaceCapabilities,
    results: WorkspaceResults,
    gateway: Callable[[], Gateway],
) -> BuiltIn:
    """The server of our own; its tools ask the gateway, which there is only once they are called."""

    async def introspect_server(call: ToolCall) -> ToolResult:
        seconds = engine.settings.list_timeout_seconds
        answer: ToolResult = await _service_wiring().introspect_server(
            call, capabilities().review, gateway().discovery_service, seconds
        )
        return answer

    def display(client: str) -> ClientDisplay:
        return display_of(client) if workspace.settings.fit_clients else ALL_OF_THE_CONTENT

    async def list_more(call: ToolCall) -> ToolResult:
        return await listed_more(gateway(), call.arguments, call.caller)

    more = {"introspect_server": introspect_server, LIST_MORE: list_more}
    return BuiltIn(workspace.view, results, more, display=display)


@dataclass(frozen=True, slots=True)
class _SharedSteps:
    """The steps that calls have in common with what else is asked of servers."""

    audit: Audit
    limit_rate: LimitRate
    pace: PaceRequests


def _shared_steps(engine: Engine, workspace: Workspace) -> _SharedSteps:
    def limit_of(spec: ServerSpec) -> RateLimitConfig | None:
        return call_limit(workspace.settings, spec)

    audit = Audit(
        engine.heard_audit,
        now=time.time,
        monotonic=time.monotonic,
        is_required=lambda: engine.settings.audit_on_failure == "refuse",
    )
    return _SharedSteps(audit, LimitRate(engine.limiter, limit_of), PaceRequests(engine.limiter, limit_of))


def _chain(engine: Engine, workspace: Workspace, steps: _SharedSteps, call_tool: CallTool) -> CallTool:
    def spec_of(server: str) -> ServerSpec | None:
        return workspace.view.specs.get(server)

    def answer_seconds() -> float:
        return workspace.settings.question_seconds

    def seconds_of(call: ToolCall) -> float:
        target = call.target
        stated = None if target is None or target.spec is None else target.spec.call_seconds(target.upstream_name)
        return stated or workspace.settings.call_timeout_seconds

    resolve = ResolveTool(
        workspace.view, engine.refresher, declared_seconds=lambda: workspace.settings.startup_timeout_seconds
    )
    return build_chain(
        [
            steps.audit,  # outermost: refusals are recorded too
            engine.running_calls,
            # Before the tool is looked for: a server that wants a sign-in tells nobody its tools.
            OfferSignIn(engine.session_sign_ins, spec_of, answer_seconds),
            resolve,
            ValidateArguments(ArgumentChecker(), lambda: workspace.settings.max_nesting),
            FillTemplate(workspace.view),
            WatchDataFlows(lambda: stricter_mix(workspace.settings.on_mix, engine.settings.on_mix)),
            # Before all limits: whoever thinks about it holds no place.
            Confirm(
                lambda: stricter(workspace.settings.confirm, engine.settings.confirm),
                answer_seconds,
                time.monotonic,
                look_again=resolve.again,
            ),
            FlagResults(lambda: workspace.settings.scan_results or engine.settings.scan_results, _hostile_words),
            ItemResults(),
            engine.limit_callers,  # before the bound for all: one caller can't use it up
            engine.limit_concurrency,  # after the checks: a refused call holds no place
            GuardQuestions(_rules_of(workspace), answer_seconds),
            OpenAddresses(answer_seconds),
            Retry(),
            steps.limit_rate,  # every attempt spends the server's quota
            AsTask(),
            AnswerRounds(lambda: workspace.settings.question_rounds, seconds_of),
            Observe(engine.output_shapes),  # innermost: learns only from what servers really answered
        ],
        call_tool,
    )


def _task_chain(engine: Engine, workspace: Workspace, steps: _SharedSteps) -> CallTool:
    """The way of a request about a task: the call that began it is in the audit log, and whoever ends it as well."""
    looks = build_chain(
        [
            ResolveTool(workspace.view, engine.refresher),
            GuardTasks(_rules_of(workspace)),
            Retry(),
            steps.pace,
        ],
        engine.pool.call,
    )
    ends = build_chain([steps.audit], looks)

    async def ask(call: ToolCall) -> ToolResult:
        if call.task is None or call.task.method != "tasks/cancel":
            return await looks(call)
        call.notes.deed = TASK_CANCELLED
        return await ends(call)

    return ask


def _rules_of(workspace: Workspace) -> Callable[[ToolCall], QuestionRules]:
    return lambda call: rules_for(call, workspace.settings.sampling)


def _hostile_words(result: Mapping[str, Any]) -> Sequence[Finding]:
    """What a result holds that no result should; loaded with its first use, which has hundreds of patterns to prepare."""
    found: Sequence[Finding] = import_module("toolcrib.scanner.scan").scan_words(result)
    return found


def _service_wiring() -> ModuleType:
    """What puts the discovery service together; its first use loads it, since a third of all code comes with it."""
    return import_module("toolcrib.engine.service_wiring")
