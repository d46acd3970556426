"""The reference tables of docs/configuration.md; `python -m toolcrib.config.reference` prints them."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from toolcrib.config.entries import ENTRY_KEYS
from toolcrib.config.introspection import INTROSPECTION_KEYS
from toolcrib.config.profiles import PROFILE_KEYS
from toolcrib.config.sandbox_entry import SANDBOX_KEYS
from toolcrib.config.setting_field import Scalar
from toolcrib.config.settings import SCALARS
from toolcrib.config.sign_in_entry import SIGN_IN_KEYS
from toolcrib.config.source_types import FORMATS
from toolcrib.config.tool_rules import RULE_KEYS


def settings_table() -> str:
    """Every single setting: key, default, environment variable, whether a reload takes it over, description."""
    rows = [
        f"| `{scalar.key}` | {_default(scalar)} | `{scalar.variable}` | {'yes' if scalar.reloads else 'restart'} "
        f"| {_described(scalar)} |"
        for scalar in SCALARS
    ]
    return "\n".join(["| key | default | environment | reload | what it does |", "|---|---|---|---|---|", *rows])


def settings_text() -> str:
    """The same as plain text, for a terminal."""
    return "\n".join(
        f"{scalar.key}  (default: {_default(scalar)}; {scalar.variable})\n"
        f"    {_described(scalar).replace('`', '')}{'' if scalar.reloads else ' Needs a restart.'}"
        for scalar in SCALARS
    )


def entry_table() -> str:
    """Every key of a server entry."""
    return _key_table(ENTRY_KEYS)


def sign_in_table() -> str:
    """Every key of the `oauth` of an entry."""
    return _key_table(SIGN_IN_KEYS)


def sandbox_table() -> str:
    """Every key of the `sandbox` of an entry."""
    return _key_table(SANDBOX_KEYS)


def rule_table() -> str:
    """Every key of a tool rule."""
    return _key_table(RULE_KEYS)


def profile_table() -> str:
    """Every key of a profile."""
    return _key_table(PROFILE_KEYS)


def introspection_table() -> str:
    """Every key of the section on trial calls."""
    return _key_table(INTROSPECTION_KEYS)


def source_formats() -> str:
    """The types of source that are no AI clients, in one line."""
    return ", ".join(f"`{name}`" for name in FORMATS)


def _key_table(keys: Mapping[str, str]) -> str:
    rows = [f"| `{key}` | {description} |" for key, description in keys.items()]
    return "\n".join(["| key | what it says |", "|---|---|", *rows])


def _default(scalar: Scalar) -> str:
    if scalar.default is None:
        return "null"
    if isinstance(scalar.default, bool):
        return str(scalar.default).lower()
    if isinstance(scalar.default, tuple):
        return ", ".join(scalar.default) or "none"
    number = f"{scalar.default:.10g}" if isinstance(scalar.default, float) else str(scalar.default)
    return f"{number} {scalar.unit}".strip() or "none"


def _described(scalar: Scalar) -> str:
    also = f" Also read from `{scalar.alias_variable}`." if scalar.alias_variable else ""
    return scalar.description + also


def main() -> None:
    tables = (
        settings_table(),
        entry_table(),
        sign_in_table(),
        sandbox_table(),
        rule_table(),
        profile_table(),
        introspection_table(),
        source_formats(),
    )
    sys.stdout.write("\n\n".join(tables) + "\n")


if __name__ == "__main__":
    main()
