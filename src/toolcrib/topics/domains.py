"""What a tool is about, told from the names of its server and of the tool itself."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import islice

from toolcrib.model.snake_case import snake_case

_SUFFIXES = ("-mcp-server", "-server", "-mcp", "-bot", "-api")
# In this order: the first key found in a server's name decides.
_PRIMARY: tuple[tuple[tuple[str, ...], str], ...] = (
    (("github", "gh"), "github"),
    (("slack",), "slack"),
    (("discord",), "discord"),
    (("jira",), "jira"),
    (("confluence",), "confluence"),
    (("notion",), "notion"),
    (("linear",), "linear"),
    (("aws", "amazon"), "cloud.aws"),
    (("gcp", "google"), "cloud.gcp"),
    (("azure",), "cloud.azure"),
    (("postgres", "mysql", "sqlite", "database", "db"), "database"),
    (("file", "filesystem", "fs"), "filesystem"),
    (("http", "fetch", "web"), "web"),
    (("email", "mail", "smtp"), "email"),
    (("calendar", "gcal"), "calendar"),
)
# Found inside other words too often (profile, lighthouse, webhook): these have to be a word of their own.
_WHOLE_WORDS = frozenset({"file", "web", "http", "mail"})
_SHORT_KEY = 3

_ACTIONS = (
    "list get get_all create add update edit delete remove search find read write send post fetch download upload"
).split()
_ACTION_PREFIXES = tuple(sorted((f"{action}_" for action in _ACTIONS), key=len, reverse=True))

_SUB_DOMAINS: dict[str, str] = {
    "branch": "branches",
    "branches": "branches",
    "msg": "messages",
    "msgs": "messages",
    "pr": "pull_requests",
    "prs": "pull_requests",
    "pull_request": "pull_requests",
    "pull_requests": "pull_requests",
    "repo": "repos",
    "repos": "repos",
    "repository": "repos",
    "repositories": "repos",
    "dir": "directories",
    "dirs": "directories",
    "directory": "directories",
    "directories": "directories",
    "folder": "directories",
    "folders": "directories",
} | {
    form: f"{noun}s"
    for noun in (
        "issue commit message channel user team workflow action release tag comment review label milestone file"
    ).split()
    for form in (noun, f"{noun}s")
}

_NOT_A_WORD = re.compile(r"[\W_]+")
_TOPIC = re.compile(r"[a-z][a-z0-9 ]{1,29}")
REMEMBERED = 32_768


@lru_cache(maxsize=REMEMBERED)
def extract_primary_domain(server: str) -> str:
    """The domain a server's name stands for, else the name itself, dotted."""
    name = server.rpartition("/")[2]
    words = _without_suffixes(snake_case(name))
    cleaned = _without_suffixes(_NOT_A_WORD.sub("_", name.lower()).strip("_"))
    for keys, domain in _PRIMARY:
        if any(_names(key, cleaned, words) for key in keys):
            return domain
    return cleaned.replace("_", ".")


@lru_cache(maxsize=REMEMBERED)
def extract_sub_domain(tool: str) -> str | None:
    """What a tool's action is done to; None where its name does not begin with a known action."""
    name = snake_case(tool)
    for prefix in _ACTION_PREFIXES:
        if name.startswith(prefix):
            thing = name.removeprefix(prefix)
            return _SUB_DOMAINS.get(thing, thing.replace("_", "."))
    return None


def infer_domains(server: str, tool: str) -> list[str]:
    """The domain of the server, then the narrower one of the tool where its name tells it."""
    primary, sub = extract_primary_domain(server), extract_sub_domain(tool)
    return [primary] if sub is None else [primary, f"{primary}.{sub}"]


def domain_matches(wanted: str, domain: str) -> bool:
    """Whether a domain is the wanted one, within it, or around it."""
    return wanted == domain or domain.startswith(f"{wanted}.") or wanted.startswith(f"{domain}.")


def topics(tools: Iterable[str], most: int = 4) -> list[str]:
    """What tools of these names are about, in words, the most frequent first; names that are no plain words are left out."""
    found = Counter(sub for tool in tools if (sub := extract_sub_domain(tool)) is not None)
    spoken = (re.sub(r"[._]", " ", sub) for sub, _ in found.most_common())
    return list(islice((topic for topic in spoken if _TOPIC.fullmatch(topic)), most))


def _without_suffixes(name: str) -> str:
    """The name less what says only that it is a server."""
    for _ in range(len(_SUFFIXES)):
        for suffix in _SUFFIXES:
            ending = suffix.replace("-", "_")
            if name.endswith(ending) and name != ending:
                name = name.removesuffix(ending)
                break
    return name


def _names(key: str, cleaned: str, words: str) -> bool:
    if len(key) <= _SHORT_KEY or key in _WHOLE_WORDS:
        return key in words.split("_") or key in cleaned.split("_")
    return key in cleaned
