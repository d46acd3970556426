"""What is replaced in foreign words, and what belongs to a script or an emoji and stays."""

import pytest

from toolcrib.model.clean_text import clean, clean_words, escape_unsafe


@pytest.mark.parametrize(
    "words",
    [
        "❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3 ©\ufe0f ↔\ufe0f",
        "👨\u200d👩\u200d👧 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 ❤\ufe0f\u200d🔥",
        "葛\U000e0100城",
        "∩\ufe00 、\ufe00",
        "\u0645\u06cc\u200c\u062e\u0648 API\u200c\u0647\u0627",
        "क्\u200dष",
    ],
)
def test_what_belongs_to_a_script_or_an_emoji_stays(words: str) -> None:
    assert clean(words) == clean_words(words) == escape_unsafe(words) == words


@pytest.mark.parametrize(
    "hidden",
    [
        *("é\ufe01", "e\ufe0f", "1\ufe0f", " \ufe0f", "❤\ufe0f\ufe0f", "❤\ufe01", "e\U000e0100", "葛\U000e0110"),
        *(
            "字\u200c字",
            "é\u200dé",
            "a\u200db",
            "👩\u200da",
            "می\u200c ",
            "\ue000",
            "\U000f0000",
            "\U0010fffd",
            "\u206a",
            "\U00013430",
        ),
    ],
)
def test_what_selects_or_joins_nothing_and_private_characters_are_replaced(hidden: str) -> None:
    assert "\ufffd" in clean(hidden)
    assert "\ufffd" in clean_words(hidden)
    assert "\\u" in escape_unsafe(hidden)
