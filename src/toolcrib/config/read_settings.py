"""Single settings: from the file's section, then from the environment, each checked against its description."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from toolcrib.config.diagnostics import Findings
from toolcrib.config.setting_field import Scalar
from toolcrib.config.settings import SCALARS, SCALARS_BY_KEY
from toolcrib.config.values import join, unknown_keys

ENVIRONMENT = "environment"
_TRUE = ("true", "1", "yes", "on")
_FALSE = ("false", "0", "no", "off")
# Such as `http` and `http.auth`, the outer ones first.
_GROUPS = sorted({".".join(key.split(".")[:depth]) for key in SCALARS_BY_KEY for depth in range(1, key.count(".") + 1)})
# Words that YAML takes for true and false.
_SWITCH_WORDS = {True: "on", False: "off"}
# Groups that may be written as true or false instead: that is what their `enabled` is.
_SWITCHES = frozenset({"engine", "peers"})


class _Misfit(Exception):
    """A value that does not fit its setting."""


def read_scalars(
    section: Mapping[str, Any], where: str, source: str, env: Mapping[str, str], findings: Findings
) -> dict[str, Any]:
    """The settings given, by attribute name; those that are not given are left out."""
    values: dict[str, Any] = {}
    for scalar in SCALARS:
        if (given := _written(section, scalar.key)) is not None:
            _take(values, scalar, given, join(where, scalar.key), source, findings)
        _take_from_environment(values, scalar, env, findings)
    return values


def warn_of_unknown_settings(
    section: Mapping[str, Any], where: str, source: str, other_keys: tuple[str, ...], findings: Findings
) -> None:
    """A warning for each key of the section that no setting has."""
    known = {*(key.split(".")[0] for key in SCALARS_BY_KEY), *other_keys}
    findings.warn_of_keys(unknown_keys(section, known), where, source)
    for group in _GROUPS:
        members = {key.removeprefix(f"{group}.").split(".")[0] for key in SCALARS_BY_KEY if key.startswith(f"{group}.")}
        if isinstance(held := _held(section, group), Mapping):
            findings.warn_of_keys(unknown_keys(held, members), join(where, group), source)


def check_groups(section: Mapping[str, Any], where: str, source: str, findings: Findings) -> None:
    """A group such as `cache` must be a map."""
    for group in _GROUPS:
        given = _held(section, group)
        if given is not None and not isinstance(given, Mapping) and not _is_switch(group, given):
            findings.refuse(join(where, group), f"expected a map, found {_shown(given)}", source)


def check_scalar(scalar: Scalar, value: Any) -> Any:
    """The value as its setting wants it; ValueError says what was expected and what was found."""
    try:
        return _converted(scalar, value)
    except _Misfit:
        raise ValueError(f"expected {expectation(scalar)}, found {_shown(value)}") from None


def expectation(scalar: Scalar) -> str:
    """What a setting accepts, in words."""
    if scalar.choices:
        return "one of " + ", ".join(scalar.choices)
    kinds = {
        "flag": "true or false",
        "integer": "a whole number",
        "number": "a number",
        "text": "text",
        "texts": "a list of texts",
    }
    words = kinds[scalar.kind] + (f" of {scalar.unit}" if scalar.unit and not scalar.unit.startswith("per") else "")
    if scalar.maximum is not None and scalar.kind in ("integer", "number"):
        words += f" from {scalar.minimum:.10g} to {scalar.maximum:.10g}"
    elif scalar.minimum is not None:
        words += f" of at least {scalar.minimum:.10g}" if " of " not in words else f", at least {scalar.minimum:.10g}"
    return words + (" or null" if scalar.optional else "")


def _written(section: Mapping[str, Any], key: str) -> Any:
    group, _, name = key.rpartition(".")
    holder = _held(section, group) if group else section
    if name == "enabled" and _is_switch(group, holder):
        return holder
    return holder.get(name) if isinstance(holder, Mapping) else None


def _held(section: Mapping[str, Any], group: str) -> Any:
    """What is written for a group; None where that, or a group around it, is not there."""
    held: Any = section
    for name in group.split("."):
        held = held.get(name) if isinstance(held, Mapping) else None
    return held


def _is_switch(group: str, given: Any) -> bool:
    return group in _SWITCHES and isinstance(given, bool)


def _take(values: dict[str, Any], scalar: Scalar, given: Any, where: str, source: str, findings: Findings) -> None:
    try:
        values[scalar.name] = check_scalar(scalar, given)
    except ValueError as error:
        findings.refuse(where, str(error), source)


def _take_from_environment(values: dict[str, Any], scalar: Scalar, env: Mapping[str, str], findings: Findings) -> None:
    if text := env.get(scalar.variable):
        _take(values, scalar, _from_text(scalar, text), scalar.variable, ENVIRONMENT, findings)
    elif scalar.alias_variable and (text := env.get(scalar.alias_variable)):
        # A variable of another program: one it would refuse is no reason for us to stop.
        try:
            values[scalar.name] = check_scalar(scalar, _from_text(scalar, text))
        except ValueError as error:
            findings.warn(f"{scalar.alias_variable} is not used: {error}")


def _from_text(scalar: Scalar, text: str) -> Any:
    if scalar.optional and text.lower() in ("null", "none"):
        return None
    if scalar.kind == "flag" and text.lower() in (*_TRUE, *_FALSE):
        return text.lower() in _TRUE
    if scalar.kind == "texts":
        return [part.strip() for part in text.split(",") if part.strip()]
    if scalar.kind in ("integer", "number"):
        try:
            return int(text) if scalar.kind == "integer" else float(text)
        except ValueError:
            return text
    return text


def _converted(scalar: Scalar, value: Any) -> Any:
    if value is None and scalar.optional:
        return None
    match scalar.kind:
        case "flag":
            return _require(value, isinstance(value, bool))
        case "text":
            if isinstance(value, bool) and set(_SWITCH_WORDS.values()) <= set(scalar.choices):
                return _SWITCH_WORDS[value]
            allowed = value in scalar.choices if scalar.choices else bool(value) or value == scalar.default
            return _require(value, isinstance(value, str) and allowed)
        case "texts":
            _require(value, isinstance(value, list) and all(isinstance(item, str) and item for item in value))
            return tuple(value)
        case _:
            return _number(scalar, value)


def _number(scalar: Scalar, value: Any) -> float | int:
    _require(value, isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value))
    _require(value, scalar.minimum is None or value >= scalar.minimum)
    _require(value, scalar.maximum is None or value <= scalar.maximum)
    if scalar.kind == "number":
        return float(value)
    _require(value, value == int(value))
    return int(value)


def _require(value: Any, fits: bool) -> Any:
    if not fits:
        raise _Misfit
    return value


def _shown(value: Any) -> str:
    # Settings hold no secrets, so what was found may be shown; a variable set by mistake may be long.
    if isinstance(value, str | int | float | bool) or value is None:
        text = "null" if value is None else repr(value) if isinstance(value, str) else str(value).lower()
        return text if len(text) <= 60 else f"{text[:57]}..."
    return "a list" if isinstance(value, list) else "a map"
