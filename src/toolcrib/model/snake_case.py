"""Names of any style as words."""

from __future__ import annotations

import re

_CASE_CHANGE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_A_WORD = re.compile(r"[\W_]+")


def snake_case(name: str) -> str:
    """`listIssues`, `list-issues` and `list.issues` as `list_issues`."""
    return _NOT_A_WORD.sub("_", _CASE_CHANGE.sub("_", name)).strip("_").lower()
