"""A long request taken apart into the wishes it is made of."""

from __future__ import annotations

import re

MOST_CLAUSES = 3
_FEWEST_WORDS = 3
# Of a text longer than this the encoder reads only beginnings: what a long story leads up to stands alone, to be read.
_LONG_STORY = 1_000
# After "and" or a comma, these begin another wish; other words go on with the same one ("white and black").
_VERBS = """
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
"""
# These too, if they have an object: else they are rather names of things ("cast and plot").
_NOUNS = (
    "chart plot block store mark pin tag label format query scan report test review graph fork reboot ping like rate"
)
_OBJECT = "(?:a|an|the|it|them|this|that|these|those|him|her|me|my|our|your|his|their|all|each|every|any)"
# After "and" these do too.
_OTHERS = "let see know include could can would please what how when where who which is are also then i we"
_VERB = "|".join((*_VERBS.split(), rf"(?:{'|'.join(_NOUNS.split())}) {_OBJECT}"))
_BEGINNING = "|".join((_VERB, *_OTHERS.split()))
_JOINTS = re.compile(
    r"(?<=[.!?;]) "
    r"|,? (?:and then|then|also|after that|afterwards|as well as|additionally|furthermore|moreover|finally),? "
    rf"|,? (?:and|or|but|plus) (?=(?:{_BEGINNING})\b)"
    rf"|, (?=(?:{_VERB})\b)"
    # Not in names: "Pack & Send".
    rf"| & (?=(?-i:[a-z]))(?=(?:{_BEGINNING})\b)",
    re.IGNORECASE,
)
_WISH = re.compile(rf"(?:{_VERB})\b", re.IGNORECASE)
_ASKING = (
    "first firstly next then also finally please kindly can could would will you i we i'd like want need to me help"
)
_ASKED = re.compile(rf"(?:(?:{'|'.join(_ASKING.split())}),? )*(?:{_VERB})\b", re.IGNORECASE)


def clauses(text: str) -> list[str]:
    """Up to three parts of a request that asks for several things, in order; none where it is one wish."""
    parts = _wishes([part.strip(" ,.;") for part in _JOINTS.split(" ".join(text.split()))])
    alone = 1 if len(text) > _LONG_STORY else 0
    while len(parts) > MOST_CLAUSES:
        # The two neighbours that are shortest together stand as one.
        first = min(range(len(parts) - 1 - alone), key=lambda place: len(parts[place]) + len(parts[place + 1]))
        parts[first : first + 2] = [f"{parts[first]}. {parts[first + 1]}"]
    return parts if len(parts) > 1 else []


def want_tools_each(parts: list[str]) -> bool:
    """Whether clauses are likely wishes for a tool each; two that are not both commands are often one wish and a story."""
    return len(parts) == MOST_CLAUSES or (len(parts) > 1 and all(_ASKED.match(part) for part in parts))


def _wishes(parts: list[str]) -> list[str]:
    """The parts that say what to do; one or two words ("push") only beside longer wishes, for "add or remove" is one."""
    wordy = [part for part in parts if _is_wordy(part)]
    if len(wordy) < 2:
        return wordy
    return [part for part in parts if _is_wordy(part) or _WISH.match(part)]


def _is_wordy(part: str) -> bool:
    return part.count(" ") >= _FEWEST_WORDS - 1
