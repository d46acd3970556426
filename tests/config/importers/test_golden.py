from __future__ import annotations

from collections import Counter

import pytest

from tests.config.importers.golden_cases import FOLDER, Case
from toolcrib.config.source_types import SOURCE_TYPES

FILES = sorted(FOLDER.glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_clients_file_gives_the_servers_written_below_it(file, tmp_path):
    case = Case.read(file)
    assert case.imported(tmp_path) == case.expected


def test_every_kind_of_source_has_at_least_two_golden_files():
    counted = Counter(Case.read(file).client for file in FILES)
    assert {name: counted[name] for name in SOURCE_TYPES if counted[name] < 2} == {}
