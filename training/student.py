"""The small encoder: it learns to answer as the teacher does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.bundle import TRAINED_PIECES, Rows
from training.evaluate import UNSEEN, Evaluation
from training.losses import apart, contrast, not_to_blame, same_ranking
from training.model import State, TextEncoder, TokenTable, autocast, encode, encode_all, from_state, moved, to_state
from training.pace import Stage, optimizer_of, take_step
from training.report import Report
from training.sampler import Sampler
from training.teacher import DOCUMENT_PIECES, QUERY_PIECES, Tables, mine

RATE = 4e-4
WARM_UP = 100
CONTRAST_WEIGHT = 0.3
CLOSENESS_WEIGHT = 4.0
# The fine-tuned teacher spreads tools further apart than untouched MiniLM; equivalents stay closer than this.
EQUIVALENT = 0.95
UNLABELLED_SHARE = 0.25
UNLABELLED_ROWS = 65_536
SPAN_PIECES = (4, 28)


@dataclass(frozen=True)
class StudentPlan:
    batch: int
    steps: int
    until: float
    seed: int
    report_every: int
    refresh_every: int
    save_every: int
    unlabelled_rows: int = UNLABELLED_ROWS
    rate: float = RATE
    # Fewer bits than 8 for the matrices have to be known while learning.
    bits: int | None = None


@dataclass(frozen=True)
class Lessons:
    """The teacher's vectors of everything that can be asked or found."""

    queries: Tensor
    documents: Tensor


def train_student(
    start: Mapping[str, NDArray[Any]],
    teacher: TextEncoder,
    tables: Tables,
    evaluation: Evaluation,
    plan: StudentPlan,
    report: Report,
    save: Callable[[State], None],
) -> State:
    """Distil and return the weights; `save` gets them every so often."""
    torch.manual_seed(plan.seed)
    device = tables.queries.tokens.device
    model = from_state(start, dropout=0.0, bits=plan.bits).to(device)
    lessons = Lessons(encode_all(teacher, tables.queries), encode_all(teacher, tables.documents))
    sampler = Sampler(tables.bundle, plan.seed)
    sampler.negatives = mine(teacher, tables, sampler)
    unlabelled = Unlabelled(tables, plan)
    report.say("student: the teacher's vectors are there")
    optimizer = optimizer_of(model, plan.rate)
    stage = Stage(report.clock, steps=plan.steps, until=plan.until, rate=plan.rate, warm_up=WARM_UP)
    model.train()
    while not stage.is_over:
        if stage.step % plan.refresh_every == 0:
            unlabelled.refresh(teacher)
        stage.advance(optimizer)
        loss = _loss(model, tables, lessons, sampler, unlabelled, plan.batch)
        take_step(model, optimizer, loss)
        if stage.step % plan.report_every == 0:
            report.say(
                f"student step {stage.step} loss {loss.item():.3f}", evaluation(model, UNSEEN), stage.seconds_a_step
            )
        if stage.step % plan.save_every == 0:
            save(to_state(model))
    report.say(f"student done after {stage.step} steps", {}, stage.seconds_a_step)
    return to_state(model)


class Unlabelled:
    """Queries that nobody asked, with the teacher's vectors: spans of descriptions, and two queries as one."""

    def __init__(self, tables: Tables, plan: StudentPlan) -> None:
        bundle = tables.bundle
        self._chance = np.random.default_rng(plan.seed + 1)
        self._size = plan.unlabelled_rows
        self._descriptions = bundle.descriptions(np.flatnonzero(bundle.tool_is_trained))
        self._long_enough = np.flatnonzero(self._descriptions.lengths >= SPAN_PIECES[0])
        self._queries = bundle.queries()
        self._asked = bundle.arrays["item_row"][bundle.arrays["item_source"] < _COMPOUND]
        self._marks = bundle.arrays["joints"][[0, 3]]
        self._starts_word = np.array([not piece.startswith("##") for piece in bundle.vocabulary])
        empty = Rows(np.zeros((self._size, TRAINED_PIECES), dtype=np.int16), np.zeros(self._size, dtype=np.int32))
        self.table = TokenTable(empty, tables.queries.tokens.device)
        self.taught = torch.empty(0)

    def refresh(self, teacher: TextEncoder) -> None:
        """Make other ones and ask the teacher about them."""
        spans = 3 * self._size // 4
        bodies = [*self._spans(spans), *self._pairs(self._size - spans)]
        start, end = self._marks
        rows = [np.concatenate([[start], body[: TRAINED_PIECES - 2], [end]]) for body in bodies]
        self.table.replace(Rows.of(rows, TRAINED_PIECES))
        self.taught = encode_all(teacher, self.table)

    def draw(self, size: int) -> NDArray[np.int64]:
        return self._chance.integers(self._size, size=size)

    def _spans(self, count: int) -> list[NDArray[Any]]:
        """Runs of a description's pieces that begin and end with whole words."""
        tools = self._chance.choice(self._long_enough, size=count)
        wanted = self._chance.integers(SPAN_PIECES[0], SPAN_PIECES[1] + 1, size=count)
        room = np.maximum(self._descriptions.lengths[tools] - wanted, 0)
        starts = (self._chance.random(count) * (room + 1)).astype(np.int64)
        bodies = []
        for tool, start, length in zip(tools, starts, wanted, strict=True):
            body = self._descriptions.tokens[tool, start : min(start + length, self._descriptions.lengths[tool])]
            whole = np.flatnonzero(self._starts_word[body])
            bodies.append(body[whole[0] :] if len(whole) else body)
        return bodies

    def _pairs(self, count: int) -> list[NDArray[Any]]:
        rows = self._chance.choice(self._asked, size=(count, 2))
        return [np.concatenate([self._body(first), self._body(second)]) for first, second in rows]

    def _body(self, row: int) -> NDArray[Any]:
        return self._queries.tokens[row, 1 : self._queries.lengths[row] - 1]


# Sources before this one are queries that someone asked.
_COMPOUND = 5


def _loss(
    model: TextEncoder, tables: Tables, lessons: Lessons, sampler: Sampler, unlabelled: Unlabelled, size: int
) -> Tensor:
    device = model.device
    batch = sampler.draw(int(size * (1 - UNLABELLED_SHARE)), mined=1, siblings=0)
    drawn = unlabelled.draw(size - len(batch.items))
    labelled = len(batch.items)
    with autocast(device):
        # Mistyped or not, a query should land where the teacher puts the well-typed one.
        asked = encode(model, tables.queries, batch.query_rows, QUERY_PIECES)
        made_up = encode(model, unlabelled.table, drawn, 2)
        documents = encode(model, tables.documents, batch.column_rows, DOCUMENT_PIECES)
    taught_asked = lessons.queries[moved(batch.clean_rows, device)]
    taught_made_up = unlabelled.taught[moved(drawn, device)]
    taught_documents = lessons.documents[moved(batch.column_rows, device)]
    queries, taught_queries = torch.cat([asked, made_up]), torch.cat([taught_asked, taught_made_up])
    columns = moved(batch.column_tools, device)
    answers = moved(batch.answers, device)
    likeness = taught_documents[:labelled] @ taught_documents.T
    masked = not_to_blame(answers, columns, likeness, EQUIVALENT)
    return (
        same_ranking(queries, documents, taught_queries, taught_documents)
        + CONTRAST_WEIGHT * contrast(asked, documents, masked)
        + CLOSENESS_WEIGHT * (apart(queries, taught_queries) + apart(documents, taught_documents))
    )
