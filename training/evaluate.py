"""How well an encoder alone finds the tools of the development sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from training.bundle import MEASURED_PIECES, WHOLE, Bundle, DevQueries
from training.figures import LABELLED, Figures
from training.model import TextEncoder, encode_all
from training.packing import TokenTable

DEPTH = 10
# The sets whose tools no training query names.
UNSEEN = ("azure_mcp", "stabletoolbench", "intents")


class Evaluation:
    """The development sets, ready on the device."""

    def __init__(self, bundle: Bundle, queries: TokenTable) -> None:
        self._sets = bundle.dev_sets()
        self._queries = queries
        everything = bundle.document_rows(np.arange(bundle.tools), WHOLE, MEASURED_PIECES)
        self._documents = TokenTable(everything, queries.tokens.device)

    def __call__(
        self, model: TextEncoder, names: Sequence[str] | None = None, *, typos: bool = False, exact: bool = False
    ) -> Figures:
        """nDCG@10 and hit@1 in percent for each set, and over the five labelled ones."""
        figures: Figures = {}
        for dev in self._sets:
            if names is None or dev.name in names:
                figures[dev.name] = self._measure(model, dev, typos, exact)
        known = [figures[name] for name in LABELLED if name in figures]
        if len(known) == len(LABELLED):
            figures["mean of 5"] = {key: float(np.mean([one[key] for one in known])) for key in known[0]}
        return figures

    def _measure(self, model: TextEncoder, dev: DevQueries, typos: bool, exact: bool) -> dict[str, float]:
        documents = encode_all(model, self._documents, np.arange(dev.first, dev.last), exact=exact)
        queries = encode_all(model, self._queries, dev.typo_rows if typos else dev.rows, exact=exact)
        answers = torch.from_numpy(dev.tools).to(documents.device)
        return _figures(queries, documents, torch.where(answers >= 0, answers - dev.first, -1))


def _figures(queries: Tensor, documents: Tensor, answers: Tensor) -> dict[str, float]:
    discount = 1 / torch.log2(torch.arange(DEPTH, device=queries.device) + 2.0)
    total = (answers >= 0).sum(1)
    gains, hits = [], []
    for start in range(0, len(queries), 512):
        part = slice(start, start + 512)
        found = (queries[part] @ documents.T).topk(DEPTH, dim=1).indices
        right = (found[:, :, None] == answers[part][:, None, :]).any(2).float()
        gains.append((right * discount).sum(1))
        hits.append(right[:, 0])
    ideal = discount.cumsum(0)[total.clamp(max=DEPTH) - 1]
    return {
        "ndcg": 100 * float((torch.cat(gains) / ideal).mean()),
        "hit": 100 * float(torch.cat(hits).mean()),
    }
