"""What the profiles of a configuration let a client use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from toolcrib.config.profiles import Profile, no_such_profile
from toolcrib.config.settings import Settings
from toolcrib.errors import ConfigurationError, Problem
from toolcrib.model.caller import EVERYTHING, Rights
from toolcrib.model.visible_tool import VisibleTool
from toolcrib.rules.rulebook import RuleBook


class ProfileRights:
    """The rights of each profile; raises ConfigurationError where a rule of one can't be read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._everywhere = settings.profile
        self._by_name = {name: _rights(profile, settings) for name, profile in settings.profiles.items()}
        # Asked at each call, and the same as long as the settings are.
        self._combined: dict[str, Rights] = {}

    def of(self, profile: str = "") -> Rights:
        """What a client with this profile may use; one that is not there any more allows nothing."""
        known = self._combined.get(profile)
        if known is None:
            known = self._combined[profile] = self._work_out(profile)
        return known

    def warnings(self, offered: Mapping[str, Sequence[VisibleTool]]) -> list[str]:
        """What a profile names and nothing known is called: a mistyped rule would keep nothing away."""
        profiles = self._settings.profiles.values()
        return [f"profile {one.name}: {said}" for one in profiles for said in self._idle(one, offered)]

    def _idle(self, profile: Profile, offered: Mapping[str, Sequence[VisibleTool]]) -> Iterator[str]:
        known = [visible for there in offered.values() for visible in there]
        for pattern in profile.servers or ():
            if offered and not any(fnmatchcase(server, pattern) for server in offered):
                yield f"no server is called {pattern}"
        for tag in profile.tags or ():
            if known and not any(tag in visible.tags for visible in known):
                yield f"no known tool has the tag {tag}"
        yield from _rules(profile, self._settings).check([(one.tool.server, one.tool.name) for one in known])

    def _work_out(self, profile: str) -> Rights:
        names = dict.fromkeys(name for name in (self._everywhere, profile) if name)
        rights = EVERYTHING
        for name in names:
            rights = rights.and_also(self._by_name.get(name) or _nothing(name))
        return rights


def check_profile(settings: Settings, profile: str) -> None:
    """Raise the error for a profile that the configuration does not have."""
    if profile and profile not in settings.profiles:
        # The file may be all right: that the option is the wrong one comes first.
        where = f"Profiles are written in {settings.file}." if settings.file else ""
        raise ConfigurationError([Problem("--profile", no_such_profile(profile, settings.profiles))], hint=where)


def _rights(profile: Profile, settings: Settings) -> Rights:
    return Rights(
        servers=profile.servers,
        tags=profile.tags,
        read_only=profile.read_only,
        rules=_rules(profile, settings) if profile.tool_rules else None,
        confirm=profile.confirm,
        label=_label(profile.name),
    )


def _rules(profile: Profile, settings: Settings) -> RuleBook:
    try:
        return RuleBook(profile.tool_rules, settings.rule_precedence)
    except ConfigurationError as error:
        place, source = f"profiles.{profile.name}", str(settings.file or "")
        problems = [replace(one, where=f"{place}.{one.where}", source=source) for one in error.problems]
        raise ConfigurationError(problems) from error


def _nothing(name: str) -> Rights:
    # Nor does it propose anything meanwhile, which the built-in tools can do.
    return Rights(servers=(), read_only=True, label=_label(name))


def _label(name: str) -> str:
    return f"profile {name}"
