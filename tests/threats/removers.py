"""What takes each mitigation away, so that the test of its threat can be seen to fail.

    pytest tests/threats --without T06                 all removers of a threat
    pytest tests/threats --without test_t06_that_test  the one of a single test

A remover is written below the heading of its threat and names the test that has to fail with it:

    @without("T06", proof="test_t06_the_address_that_was_checked_is_the_one_connected_to")
    def any_address_will_do() -> None:
        replace("toolcrib.upstream.checked_network:refusal", lambda address: "")

It is run in the process of the test before any test module is imported, and by `in_children/sitecustomize.py` at the start
of each Python process that inherits the environment of the test (or is given `process_environment`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

THREATS = tuple(f"T{number:02}" for number in range(1, 23))


@dataclass(frozen=True)
class Remover:
    threat: str
    proof: str
    remove: Callable[[], None]


REMOVERS: list[Remover] = []


def without(threat: str, *, proof: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """The function takes a mitigation of this threat away; the test called `proof` must fail then."""
    assert threat in THREATS, threat
    assert proof.startswith(f"test_{threat.lower()}_"), proof

    def register(remove: Callable[[], None]) -> Callable[[], None]:
        REMOVERS.append(Remover(threat, proof, remove))
        return remove

    return register


def remove(wanted: str) -> None:
    """Take away what a threat (`T06`) or one test is about."""
    found = [remover for remover in REMOVERS if wanted in {remover.threat, remover.proof}]
    if not found:
        raise LookupError(f"there is no remover for {wanted}")
    for remover in found:
        remover.remove()


def replace(target: str, replacement: Any) -> None:
    """Put something else in the place of `module:name` or `module:Class.name`, also where it was imported from there."""
    module_name, _, path = target.partition(":")
    *owners, name = path.split(".")
    module = import_module(module_name)
    owner = reduce(getattr, owners, module)
    original = getattr(owner, name)
    setattr(owner, name, replacement)
    if owner is module:
        _replace_imported(original, name, replacement)


def _replace_imported(original: Any, name: str, replacement: Any) -> None:
    for other_name, other in list(sys.modules.items()):
        if other_name.startswith("toolcrib.") and vars(other).get(name) is original:
            setattr(other, name, replacement)


# ------------------------------------------------------------------ T01 poisoned definitions


@without("T01", proof="test_t01_no_agent_gets_hidden_characters_in_names_texts_or_errors")
def words_as_they_come() -> None:
    for name in ("cleaned", "clean_words", "escape_unsafe"):
        replace(f"toolcrib.model.clean_text:{name}", lambda value: value)
    replace("toolcrib.model.clean_name:clean_name", lambda name: name)


@without("T01", proof="test_t01_a_poisoned_tool_is_in_no_search_list_or_details_and_is_not_run")
def nobody_looks_through_definitions() -> None:
    replace("toolcrib.scanner.scan:scan", lambda definition: ())


# ------------------------------------------------------------------ T02 definitions that change after they were approved


@without("T02", proof="test_t02_a_changed_tool_is_refused_at_the_second_and_third_reading_and_after_a_restart")
def whatever_a_server_offers_is_agreed_to() -> None:
    from toolcrib.model.availability import ENABLED  # noqa: PLC0415

    replace("toolcrib.workspace.agreed:by_pins", lambda *_: ENABLED)


@without("T02", proof="test_t02_a_change_between_description_and_call_is_not_run")
def a_notice_of_changes_can_wait() -> None:
    replace("toolcrib.discovery.refresher:CatalogRefresher.expire", lambda *_: None)


@without("T02", proof="test_t02_a_server_that_comes_back_changed_is_not_called_once")
def whoever_comes_back_is_the_same() -> None:
    replace("toolcrib.upstream.first_look:FirstLook.is_over", lambda self, link, call: True)


@without("T02", proof="test_t02_what_was_refused_stays_refused_though_other_entries_of_the_name_may_use_it")
def whoever_has_the_name_is_the_same_server() -> None:
    replace("toolcrib.catalog.catalog:Catalog.is_launched_differently", lambda self, spec: False)


# ------------------------------------------------------------------ T03 names that pass for others


@without("T03", proof="test_t03_a_look_alike_name_is_no_other_tool")
def names_are_taken_as_they_look() -> None:
    replace("toolcrib.scanner.names:odd_name", lambda definition: ())


@without("T03", proof="test_t03_orders_about_anothers_tool_count_as_soon_as_it_is_there")
def a_server_may_speak_for_others() -> None:
    replace("toolcrib.scanner.mentions:mentions", lambda text: ())


# ------------------------------------------------------------------ T04 orders in results


@without("T04", proof="test_t04_a_result_that_looks_like_a_command_changes_nothing")
def lines_of_others_are_lines() -> None:
    replace("toolcrib.wire.jsonrpc:line_of", lambda *parts: b"".join((*parts, b"\n")))


@without("T04", proof="test_t04_a_result_with_orders_is_flagged_where_that_is_wanted")
def nobody_looks_through_results() -> None:
    replace("toolcrib.scanner.scan:scan_words", lambda value: ())


@without("T04", proof="test_t04_a_session_that_could_carry_private_data_away_is_told")
def every_tool_is_on_its_own() -> None:
    replace("toolcrib.model.data_flow:data_flows_of", lambda *_: frozenset())


# ------------------------------------------------------------------ T05 credentials that are passed on


@without("T05", proof="test_t05_no_credential_of_a_client_reaches_a_server")
def what_a_client_shows_is_passed_on() -> None:
    shown = ""
    guard, address = (
        import_module("toolcrib.server.guard").Guard,
        import_module("toolcrib.upstream.http_client").HttpAddress,
    )
    admit, send = guard._admit, address._send

    async def remember(self: Any, headers: Mapping[str, str], *of: Any) -> Any:
        nonlocal shown
        shown = headers.get("authorization", shown)
        return await admit(self, headers, *of)

    async def forward(self: Any, method: str, headers: Mapping[str, str], *content: Any) -> Any:
        return await send(self, method, {**headers, "x-forwarded-authorization": shown}, *content)

    replace("toolcrib.server.guard:Guard._admit", remember)
    replace("toolcrib.upstream.http_client:HttpAddress._send", forward)


@without("T05", proof="test_t05_each_server_gets_what_its_entry_names_and_nothing_of_another")
def every_server_gets_the_headers_of_all() -> None:
    given: dict[str, str] = {}

    def all_headers(_: str, headers: Mapping[str, str]) -> dict[str, str]:
        given.update({name.lower(): value for name, value in headers.items()})
        return given

    replace("toolcrib.upstream.http_client:_checked_headers", all_headers)


@without("T05", proof="test_t05_a_token_that_was_made_for_somebody_else_is_not_taken")
def a_token_is_good_for_everybody() -> None:
    replace("jwt.api_jwt:PyJWT._validate_aud", lambda *_, **__: None)


# ------------------------------------------------------------------ T06 addresses that lead inside


@without("T06", proof="test_t06_the_address_that_was_checked_is_the_one_connected_to")
def names_are_looked_up_again_when_connecting() -> None:
    replace("toolcrib.upstream.http_client:check_connections", lambda client, places, verify: client)


@without("T06", proof="test_t06_a_server_from_a_registry_is_bound_to_the_address_that_was_checked")
def what_was_checked_is_forgotten() -> None:
    async def unbound(self: Any, spec: Any) -> Any:
        return spec

    replace("toolcrib.engine.adapters.unapproved:OutboundCheck.__call__", unbound)


@without("T06", proof="test_t06_hostile_addresses_are_asked_by_nobody")
def every_address_is_public() -> None:
    replace("toolcrib.upstream.outbound:is_public_address", lambda address: True)


# ------------------------------------------------------------------ T07 web pages that reach the local port


@without("T07", proof="test_t07_every_route_is_closed_to_web_pages")
def the_guard_lets_everybody_in() -> None:
    async def admit(*_: Any) -> None:
        return None

    replace("toolcrib.server.guard:Guard._admit", admit)


# ------------------------------------------------------------------ T08 commands from entries of others


@without("T08", proof="test_t08_a_changed_project_entry_asks_again")
def trust_is_for_a_path_whatever_is_in_it() -> None:
    replace(
        "toolcrib.config.trust:TrustedFiles.is_trusted",
        lambda self, path, _=None: str(path.resolve()) in map(str, self.paths()),
    )


@without("T08", proof="test_t08_a_variable_of_a_stranger_makes_no_program_run_other_code")
def any_variable_will_do() -> None:
    replace("toolcrib.config.dangerous_variables:set_by", lambda _: [])


# ------------------------------------------------------------------ T09 secrets that show


@without("T09", proof="test_t09_a_canary_is_in_no_output_file_or_process_list")
def nothing_is_known_to_be_secret() -> None:
    replace("toolcrib.masking.known:KnownSecrets.masked", lambda self, text: text)


# ------------------------------------------------------------------ T10 texts that steer a terminal


@without("T10", proof="test_t10_every_command_prints_hostile_names_harmlessly")
def terminals_get_what_servers_say() -> None:
    for name in ("clean", "clean_lines", "clean_json", "clean_words", "spelled_out"):
        replace(f"toolcrib.model.clean_text:{name}", lambda text: text)


# ------------------------------------------------------------------ T11 slow and endless servers


@without("T11", proof="test_t11_a_call_that_reports_progress_for_ever_ends_all_the_same")
def progress_renews_the_time_for_ever() -> None:
    policy_of = import_module("toolcrib.engine.from_settings").connection_policy
    replace(
        "toolcrib.engine.from_settings:connection_policy",
        lambda settings: dataclasses.replace(policy_of(settings), longest_call_seconds=1e9),
    )


@without("T11", proof="test_t11_a_malformed_answer_ends_its_call_at_once")
def what_can_not_be_read_is_passed_over() -> None:
    replace("toolcrib.upstream.mux:broken_answer", lambda text: None)


@without("T11", proof="test_t11_a_line_without_end_is_cut_off")
def lines_may_have_any_length() -> None:
    replace("toolcrib.wire.lines:LineSplitter._keep", lambda self, piece: self._parts.append(piece))


@without("T11", proof="test_t11_a_body_without_end_is_cut_off")
def bodies_may_have_any_length() -> None:
    whole = import_module("toolcrib.upstream.event_stream")._whole
    replace("toolcrib.upstream.event_stream:_whole", lambda head, chunks, _: whole(head, chunks, sys.maxsize))


@without("T11", proof="test_t11_an_event_without_end_is_cut_off")
def events_may_have_any_length() -> None:
    replace("toolcrib.upstream.event_stream:EventDecoder._keep", lambda self, piece: self._line.append(piece))


@without("T11", proof="test_t11_pages_without_end_are_read_to_the_hundredth")
def lists_may_have_any_number_of_pages() -> None:
    replace("toolcrib.upstream.tool_list:MAX_PAGES", sys.maxsize)


@without("T11", proof="test_t11_of_tools_without_end_a_thousand_are_taken")
def servers_may_have_any_number_of_tools() -> None:
    _lists_without("tools")


@without("T11", proof="test_t11_a_definition_that_is_too_large_is_left_out")
def definitions_may_have_any_size() -> None:
    _lists_without("definition_bytes")


@without("T11", proof="test_t11_of_definitions_without_end_only_so_many_bytes_are_taken")
def all_definitions_together_may_have_any_size() -> None:
    _lists_without("total_bytes")


def _lists_without(limit: str) -> None:
    taking = import_module("toolcrib.upstream.tool_list")._Taking
    begin = taking.__init__

    def take(self: Any, limits: Any, listed: Any) -> None:
        begin(self, dataclasses.replace(limits, **{limit: sys.maxsize}), listed)

    replace("toolcrib.upstream.tool_list:_Taking.__init__", take)


# ------------------------------------------------------------------ T12 bombs and texts that parsers read differently


@without("T12", proof="test_t12_what_two_parsers_would_read_differently_is_refused")
def the_last_value_of_a_name_counts() -> None:
    replace("toolcrib.wire.duplicate_names:name_there_twice", lambda text, value: None)


@without("T12", proof="test_t12_a_parameter_in_two_spellings_is_refused")
def case_tells_names_apart() -> None:
    replace("toolcrib.calls.validate_arguments:_check_spellings", lambda schema, arguments: None)


@without("T12", proof="test_t12_numbers_without_end_cost_a_refusal_and_nothing_else")
def what_is_no_number_is_one() -> None:
    replace("toolcrib.wire.jsonrpc:_refuse_constant", lambda name: 0.0)


@without("T12", proof="test_t12_digits_without_end_in_an_answer_cost_no_second")
def integers_may_have_any_number_of_digits() -> None:
    replace("toolcrib.model.call:MOST_DIGITS", sys.maxsize)


@without("T12", proof="test_t12_levels_without_end_cost_a_refusal_and_nothing_else")
def nobody_expects_many_levels_of_a_client() -> None:
    _recurses_without_end("toolcrib.wire.jsonrpc")


@without("T12", proof="test_t12_levels_without_end_in_an_answer_end_its_call")
def nobody_expects_many_levels_in_an_answer() -> None:
    _recurses_without_end("toolcrib.wire.jsonrpc")


@without("T12", proof="test_t12_levels_without_end_in_a_text_are_a_text")
def nobody_expects_many_levels_in_a_text() -> None:
    _recurses_without_end("toolcrib.model.call")


def _recurses_without_end(module: str) -> None:
    """Let nothing in this module catch what comes of too many levels."""
    vars(import_module(module))["RecursionError"] = type("Nothing", (Exception,), {})


@without("T12", proof="test_t12_what_is_nested_too_deep_is_left_out_and_refused")
def no_value_is_too_deep() -> None:
    replace("toolcrib.model.nesting:deeper_than", lambda value, levels: False)


@without("T12", proof="test_t12_a_small_answer_that_unpacks_to_hundreds_of_megabytes_is_given_up")
def a_packed_body_may_have_any_length() -> None:
    bodies_may_have_any_length()


@without("T12", proof="test_t12_a_bundle_that_unpacks_to_too_much_is_refused")
def a_bundle_may_unpack_to_anything() -> None:
    replace("toolcrib.registry.bundle:_checked_members", lambda archive, _: frozenset(archive.namelist()))


# ------------------------------------------------------------------ T13 patterns that take for ever


@without("T13", proof="test_t13_no_pattern_of_a_rule_takes_a_second")
def a_rule_has_all_the_time() -> None:
    replace("toolcrib.rules.pattern:TIME_LIMIT_SECONDS", 1.5)


@without("T13", proof="test_t13_a_slow_rule_is_given_up_however_many_names_there_are")
def a_rule_is_tried_on_and_on() -> None:
    replace("toolcrib.rules.pattern:MAX_TIMEOUTS", 100)


@without("T13", proof="test_t13_no_pattern_of_a_schema_takes_a_second")
def a_pattern_of_a_schema_has_all_the_time() -> None:
    replace("toolcrib.schema.validate:MAX_REGEX_SECONDS", 1.5)


@without("T13", proof="test_t13_no_schema_fans_out_for_a_second")
def a_schema_may_ask_for_any_number_of_steps() -> None:
    replace("toolcrib.schema.budget:Budget.spend", lambda self, steps: None)


@without("T13", proof="test_t13_no_search_in_a_result_takes_a_second")
def a_search_has_all_the_time() -> None:
    replace("toolcrib.built_in.read_result:GREP_SECONDS", 1.5)


@without("T13", proof="test_t13_no_pattern_of_ours_takes_a_second")
def a_pattern_of_ours_tries_all_there_is() -> None:
    replace("toolcrib.scanner.links:_PICTURE", re.compile(r"\A(?:.|..){24}\Z"))


@without("T13", proof="test_t13_a_long_result_is_looked_through_only_so_far")
def all_of_a_result_is_looked_through() -> None:
    replace("toolcrib.calls.flag_results:MOST_CHARACTERS", sys.maxsize)
    replace("toolcrib.scanner.texts:MOST_CHARACTERS", sys.maxsize)


# ------------------------------------------------------------------ T14 sessions and handles of others


@without("T14", proof="test_t14_a_session_is_of_no_use_to_another_token")
def everybody_is_the_same_to_sessions() -> None:
    admission = import_module("toolcrib.server.admission")
    same = admission.as_sdk_user(admission.Principal("toolcrib", "anybody", "anybody"))
    replace("toolcrib.server.admission:as_sdk_user", lambda _: same)


# ------------------------------------------------------------------ T15 names that lead out of our folders


@without("T15", proof="test_t15_no_name_writes_outside_our_folders")
def any_name_is_the_name_of_a_file() -> None:
    replace("toolcrib.ccos.file_names:file_name", lambda name: name)


# ------------------------------------------------------------------ T16 packages that change by themselves


@without("T16", proof="test_t16_an_unpinned_package_needs_a_word_of_the_person")
def every_package_stays_as_it_is() -> None:
    replace("toolcrib.config.package_versions:unpinned_packages", lambda launch: [])


@without("T16", proof="test_t16_a_bundle_that_is_not_the_one_its_entry_names_is_not_unpacked")
def any_bundle_will_do() -> None:
    open_bundle = import_module("toolcrib.registry.bundle").open_bundle

    def open_any(content: bytes, _: str, *where: Any) -> Any:
        return open_bundle(content, hashlib.sha256(content).hexdigest(), *where)

    replace("toolcrib.registry.bundle:open_bundle", open_any)


# ------------------------------------------------------------------ T17 variables that servers should not see


@without("T17", proof="test_t17_a_child_sees_only_what_its_entry_declares")
def every_variable_is_harmless() -> None:
    replace("toolcrib.config.secret_refs:is_harmless", lambda name: True)


# ------------------------------------------------------------------ T18 floods of notifications and questions


@without("T18", proof="test_t18_ten_thousand_notices_are_one_reading")
def each_notice_is_a_reading() -> None:
    replace("toolcrib.discovery.refresher:CatalogRefresher._change_of", lambda self, key: self._refresh_known(key))


@without("T18", proof="test_t18_a_flood_of_progress_and_log_messages_is_heard_at_a_pace")
def everything_has_its_turn() -> None:
    replace("toolcrib.upstream.pacing:Pace.has_turn", lambda self: True)


@without("T18", proof="test_t18_progress_of_no_call_is_heard_by_nobody")
def all_progress_belongs_to_somebody() -> None:
    def progress(self: Any, params: dict[str, Any]) -> None:
        for running in self._running.values():
            running.progress(params)

    replace("toolcrib.upstream.inbox:Inbox._progress", progress)


@without("T18", proof="test_t18_requests_without_end_are_answered_at_a_pace")
def every_request_has_its_turn() -> None:
    everything_has_its_turn()


@without("T18", proof="test_t18_a_call_asks_a_person_only_so_often")
def a_call_may_ask_without_end() -> None:
    replace("toolcrib.calls.guard_questions:MOST_QUESTIONS", sys.maxsize)


@without("T18", proof="test_t18_the_model_of_a_client_is_used_only_where_the_person_agrees")
def everybody_agrees() -> None:
    replace("toolcrib.calls.question_rules:allowed_by", lambda answer: "once")


@without("T18", proof="test_t18_who_asks_and_the_host_of_an_address_are_shown")
def questions_are_shown_as_they_come() -> None:
    replace("toolcrib.calls.question_rules:QuestionRules.shown", lambda self, question: question)


# ------------------------------------------------------------------ T19 answers of those who were not asked


@without("T19", proof="test_t19_an_answer_counts_once_and_only_from_whom_was_asked")
def any_answer_will_do() -> None:
    def settle(self: Any, message: Any) -> None:
        answer = next(iter(self._waiting.values()), None)
        if answer is not None and not answer.done():
            answer.set_result(message.result)

    replace("toolcrib.upstream.mux:Mux._settle", settle)


# ------------------------------------------------------------------ T20 gaps in the audit log


@without("T20", proof="test_t20_a_changed_or_missing_line_is_found")
def every_line_follows() -> None:
    replace("toolcrib.storage.audit_chain:Link.follows", lambda self, number, previous: True)
    replace("toolcrib.storage.audit_check:_Walk.end", lambda self, head: None)


@without("T20", proof="test_t20_a_full_disk_refuses_calls_where_that_is_wanted")
def calls_run_unwritten() -> None:
    replace("toolcrib.storage.audit_file:AuditFile._failed", lambda self, error: None)
    replace("toolcrib.calls.heard_audit:HeardAudit.append", lambda self, record: self._log.append(record) or True)


# ------------------------------------------------------------------ T21 gateways behind themselves


@without("T21", proof="test_t21_a_gateway_behind_a_gateway_ends")
def gateways_may_be_any_number_deep() -> None:
    replace("toolcrib.config.launching:_check_depth", lambda spec, env: None)


# ------------------------------------------------------------------ T22 links and pictures


@without("T22", proof="test_t22_no_link_of_a_definition_is_opened_fetched_or_clickable")
def links_run_what_they_like() -> None:
    replace("toolcrib.scanner.links:links", lambda text: ())


@without("T22", proof="test_t22_a_command_shows_links_as_words")
def links_are_printed_as_they_came() -> None:
    terminals_get_what_servers_say()
