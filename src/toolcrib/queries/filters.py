"""Narrowing a search to a domain, a category, a kind or a pattern of names, by options or by words of the query."""

from __future__ import annotations

import re
from dataclasses import dataclass

from toolcrib.errors import ValidationError
from toolcrib.model.items import ITEM_KINDS
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.rules.name_patterns import NamePatterns, name_patterns
from toolcrib.topics.categories import CATEGORIES, infer_categories
from toolcrib.topics.domains import domain_matches, infer_domains
from toolcrib.workspace.catalog_view import CatalogView

KINDS = ("tool", *ITEM_KINDS)
_FILTER_WORD = re.compile(r"(?:^|(?<=\s))(domain|category|kind):(\S+)")


@dataclass(frozen=True, slots=True)
class ToolFilter:
    """Lets tools of one domain and one category pass, and of names that fit; what is None does not matter.

    `kinds` are those of what is no tool, too; without them a filter is about tools, unless it is one of names.
    """

    domain: str | None = None
    category: str | None = None
    names: NamePatterns | None = None
    kinds: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls,
        domain: str | None,
        category: str | None,
        names: NamePatterns | None = None,
        kind: str | None = None,
    ) -> ToolFilter:
        """The filter, with words spelled as people do (`GitHub`, `read`); an unknown category is refused."""
        spelled = domain.strip(" .").lower() if domain else None
        named = category_named(category) if category else None
        return cls(spelled, named, names, kinds_named(kind) if kind else frozenset())

    def __bool__(self) -> bool:
        return bool(self.kinds) or any(one is not None for one in (self.domain, self.category, self.names))

    def __call__(self, visible: VisibleTool) -> bool:
        server, name, kind = visible.tool.server, visible.upstream_name, visible.tool.kind
        if kind not in self.kinds if self.kinds else kind != "tool" and self.names is None:
            return False
        if self.names is not None and not self.names.fit(server, visible.tool.name):
            return False
        if self.category is not None and self.category not in infer_categories(name):
            return False
        wanted = self.domain
        return wanted is None or domain_matches(wanted, infer_domains(server, name)[-1])


def split_query(query: str, domain: str | None, category: str | None, view: CatalogView) -> tuple[str, ToolFilter]:
    """The words to search for and the filter: `domain:github category:read issues` narrows like the two options do.

    Words that are all patterns, such as `*issue*` or `/^git_/`, are meant for names: then there are no words left.
    """
    options = {"domain": domain, "category": category, "kind": None}
    # A server may be called "domain": then `domain:lookup` is the name of a tool.
    names = [name for name, value in options.items() if value is None and not view.knows(name)]

    def take(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name not in names or options[name] is not None:
            return str(found[0])
        options[name] = value
        return ""

    words = " ".join(_FILTER_WORD.sub(take, query).split()) if ":" in query else query
    patterns = name_patterns(words)
    passes = ToolFilter.of(options["domain"], options["category"], patterns, options["kind"])
    return "" if patterns else words, passes


def kinds_named(given: str) -> frozenset[str]:
    """The kinds a person means: a template is a resource too; raises ValidationError for an unknown one."""
    name = given.strip().lower().removesuffix("s")
    if name not in KINDS:
        raise ValidationError(f"unknown kind {given[:40]!r}; there are {', '.join(KINDS)}")
    return frozenset({name, "template"} if name == "resource" else {name})


def category_named(given: str) -> str:
    """The category a person means: `read` is crud.read; raises ValidationError, with all there are, for an unknown one."""
    name = given.strip().lower()
    for known in (name, f"crud.{name}"):
        if known in CATEGORIES:
            return known
    raise ValidationError(f"unknown category {given[:40]!r}; there are {', '.join(CATEGORIES)}")
