"""The check by a whole JSON Schema validator, which says what is wrong; `validate` loads it when plain checks do not do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from toolcrib.schema.bounded import BoundedValidator
from toolcrib.schema.budget import Budget
from toolcrib.schema.coerce import misplaced_texts, needless_nulls
from toolcrib.schema.explain import explain
from toolcrib.schema.verdict import VALID, Verdict

MAX_PROBLEMS = 5


class FullCheck:
    """One schema as the validator has it."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._validator = BoundedValidator(schema)
        self._required = schema.get("required")
        self._flaw: str | None = None

    def check(self, instance: dict[str, Any], new_budget: Callable[[], Budget]) -> Verdict:
        """The verdict; raises Unusable where the schema or the instance asks for too much."""
        errors = self._validator.errors(instance, new_budget(), MAX_PROBLEMS)
        if not errors:
            return VALID
        if self._flaw is None:
            # Asked only now: a malformed schema does no harm until it would refuse something.
            self._flaw = self._validator.flaw(new_budget())
        if self._flaw:
            return Verdict(not_checked=f"the schema is not valid: {self._flaw}")
        meant = dict(misplaced_texts(errors)) | dict(needless_nulls(errors, self._required))
        return Verdict(tuple(islice(explain(errors), MAX_PROBLEMS)), meant=meant)
