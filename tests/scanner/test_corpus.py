"""The labelled corpus: nearly all hostile definitions are found, and hardly any good one is taken for one."""

from collections import Counter

from tests.scanner.labelled import BENIGN, HOSTILE, WORLD, Case, cases
from toolcrib.scanner.beside import KnownNames, beside
from toolcrib.scanner.scan import scan

KNOWN = KnownNames.of(WORLD)
RECALL, FALSE_ALARMS = 0.95, 0.02
EACH_FAMILY = 0.8


def is_found(case: Case) -> bool:
    return any(finding.is_hard for finding in beside("sums", scan(case.definition), lambda: KNOWN))


def all_of(labels: tuple[str, ...]) -> list[Case]:
    return [case for label in labels for case in cases(label)]


def test_the_corpus_is_large_enough_to_say_something():
    hostile, benign = all_of(HOSTILE), all_of(BENIGN)
    assert len(hostile) >= 200
    assert len(benign) >= 200
    assert len({case.family for case in hostile}) == 15
    assert len({repr(case.definition) for case in hostile + benign}) == len(hostile) + len(benign)


def test_hostile_definitions_are_found():
    listed = all_of(HOSTILE)
    missed = [case.id for case in listed if not is_found(case)]
    assert len(missed) <= (1 - RECALL) * len(listed), missed


def test_no_family_of_attacks_is_overlooked():
    listed = all_of(HOSTILE)
    found, all_cases = (
        Counter(case.family for case in listed if is_found(case)),
        Counter(case.family for case in listed),
    )
    assert [family for family, count in all_cases.items() if found[family] < EACH_FAMILY * count] == []


def test_good_definitions_that_look_like_attacks_are_left_alone():
    listed = all_of(BENIGN)
    taken = [case.id for case in listed if is_found(case)]
    assert len(taken) <= FALSE_ALARMS * len(listed), taken
