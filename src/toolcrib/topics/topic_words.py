"""What the tools of a server are about, told in plain words of our own.

The gateway's instructions stand where clients trust every word, and names of tools are strangers' words: only what is in
this list gets there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from toolcrib.model.snake_case import snake_case
from toolcrib.topics.domains import REMEMBERED

# As they are shown; their singular is understood too.
_NOUNS = """
accounts activities addresses agents albums alerts analytics annotations articles artists assets attachments audio
backups balances blocks boards bookings bookmarks books branches browsers budgets buckets builds bugs calendars calls
campaigns candidates cards carts categories channels characters charts chats chemicals clusters code coins comments
commits companies components conferences contacts containers contracts conversations courses currencies customers
dashboards data databases datasets deals definitions deployments designs devices diagrams diffs directories discounts
documents domains drafts drugs elements emails embeddings employees entities entries environments episodes events
exchanges exercises expenses experiments feeds fields files flights folders followers forecasts forms formulas functions
games genes graphs groups habits hotels hosts images incidents indexes ingredients invoices issues items jobs journals
keys keywords knowledge labels languages layers leads lessons libraries licenses links listings locations logs loans
maps markets matches matrices meals measurements meetings members memories merges messages metadata metrics milestones
models molecules monitors movies music networks news nodes notebooks notes notifications objects observations offers
orders organizations packages pages papers passwords patients payments payrolls people permissions photos pipelines
places players playlists podcasts policies polls portfolios positions posts prices printers processes products profiles
projects properties proteins publications purchases queries queues questions quotes reactions receipts recipes records
recordings refunds relations releases reminders replies reports repositories reservations resources reviews risks roles
rooms routes rows rules runs sales schedules schemas scores screenshots secrets segments sensors sentiment services
sessions sheets shipments sites slides snapshots songs spaces speakers spreadsheets sprints stations statistics views
stories streams studies subscriptions subtitles summaries surveys tables tags tasks taxes teams templates tenants tests
text themes threads tickets tides time timelines timers todos topics tokens tracks trades traffic trains transactions
transcripts transfers translations trends trips users variables vectors vehicles vendors versions videos voices volumes
vulnerabilities wallets warehouses weather webhooks websites wikis words workflows workouts workspaces zones
"""
# What says the same in another way: short forms, and acts that have only one object.
_SAME = {
    "repo": "repositories",
    "repos": "repositories",
    "pr": "pull requests",
    "prs": "pull requests",
    "msg": "messages",
    "msgs": "messages",
    "dir": "directories",
    "dirs": "directories",
    "db": "databases",
    "doc": "documents",
    "docs": "documents",
    "documentation": "documents",
    "mail": "emails",
    "img": "images",
    "picture": "images",
    "sql": "databases",
    "diff": "diffs",
    "checkout": "branches",
    "fetch": "web pages",
    "crawl": "web pages",
    "scrape": "web pages",
    "browse": "web pages",
    "navigate": "web pages",
    "web": "web pages",
    "webpage": "web pages",
    "html": "web pages",
    "url": "web pages",
    "screenshot": "screenshots",
    "translate": "translations",
    "transcribe": "transcripts",
    "geocode": "places",
    "directions": "routes",
    "deploy": "deployments",
    "timezone": "time zones",
    "todo": "todos",
    "crypto": "currencies",
    "ticker": "views",
    "person": "people",
    "tweet": "posts",
    "tweets": "posts",
    "matrix": "matrices",
    "index": "indexes",
    "wiki": "wikis",
}
_PAIRS = {
    ("pull", "request"): "pull requests",
    ("pull", "requests"): "pull requests",
    ("merge", "request"): "merge requests",
    ("merge", "requests"): "merge requests",
    ("time", "zone"): "time zones",
    ("search", "code"): "code",
}


# At the beginning of a name they say what is done, not what it is done to.
_ACTS = frozenset(
    "book call exchange fetch link match merge monitor order place post process query record reply report run schedule"
    " stream test time track trade transfer version".split()
)


def known_topics(tools: Iterable[str], most: int) -> list[str]:
    """What tools of these names are about, the most frequent first."""
    found = Counter(topic for tool in tools for topic in _topics_of(tool))
    return [topic for topic, _ in found.most_common(most)]


@lru_cache(maxsize=REMEMBERED)
def _topics_of(tool: str) -> tuple[str, ...]:
    words = snake_case(tool).split("_")
    words = words[1:] if len(words) > 1 and words[0] in _ACTS else words
    pairs = [_PAIRS[pair] for pair in pairwise(words) if pair in _PAIRS]
    taken = {word for topic in pairs for word in topic.split()}
    single = [topic for word in words if (topic := _known().get(word)) and not taken & {word, topic}]
    return tuple(dict.fromkeys([*pairs, *single]))


@lru_cache(maxsize=1)
def _known() -> dict[str, str]:
    """The topic that a word of a tool's name stands for."""
    nouns = _NOUNS.split()
    return {form: noun for noun in nouns for form in (noun, _singular(noun))} | _SAME


def _singular(noun: str) -> str:
    if noun.endswith("ies"):
        return f"{noun[:-3]}y"
    if noun.endswith(("sses", "ches", "shes", "xes")):
        return noun[:-2]
    return noun.removesuffix("s")
