"""How many tokens a text costs a model, told without the tokenizer, whose vocabulary is larger than this program."""

from __future__ import annotations

import re

# A word of letters, a number, a mark or several together, white space: about how tokenizers part a text.
_PIECE = re.compile(r"[A-Za-z]*\d[A-Za-z\d]*|[A-Z]?[a-z]+|[A-Z]+|[^\W\d_A-Za-z]+|[^\w\s]+|_+|\s+")
# Measured with o200k_base over answers of real servers: see tests/model/test_token_estimate.py.
LETTERS_OF_A_TOKEN = 7
MIXED_CHARACTERS_OF_A_TOKEN = 1.8
MARKS_OF_A_TOKEN = 4
OTHER_LETTERS_OF_A_TOKEN = 1.25
# Often one token together with the word behind it.
_JOINING = frozenset("._-'/")
_JOINING_COST = 0.8


def estimated_tokens(text: str) -> float:
    """About as many tokens as `text` is, rather a few too many than too few; the parts of a text add up to the whole."""
    return sum(map(_cost, _PIECE.findall(text)))


def _cost(piece: str) -> float:
    first = piece[0]
    if piece.isalpha() and piece.isascii():
        return 1 + (len(piece) - 1) // LETTERS_OF_A_TOKEN
    if piece.isdigit():
        return 1 + (len(piece) - 1) // 3
    if piece.isalnum():
        return len(piece) / (MIXED_CHARACTERS_OF_A_TOKEN if piece.isascii() else OTHER_LETTERS_OF_A_TOKEN)
    if first.isspace():
        # A single space belongs to the word behind it.
        return 0 if piece == " " else 1
    return _JOINING_COST if piece in _JOINING else 1 + (len(piece) - 1) // MARKS_OF_A_TOKEN
