"""The line with which honest programs are installed: it pipes a download into a shell, as attacks do, but asks no model to."""

from __future__ import annotations

import re

from toolcrib.scanner.texts import Text

_COMMAND = re.compile(
    r"(?:curl|wget)\b[^\n|;]{0,200}\bhttps://(?![\d.:]+[/\s])[^\n|;]{0,200}\| ?(?:sudo )?(?:ba|z)?sh$"
)
_INSTALLS = re.compile(r"\b(?:install(?:s|ed|ing|ation)?|prerequisites?|requirements?|set[- ]?up)\b")
# What is no advice to a person, or has more to hide than an installation.
_MEANT_FOR_A_MODEL = re.compile(
    r"\b(?:agents?|assistants?|models?|ai|llm|must|always|each|every|without|silently|secretly|quietly|never|do not|don't|user's|the user|fails?|failed|execute|shell tool"
    r"|terminal tool|on the host|before (?:you|using|calling|the (?:first )?call|any|it))\b"
)
_BEFORE, _AFTER = 160, 120


def is_install_line(text: Text, form: str, found: re.Match[str]) -> bool:
    """Whether a command stands in advice on how to install something, outside of what a model fills in."""
    if text.is_about_parameter or text.is_value or not _COMMAND.search(found[0]):
        return False
    before = form[max(0, found.start() - _BEFORE) : found.start()]
    around = before + form[found.end() : found.end() + _AFTER]
    return _INSTALLS.search(before) is not None and _MEANT_FOR_A_MODEL.search(around) is None
