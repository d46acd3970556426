"""Checks a call's arguments against its tool's input schema, without ever hanging on either."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from toolcrib.errors import Problem
from toolcrib.schema.budget import Budget, Unusable
from toolcrib.schema.flat import compile_flat
from toolcrib.schema.type_names import type_name
from toolcrib.schema.verdict import VALID, Verdict

if TYPE_CHECKING:
    from toolcrib.schema.full_check import FullCheck

MAX_STEPS = 50_000
MAX_REGEX_SECONDS = 0.1
MAX_REMEMBERED = 2_048


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
            return VALID
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
        self._full: FullCheck | None = None

    def check(self, instance: dict[str, Any], new_budget: Callable[[], Budget]) -> Verdict:
        if self._accepts is not None and self._accepts(instance):
            return VALID
        try:
            if self._full is None:
                # Loaded only now: the library takes a tenth of a second, and plain schemas never need it.
                self._full = import_module("toolcrib.schema.full_check").FullCheck(self._schema)
            return self._full.check(instance, new_budget)
        except Unusable as reason:
            return Verdict(not_checked=str(reason))
