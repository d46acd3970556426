from __future__ import annotations

import pytest

from tests.config.conftest import Machine, write
from toolcrib.config.profiles import Profile
from toolcrib.errors import ConfigurationError
from toolcrib.model.tool_rule import ToolRule


def test_a_profile_says_servers_tags_rules_and_whether_it_may_write(machine: Machine) -> None:
    settings = machine.load_data(
        {
            "profiles": {
                "work": {"servers": ["git*"], "tags": ["safe"], "readOnly": True},
                "home": {"toolRules": [{"pattern": "*delete*", "enabled": False}]},
            },
            "profile": "home",
        }
    )

    assert settings.profile == "home"
    assert settings.profiles == {
        "work": Profile("work", servers=("git*",), tags=("safe",), read_only=True),
        "home": Profile("home", tool_rules=(ToolRule(("*delete*",), enabled=False),)),
    }


@pytest.mark.parametrize(
    ("profiles", "where"),
    [
        ([], "profiles"),
        ({"work": ["github"]}, "profiles.work"),
        ({"work": {"readonly": True}}, "profiles.work.readonly"),
        ({"work": {"readOnly": "yes"}}, "profiles.work.readOnly"),
        ({"work": {"servers": "github"}}, "profiles.work.servers"),
        ({"work": {"confirm": "always"}}, "profiles.work.confirm"),
        ({"work": {"toolRules": [{"pattern": "x", "confirm": True}]}}, "profiles.work.toolRules[0].confirm"),
        ({"work": {"toolRules": [{"enabled": False}]}}, "profiles.work.toolRules[0].pattern"),
    ],
)
def test_a_profile_that_can_not_be_read_refuses_the_file(machine: Machine, profiles: object, where: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        machine.load_data({"profiles": profiles})

    assert [problem.where for problem in refusal.value.problems] == [where]


def test_an_unknown_profile_is_an_error_that_names_the_one_meant(machine: Machine) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        machine.load_data({"profiles": {"work": {}}, "profile": "wrok"})

    (problem,) = refusal.value.problems
    assert (problem.where, problem.message) == ("profile", "there is no profile 'wrok'; did you mean 'work'?")


def test_a_project_may_choose_a_profile_of_the_person_and_not_change_it(machine: Machine) -> None:
    own = write(machine.paths.config_dir / "toolcrib.yaml", "profiles: {work: {servers: [github]}}")
    project = write(machine.cwd / "toolcrib.yaml", "profile: work\nprofiles: {work: {}, mine: {readOnly: true}}")
    machine.trusted.trust(project)

    settings = machine.load()

    assert (settings.file, settings.profile) == (project, "work")
    assert settings.profiles == {
        "work": Profile("work", servers=("github",)),
        "mine": Profile("mine", read_only=True),
    }
    assert own in settings.watched_files
