"""Which characters hide, steer, or show as something else everywhere: the one table of the cleaner and the scanner.

Each name is the inside of a character class of a pattern.
"""

from __future__ import annotations

CONTROLS = "\x00-\x08\x0b-\x1f\x7f-\x9f"
# Marks that turn the direction of the text.
DIRECTION_MARKS = "\u061c\u200e\u200f"
DIRECTION_TURNS = "\u202a-\u202e\u2066-\u2069"
LINE_SEPARATORS = "\u2028\u2029"
ZERO_WIDTH = "\u00ad\u034f\u180e\u200b\u2060-\u2065\ufeff"
# Letters that look like a space or like nothing.
BLANKS = "\u115f\u1160\u2800\u3164\uffa0"
# Instructions for programs that lay out text; nobody writes them into words.
FORMATTING = "\u17b4\u17b5\u180b-\u180d\u180f\u206a-\u206f\ufff0-\ufffb\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
# Tags, and what has no meaning yet and shows as nothing; each can carry a whole message unseen.
TAGS = "\U000e0000-\U000e00ff\U000e01f0-\U000e0fff"
# Selectors of forms of ideographs that no collection of forms comes to.
ODD_SELECTORS = "\U000e0110-\U000e01ef"
# Every font shows another thing.
PRIVATE_USE = "\ue000-\uf8ff\U000f0000-\U0010ffff"
# Halves of characters, which no encoding can write.
SURROGATES = "\ud800-\udfff"

HIDDEN = f"{CONTROLS}{DIRECTION_MARKS}{DIRECTION_TURNS}{LINE_SEPARATORS}{ZERO_WIDTH}{BLANKS}{FORMATTING}{TAGS}{ODD_SELECTORS}{PRIVATE_USE}{SURROGATES}"

JOINERS = "\u200c\u200d"
SELECTORS = "\ufe00-\ufe0f\U000e0100-\U000e01ef"

# What may be shown in colour or without.
_PICTURES = (
    "\u00a9\u00ae\u203c\u2049\u2100-\u214f\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030\u303d"
    "\u3297\u3299\U0001f000-\U0001faff"
)
_IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Signs and letters that have several forms by the standard: of mathematics, punctuation, Myanmar, Phags-pa, Manichaean.
_SEVERAL_FORMS = f"\u2200-\u22ff\u2a00-\u2aff\u3001\u3002\uff01-\uff1f\u1000-\u109f\uaa60-\uaa7f\ua840-\ua87f\U00010ac0-\U00010aff{_IDEOGRAPHS}"
# Arabic, Syriac, Mongolian, and the scripts of India and its neighbours join letters or keep them apart.
_JOINING = (
    "\u0600-\u060f\u0610-\u061b\u0620-\u06ff\u0700-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af\u1900-\u1cff"
    "\ua840-\ua87f\ua8e0-\ua8ff\ua980-\uaadf\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00010aff\U00011000-\U000117ff\U0001e900-\U0001e95f"
)

# A selector where there is nothing to select, and a joiner where there is nothing to join.
MISPLACED_SELECTOR = (
    f"(?<![{_PICTURES}])[\ufe0e\ufe0f](?!(?<=[#*0-9][\ufe0e\ufe0f])\u20e3)|(?<![{_SEVERAL_FORMS}])[\ufe00-\ufe0d]"
    f"|(?<![{_IDEOGRAPHS}])[\U000e0100-\U000e010f]"
)
MISPLACED_JOINER = (
    f"(?:(?<![{_JOINING}])(?![{JOINERS}][{_JOINING}])|(?<![\\w{_JOINING}])|(?![{JOINERS}][\\w{_JOINING}]))[{JOINERS}]"
    f"(?!(?<=[{_PICTURES}\ufe0f]\u200d)[{_PICTURES}])"
)
