"""A public model, taught to put a query next to the tool that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.bundle import Bundle
from training.evaluate import UNSEEN, Evaluation
from training.losses import contrast, not_to_blame
from training.model import State, TextEncoder, autocast, encode, encode_all, from_state, to_state
from training.pace import Stage, optimizer_of, take_step
from training.packing import TokenTable, moved
from training.report import Report
from training.sampler import Sampler

WARM_UP = 60
# Tools that the untouched model finds this alike are taken for equivalents, not for negatives.
EQUIVALENT = 0.90
DROPPED_QUERIES, DROPPED_WORDS = 0.1, 0.2
# At these shares of the way, negatives are mined anew with what was learnt so far.
MINING_AT = (0.3, 0.55, 0.8)
CANDIDATES = 40
TOO_GOOD = 0.95
DOCUMENT_BUCKETS, QUERY_BUCKETS = 4, 3


@dataclass(frozen=True)
class TeacherPlan:
    batch: int
    steps: int
    until: float
    seed: int
    report_every: int
    rate: float


@dataclass(frozen=True)
class Tables:
    """Queries and documents on the device; `bundle` says what they are."""

    bundle: Bundle
    queries: TokenTable
    documents: TokenTable


def train_teacher(
    start: Mapping[str, NDArray[Any]], tables: Tables, evaluation: Evaluation, plan: TeacherPlan, report: Report
) -> State:
    """Fine-tune and return the weights."""
    torch.manual_seed(plan.seed)
    device = tables.queries.tokens.device
    model = from_state(start).to(device)
    alike = encode_all(model, tables.documents, np.arange(tables.bundle.tools)).to(_short(device))
    sampler = Sampler(tables.bundle, plan.seed)
    optimizer = optimizer_of(model, plan.rate)
    stage = Stage(report.clock, steps=plan.steps, until=plan.until, rate=plan.rate, warm_up=WARM_UP)
    minings = list(MINING_AT)
    model.train()
    while not stage.is_over:
        if minings and stage.progress >= minings[0]:
            minings.pop(0)
            sampler.negatives = mine(model, tables, sampler)
        stage.advance(optimizer)
        loss = _loss(model, tables, sampler, plan.batch, alike)
        take_step(model, optimizer, loss)
        if stage.step % plan.report_every == 0:
            figures = evaluation(model, UNSEEN)
            report.say(f"teacher {plan.seed} step {stage.step} loss {loss.item():.3f}", figures, stage.seconds_a_step)
    report.keep(**{f"teacher_{plan.seed}_steps": stage.step})
    report.say(f"teacher {plan.seed} done after {stage.step} steps", {}, stage.seconds_a_step)
    return to_state(model)


@torch.no_grad()
def mine(model: TextEncoder, tables: Tables, sampler: Sampler) -> NDArray[np.int32]:
    """For each item the tools of its pool that the model ranks highest, without the right ones and their likes."""
    bundle, device = tables.bundle, model.device
    mined = np.full((sampler.items, CANDIDATES), -1, dtype=np.int32)
    pool_of_item = bundle.tool_pool[sampler.tools[:, 0]]
    for pool in np.unique(pool_of_item):
        tools = np.flatnonzero(bundle.tool_is_trained & (bundle.tool_pool == pool))
        items = np.flatnonzero(pool_of_item == pool)
        documents = encode_all(model, tables.documents, tools)
        queries = encode_all(model, tables.queries, bundle.arrays["item_row"][items])
        places = np.full(bundle.tools, -1, dtype=np.int64)
        places[tools] = np.arange(len(tools))
        answers = sampler.tools[items]
        answers = torch.from_numpy(np.where(answers >= 0, places[answers], -1)).to(device)
        found = torch.cat(
            [_hard(q, documents, a) for q, a in zip(queries.split(2048), answers.split(2048), strict=True)]
        )
        own = found.cpu().numpy()
        mined[items, : own.shape[1]] = np.where(own >= 0, tools[own], -1)
    return mined


def _hard(queries: Tensor, documents: Tensor, answers: Tensor) -> Tensor:
    scores = queries @ documents.T
    known = answers >= 0
    own = scores.gather(1, answers.clamp(min=0)).masked_fill(~known, 1.0).amin(1)
    # A row's fill-ins point at its first answer, which is left out anyway.
    scores.scatter_(1, torch.where(known, answers, answers[:, :1]), -1.0)
    best = scores.topk(min(CANDIDATES + 24, scores.shape[1]), dim=1)
    fair = (best.values < TOO_GOOD * own[:, None]) & (best.values > -1)
    order = (~fair).long().sort(dim=1, stable=True).indices[:, :CANDIDATES]
    return best.indices.masked_fill(~fair, -1).gather(1, order)


def _loss(model: TextEncoder, tables: Tables, sampler: Sampler, size: int, alike: Tensor) -> Tensor:
    batch = sampler.draw(size)
    device = model.device
    with autocast(device):
        asked = [
            (tables.queries, batch.query_rows, QUERY_BUCKETS),
            (tables.documents, batch.column_rows, DOCUMENT_BUCKETS),
        ]
        queries, documents = encode(model, asked, drop_words)
    columns = moved(batch.column_tools, device)
    answers = moved(batch.answers, device)
    likeness = alike[columns[:size]] @ alike[columns].T
    return contrast(queries, documents, not_to_blame(answers, columns, likeness, EQUIVALENT))


def drop_words(tokens: Tensor) -> Tensor:
    """Leave some words out of some of the rows, and close the gaps."""
    device = tokens.device
    chosen = torch.rand(len(tokens), 1, device=device) < DROPPED_QUERIES
    dropped = chosen & (torch.rand(tokens.shape, device=device) < DROPPED_WORDS) & (tokens > _SPECIAL)
    order = dropped.long().sort(dim=1, stable=True).indices
    return tokens.masked_fill(dropped, 0).gather(1, order)


# Marks and padding have the lowest numbers of the vocabulary.
_SPECIAL = 103


def _short(device: torch.device) -> torch.dtype:
    return torch.bfloat16 if device.type == "cuda" else torch.float32
