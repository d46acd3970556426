"""The small encoder: it learns to answer as the teacher does."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from training.evaluate import UNSEEN, Evaluation
from training.losses import apart, contrast, not_to_blame, same_ranking
from training.made_up import MadeUp, MadeUpQueries, MadeUpTools
from training.model import State, TextEncoder, autocast, encode, encode_all, from_state, to_state
from training.pace import Stage, optimizer_of, take_step
from training.packing import moved
from training.report import Report
from training.sampler import Sampler
from training.teacher import DOCUMENT_BUCKETS, QUERY_BUCKETS, Tables, mine

RATE = 4e-4
WARM_UP = 100
CONTRAST_WEIGHT = 0.2
CLOSENESS_WEIGHT = 4.0
# The fine-tuned teacher spreads tools further apart than untouched MiniLM; equivalents stay closer than this.
EQUIVALENT = 0.95
UNLABELLED_SHARE = 0.375
UNLABELLED_ROWS = 65_536
MADE_UP_BUCKETS = 2


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


@dataclass(frozen=True)
class Unlabelled:
    """Texts that come without an answer."""

    queries: MadeUpQueries
    tools: MadeUpTools

    def refresh(self, teacher: TextEncoder) -> None:
        self.queries.refresh(teacher)
        self.tools.refresh(teacher)


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
    model = from_state(start, dropout=0.0, is_rounded=True).to(device)
    lessons = Lessons(encode_all(teacher, tables.queries), encode_all(teacher, tables.documents))
    sampler = Sampler(tables.bundle, plan.seed)
    sampler.negatives = mine(teacher, tables, sampler)
    unlabelled = Unlabelled(
        MadeUpQueries(tables.bundle, plan.unlabelled_rows, plan.seed + 1, device),
        MadeUpTools(tables.bundle, plan.unlabelled_rows // 2, plan.seed + 2, device),
    )
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
    report.keep(student_steps=stage.step)
    report.say(f"student done after {stage.step} steps", {}, stage.seconds_a_step)
    return to_state(model)


def _loss(
    model: TextEncoder, tables: Tables, lessons: Lessons, sampler: Sampler, unlabelled: Unlabelled, size: int
) -> Tensor:
    device = model.device
    batch = sampler.draw(int(size * (1 - UNLABELLED_SHARE)), mined=1, siblings=0)
    labelled, columns = len(batch.items), len(batch.column_tools)
    asked, offered = unlabelled.queries.draw(size - labelled), unlabelled.tools.draw(size - labelled)
    texts = [
        # Mistyped or not, a query should land where the teacher puts the well-typed one.
        (tables.queries, batch.query_rows, QUERY_BUCKETS),
        (unlabelled.queries.table, asked, MADE_UP_BUCKETS),
        (tables.documents, batch.column_rows, DOCUMENT_BUCKETS),
        (unlabelled.tools.table, offered, MADE_UP_BUCKETS),
    ]
    with autocast(device):
        vectors = encode(model, texts)
    queries, documents = torch.cat(vectors[:2]), torch.cat(vectors[2:])
    taught_queries = _taught(lessons.queries, batch.clean_rows, unlabelled.queries, asked)
    taught_documents = _taught(lessons.documents, batch.column_rows, unlabelled.tools, offered)
    likeness = taught_documents[:labelled] @ taught_documents[:columns].T
    masked = not_to_blame(moved(batch.answers, device), moved(batch.column_tools, device), likeness, EQUIVALENT)
    return (
        same_ranking(queries, documents, taught_queries, taught_documents)
        + CONTRAST_WEIGHT * contrast(queries[:labelled], documents[:columns], masked)
        + CLOSENESS_WEIGHT * (apart(queries, taught_queries) + apart(documents, taught_documents))
    )


def _taught(known: Tensor, rows: NDArray[Any], made_up: MadeUp, drawn: NDArray[Any]) -> Tensor:
    """The teacher's vectors, of labelled texts and then of made-up ones."""
    device = known.device
    return torch.cat([known[moved(rows, device)], made_up.taught[moved(drawn, device)]])
