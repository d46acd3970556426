from __future__ import annotations

import copy
import json
import pickle
from dataclasses import dataclass

import pytest

from toolcrib.model.secret import Secret, hidden, revealed

TEXT = "plain-lily-one"


@dataclass
class _Holder:
    value: Secret


def test_a_secret_shows_itself_to_nobody() -> None:
    secret = Secret(TEXT)

    shown = [
        repr(secret),
        str(secret),
        f"{secret}",
        f"{secret:>40}",
        f"{secret!r}",
        repr(_Holder(secret)),
    ]
    shown += [repr({"a": [secret]}), json.dumps({"a": secret}, default=str), repr(copy.deepcopy(_Holder(secret)))]

    assert not [text for text in shown if TEXT in text]
    assert secret.reveal() == TEXT


def test_a_secret_is_written_into_no_other_process_and_is_no_key() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(Secret(TEXT))
    with pytest.raises(TypeError):
        hash(Secret(TEXT))


def test_secrets_are_equal_by_what_they_hold() -> None:
    assert Secret(TEXT) == Secret(TEXT)
    assert Secret(TEXT) != Secret("other")
    assert Secret(TEXT) != TEXT
    assert not Secret("")
    assert revealed(hidden({"a": TEXT, "b": "\udc80"})) == {"a": TEXT, "b": "\udc80"}
