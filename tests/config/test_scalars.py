from __future__ import annotations

from contextlib import suppress
from dataclasses import fields

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolcrib.config.diagnostics import Findings
from toolcrib.config.read_settings import check_groups, check_scalar, read_scalars, warn_of_unknown_settings
from toolcrib.config.settings import SCALARS, SCALARS_BY_KEY, Settings


def nested(key, value):
    for name in reversed(key.split(".")):
        value = {name: value}
    return value


def read(section, env=None):
    findings = Findings()
    return read_scalars(section, "", "f", env or {}, findings), findings


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: scalar.key)
def test_every_default_is_a_value_its_setting_accepts(scalar):
    given_value = list(scalar.default) if isinstance(scalar.default, tuple) else scalar.default
    assert check_scalar(scalar, given_value) == scalar.default
    assert getattr(Settings(), scalar.name) == scalar.default


@pytest.mark.parametrize("scalar", SCALARS, ids=lambda scalar: scalar.key)
def test_every_setting_is_described_and_refuses_a_map_from_a_file(scalar):
    assert scalar.description.endswith(".")
    _, findings = read(nested(scalar.key, {"a": 1}))
    assert [problem.where for problem in findings.fatal] == [scalar.key]


def test_keys_variables_and_descriptions_are_each_used_once():
    for names in ([s.key for s in SCALARS], [s.variable for s in SCALARS], [s.description for s in SCALARS]):
        assert len(names) == len(set(names))


def test_every_plain_field_of_settings_is_in_the_table():
    plain = {"bool", "int", "float", "str", "float | None"}
    assert {entry.name for entry in fields(Settings) if entry.type in plain} <= {scalar.name for scalar in SCALARS}


def test_a_group_within_a_group_is_checked_like_one_outside():
    findings = Findings()
    check_groups({"http": {"auth": "https://issuer.example"}}, "", "file", findings)
    assert [problem.where for problem in findings.fatal] == ["http.auth"]
    findings = Findings()
    warn_of_unknown_settings({"http": {"auth": {"isuer": "https://issuer.example"}}}, "", "file", (), findings)
    assert ["http.auth" in warning and "issuer" in warning for warning in findings.warnings] == [True]


def test_variables_are_spelled_from_the_keys():
    assert SCALARS_BY_KEY["callTimeout"].variable == "TOOLCRIB_CALL_TIMEOUT"
    assert SCALARS_BY_KEY["cache.ttl"].variable == "TOOLCRIB_CACHE_TTL"
    assert SCALARS_BY_KEY["http.allowedHosts"].variable == "TOOLCRIB_HTTP_ALLOWED_HOSTS"


GOOD = [
    ("enabled", "TOOLCRIB_ENABLED", "off", False),
    ("enabled", "TOOLCRIB_ENABLED", "Yes", True),
    ("callRate", "TOOLCRIB_CALL_RATE", "2.5", 2.5),
    ("callRate", "TOOLCRIB_CALL_RATE", "null", None),
    ("http.port", "TOOLCRIB_HTTP_PORT", "80", 80),
    ("http.allowedHosts", "TOOLCRIB_HTTP_ALLOWED_HOSTS", "a, b,", ("a", "b")),
    ("results", "TOOLCRIB_RESULTS", "envelope", "envelope"),
]


@pytest.mark.parametrize(("key", "variable", "text", "value"), GOOD)
def test_variables_are_read_by_the_kind_of_their_setting(key, variable, text, value):
    values, findings = read({}, {variable: text})
    assert values == {SCALARS_BY_KEY[key].name: value}
    assert findings.fatal == []


BAD = [
    ("enabled", "yes", "expected true or false, found 'yes'"),
    ("enabled", 1, "expected true or false, found 1"),
    ("callTimeout", 0, "expected a number of seconds from 0.01 to 31536000, found 0"),
    ("callTimeout", True, "found true"),
    ("callTimeout", float("inf"), "found inf"),
    ("maxCalls", 1.5, "expected a whole number of at least 1, found 1.5"),
    ("maxResultBytes", 0, "expected a whole number of bytes, at least 1, found 0"),
    ("maxQueryCharacters", 4097, "expected a whole number of characters from 1 to 4096, found 4097"),
    ("http.port", 70_000, "expected a whole number from 0 to 65535, found 70000"),
    ("http.host", "", "expected text, found ''"),
    ("http.allowedHosts", "a", "expected a list of texts, found 'a'"),
    ("http.allowedHosts", [1], "expected a list of texts, found a list"),
    ("callRate", "fast", "expected a number of at least 0.001 or null, found 'fast'"),
    ("results", "raw", "expected one of auto, envelope, passthrough, found 'raw'"),
]


@pytest.mark.parametrize(("key", "value", "message"), BAD)
def test_a_bad_value_says_what_was_expected_and_found(key, value, message):
    values, findings = read(nested(key, value))
    assert values == {}
    assert message in findings.fatal[0].message


@pytest.mark.parametrize(
    "variable", [scalar.variable for scalar in SCALARS if scalar.kind in ("flag", "integer", "number")]
)
def test_a_variable_that_does_not_fit_is_a_problem_of_the_environment(variable):
    _, findings = read({}, {variable: "x" * 100})
    assert [(problem.source, problem.where) for problem in findings.fatal] == [("environment", variable)]
    assert len(findings.fatal[0].message) < 200


@example(next(scalar for scalar in SCALARS if scalar.choices and "off" in scalar.choices), False)
@given(
    st.sampled_from(SCALARS), st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.text())
)
def test_any_value_is_taken_as_it_is_or_refused(scalar, value):
    with suppress(ValueError):
        taken = check_scalar(scalar, value)
        # A number is kept as a float, which can't tell apart every two very large integers.
        expected = float(value) if isinstance(taken, float) else value
        # YAML reads the words `on` and `off` as yes and no.
        if isinstance(value, bool) and scalar.choices:
            expected = "on" if value else "off"
        assert taken == (tuple(expected) if isinstance(expected, list) else expected)
