"""A long request taken apart into the intents it is made of."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

MOST_CLAUSES = 3
_FEWEST_WORDS = 3
# Of a text longer than this the encoder reads only beginnings: what a long story leads up to stands alone, to be read.
_LONG_STORY = 1_000
# After "and" or a comma, these begin another intent; other words go on with the same one ("white and black").
_VERBS = frozenset(
    """
    get give find provide check create send tell list show fetch retrieve calculate compute search look suggest recommend
    help make add update delete remove set schedule book order buy translate convert generate analyze analyse compare
    determine identify explain describe save write read open run upload download share post publish play track monitor
    estimate predict validate verify record notify register submit obtain summarize summarise sort filter plan display
    take refund email mail commit push pull close log cancel invite draft reply rename move copy export import merge deploy
    start stop restart pay charge transfer approve assign archive attach message remind turn switch put
    load unblock subscribe unsubscribe follow unfollow enable disable activate deactivate configure install uninstall upgrade
    edit modify append insert replace extract parse crop resize rotate compress encrypt decrypt forward browse navigate click
    visit crawl scrape execute launch build compile clone rebase revert reset restore sync visualize visualise render draw
    evaluate solve classify detect transcribe rewrite paraphrase proofread confirm connect disconnect join reserve reschedule
    purchase highlight annotate apply reject decline accept dismiss ban mute pause resume skip lock unlock organize organise
    prepare gather collect choose pick locate tweet
""".split()
)
# These too, if they have an object: else they are rather names of things ("cast and plot").
_NOUNS = frozenset(
    "chart plot block store mark pin tag label format query scan report test review graph fork reboot ping like rate".split()
)
_OBJECTS = frozenset(
    "a an the it them this that these those him her me my our your his their all each every any".split()
)
# After "and" these do too.
_OTHERS = frozenset(
    "let see know include could can would please what how when where who which is are also then i we".split()
)
_ASKING = frozenset(
    "first firstly next then also finally please kindly can could would will you i we i'd like want need to me help".split()
)
# What always parts intents, and what does only before a word that begins one. Patterns of all the verbs would take ten
# milliseconds to compile, of every command that searches.
_JOINT = re.compile(
    r"(?P<always>(?<=[.!?;]) "
    r"|,? (?:and then|then|also|after that|afterwards|as well as|additionally|furthermore|moreover|finally),? )"
    r"|(?P<word>,? (?:and|or|but|plus)(?= ))|(?P<comma>,(?= ))|(?P<sign> &(?= ))",
    re.IGNORECASE,
)
_FIRST_WORDS = re.compile(r"(\w+)(?: (\w+)\b)?")


def clauses(text: str) -> list[str]:
    """Up to three parts of a request that asks for several things, in order; none where it is one intent."""
    parts = _intents([part.strip(" ,.;") for part in _parted(" ".join(text.split()))])
    alone = 1 if len(text) > _LONG_STORY else 0
    while len(parts) > MOST_CLAUSES:
        # The two neighbours that are shortest together stand as one.
        first = min(range(len(parts) - 1 - alone), key=lambda place: len(parts[place]) + len(parts[place + 1]))
        parts[first : first + 2] = [f"{parts[first]}. {parts[first + 1]}"]
    return parts if len(parts) > 1 else []


def want_tools_each(parts: list[str]) -> bool:
    """Whether clauses are likely intents for a tool each; two that are not both commands are often one intent and a story."""
    return len(parts) == MOST_CLAUSES or (len(parts) > 1 and all(map(_is_command, parts)))


def _parted(text: str) -> Iterator[str]:
    start = 0
    for joint in _JOINT.finditer(text):
        if joint.start() >= start and _begins_anew(joint):
            yield text[start : joint.start()]
            start = _following(joint)
    yield text[start:]


def _begins_anew(joint: re.Match[str]) -> bool:
    kind, text, following = joint.lastgroup, joint.string, _following(joint)
    if kind == "always":
        return True
    # A capital after "&" is a name: "Pack & Send".
    if kind == "sign" and not text[following : following + 1].islower():
        return False
    return _begins_intent(text, following, () if kind == "comma" else _OTHERS)


def _following(joint: re.Match[str]) -> int:
    """Where the text goes on; some joints leave the space behind them, with which another may begin."""
    return joint.end() if joint.lastgroup == "always" else joint.end() + 1


def _begins_intent(text: str, place: int = 0, others: Container[str] = ()) -> bool:
    """Whether a verb stands at a place of a text, one that may be a noun only with an object, or one of the other words."""
    found = _FIRST_WORDS.match(text, place)
    if found is None:
        return False
    first, second = found[1].lower(), (found[2] or "").lower()
    return first in _VERBS or first in others or (first in _NOUNS and second in _OBJECTS)


def _is_command(part: str) -> bool:
    """Whether a clause begins with a verb, whatever polite words stand before it."""
    words = part.split(" ")
    for place in range(len(words)):
        if _begins_intent(" ".join(words[place:])):
            return True
        if words[place].rstrip(",").lower() not in _ASKING:
            return False
    return False


def _intents(parts: list[str]) -> list[str]:
    """The parts that say what to do; one or two words ("push") only beside longer intents, for "add or remove" is one."""
    wordy = [part for part in parts if _is_wordy(part)]
    if len(wordy) < 2:
        return wordy
    return [part for part in parts if _is_wordy(part) or _begins_intent(part)]


def _is_wordy(part: str) -> bool:
    return part.count(" ") >= _FEWEST_WORDS - 1
