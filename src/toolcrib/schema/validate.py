"""Checks a call's arguments against its tool's input schema, without ever hanging on either."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from toolcrib.errors import Problem
from toolcrib.schema.bounded import BoundedValidator
from toolcrib.schema.budget import Budget, Unusable
from toolcrib.schema.coerce import Place, misplaced_texts
from toolcrib.schema.explain import explain, type_name
from toolcrib.schema.flat import compile_flat

MAX_PROBLEMS = 5
MAX_STEPS = 50_000
MAX_REGEX_SECONDS = 0.1
MAX_REMEMBERED = 2_048


@dataclass(frozen=True, slots=True)
class Verdict:
    """What is wrong with the arguments; `not_checked` says why they could not be judged, and then they pass.

    `meant` has the places where a text stands for a value of another type, with the JSON of that value.
    """

    problems: tuple[Problem, ...] = ()
    not_checked: str = ""
    meant: Mapping[Place, str] = field(default_factory=dict)


_VALID = Verdict()


class ArgumentChecker:
    """Checks arguments, remembering what it compiled for the schema objects it was given."""

    def __init__(self, *, max_steps: int = MAX_STEPS, now: Callable[[], float] = time.perf_counter) -> None:
        self._max_steps = max_steps
        self._now = now
        self._remembered: OrderedDict[int, _CompiledSchema] = OrderedDict()

    def check(self, schema: Mapping[str, Any] | None, arguments: Any) -> Verdict:
        """The verdict on the arguments; a missing or empty schema accepts any object."""
        if not isinstance(arguments, Mapping):
            return Verdict((Problem("", f"expected an object, found {type_name(arguments)}"),))
        if not schema:
            return _VALID
        instance = arguments if isinstance(arguments, dict) else dict(arguments)
        return self._compiled(schema).check(instance, self._new_budget)

    def _compiled(self, schema: Mapping[str, Any]) -> _CompiledSchema:
        compiled = self._remembered.get(id(schema))
        if compiled is None:
            compiled = self._remembered[id(schema)] = _CompiledSchema(schema)
            if len(self._remembered) > MAX_REMEMBERED:
                self._remembered.popitem(last=False)
        return compiled

    def _new_budget(self) -> Budget:
        return Budget(self._max_steps, MAX_REGEX_SECONDS, self._now)


class _CompiledSchema:
    """One schema made ready; it keeps the schema alive, so that its identity stays a safe key."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._schema = schema
        self._accepts = compile_flat(schema)
        self._validator: BoundedValidator | None = None
        self._flaw: str | None = None

    def check(self, instance: dict[str, Any], new_budget: Callable[[], Budget]) -> Verdict:
        if self._accepts is not None and self._accepts(instance):
            return _VALID
        try:
            return self._check_fully(instance, new_budget)
        except Unusable as reason:
            return Verdict(not_checked=str(reason))

    def _check_fully(self, instance: dict[str, Any], new_budget: Callable[[], Budget]) -> Verdict:
        if self._validator is None:
            self._validator = BoundedValidator(self._schema)
        errors = self._validator.errors(instance, new_budget(), MAX_PROBLEMS)
        if not errors:
            return _VALID
        if self._flaw is None:
            # Asked only now: a malformed schema does no harm until it would refuse something.
            self._flaw = self._validator.flaw(new_budget())
        if self._flaw:
            return Verdict(not_checked=f"the schema is not valid: {self._flaw}")
        return Verdict(tuple(islice(explain(errors), MAX_PROBLEMS)), meant=dict(misplaced_texts(errors)))
