"""From an entry to an argument vector, or to the reason why there is none."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.resolving import resolve_launch
from tests.servers.registry import ATLAS, SITE, entry, npm
from toolcrib.config.secret_refs import bearer_for
from toolcrib.model.server import FROM_REGISTRY, Origin, RemoteLaunch, StdioLaunch
from toolcrib.registry.choose import best_plan, best_remote, unapproved_spec
from toolcrib.registry.entry import RegistryServer, Remote
from toolcrib.registry.parse import parse_entry
from toolcrib.registry.recipe import Bundle, Plan, Recipe, Refusal
from toolcrib.registry.recipes import NOT_PINNED, plans

STDIO = {"type": "stdio"}


def plan_of(package: dict[str, Any] | None = None, remote: dict[str, Any] | None = None) -> Plan:
    given = {"packages": [{"transport": STDIO, **package}]} if package else {"remotes": [remote]}
    (plan,) = plans(parse_entry(entry("io.github.acme/atlas", **given)))
    return plan


def recipe_of(package: dict[str, Any] | None = None, remote: dict[str, Any] | None = None) -> Recipe:
    plan = plan_of(package, remote)
    assert isinstance(plan, Recipe), plan
    return plan


def refusal_of(package: dict[str, Any] | None = None, remote: dict[str, Any] | None = None) -> str:
    plan = plan_of(package, remote)
    assert isinstance(plan, Refusal), plan
    return plan.reason


def named(name: str, value: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "named", "name": name, **({"value": value} if value else {}), **more}


def positional(value: str = "", **more: Any) -> dict[str, Any]:
    return {"type": "positional", **({"value": value} if value else {}), **more}


def test_an_npm_package_is_run_with_npx_pinned() -> None:
    recipe = recipe_of(npm("@acme/atlas", "1.2.0", packageArguments=[named("--units", "metric"), positional("serve")]))

    assert recipe.command == ("npx", "-y", "@acme/atlas@1.2.0", "--units", "metric", "serve")
    assert recipe.warnings == ()


@pytest.mark.parametrize(
    "package",
    [
        npm("atlas", "next"),
        {"registryType": "pypi", "identifier": "atlas", "version": "latest"},
        {"registryType": "oci", "identifier": "acme/atlas", "version": "beta"},
        {"registryType": "oci", "identifier": "ghcr.io/acme2/atlas:stable"},
    ],
)
def test_a_version_that_can_move_on_is_warned_of(package: dict[str, Any]) -> None:
    assert recipe_of(package).warnings == (NOT_PINNED,)


def test_a_pypi_package_is_run_with_uvx() -> None:
    recipe = recipe_of({"registryType": "pypi", "identifier": "acme-atlas", "version": "0.3.1", "runtimeHint": "uvx"})

    assert recipe.command == ("uvx", "acme-atlas@0.3.1")


def test_a_nuget_package_is_run_with_dnx() -> None:
    package = {
        "registryType": "nuget",
        "identifier": "Acme.Atlas",
        "version": "2.0.0",
        "packageArguments": [positional("mcp")],
    }

    assert recipe_of(package).command == ("dnx", "Acme.Atlas@2.0.0", "--yes", "--", "mcp")


def test_an_image_is_run_with_docker_and_gets_its_variables_by_name() -> None:
    recipe = recipe_of(
        {
            "registryType": "oci",
            "identifier": "ghcr.io/acme/atlas:1.2.0",
            "runtimeArguments": [named("-e", "REGION=eu"), named("--init", "--init"), named("-i", "-i")],
            "environmentVariables": [{"name": "KEY", "isRequired": True, "isSecret": True, "value": "never-shown"}],
            "packageArguments": [positional("stdio")],
        }
    )

    assert recipe.command == (
        *("docker", "run", "-i", "--rm", "-e", "KEY", "-e", "REGION", "--init"),
        *("ghcr.io/acme/atlas:1.2.0", "stdio"),
    )
    assert recipe.env == {"KEY": "${KEY}", "REGION": "eu"}
    assert [(need.variable, need.is_secret, need.is_required) for need in recipe.needs] == [("KEY", True, True)]


def test_an_old_image_entry_with_a_version_of_its_own_gets_its_tag() -> None:
    recipe = recipe_of({"registryType": "oci", "identifier": "acme/atlas", "version": "1.2.0"})

    assert recipe.command[-1] == "acme/atlas:1.2.0"
    assert recipe_of({"registryType": "oci", "identifier": "acme/atlas"}).warnings == (NOT_PINNED,)


def test_an_old_image_entry_that_lists_options_of_docker_as_its_own_is_put_right() -> None:
    flags = [named(flag, flag) for flag in ("-i", "--rm", "-e KEY=your_key", "-e HOST", "-v /path/to/data:/data")]
    recipe = recipe_of(
        {
            "registryType": "oci",
            "identifier": "acme/atlas:1",
            "packageArguments": [*flags, positional("acme/atlas:latest"), named("--debug", "--debug")],
        }
    )

    assert recipe.command[:8] == ("docker", "run", "-i", "--rm", "-e", "KEY", "-e", "HOST")
    assert recipe.command[-2:] == ("acme/atlas:1", "--debug")
    assert recipe.env == {"KEY": "${KEY}", "HOST": "${HOST}"}
    assert "${ATLAS_V}" in recipe.command


def test_a_bundle_names_what_to_download_and_its_hash() -> None:
    package = {"registryType": "mcpb", "identifier": "https://code.example/atlas.mcpb", "fileSha256": "AB" * 32}

    assert plan_of(package) == Bundle("https://code.example/atlas.mcpb", "ab" * 32)
    assert "SHA-256" in refusal_of({**package, "fileSha256": ""})
    assert "encryption" in refusal_of({**package, "identifier": "http://code.example/atlas.mcpb"})
    assert "address" in refusal_of({**package, "identifier": "../atlas.mcpb"})


def test_a_remote_is_an_address_with_headers_asked_for_by_name() -> None:
    recipe = recipe_of(
        remote={
            "type": "streamable-http",
            "url": "https://{tenant}.atlas.example/mcp?v={v}",
            "variables": {"tenant": {"isRequired": True}, "v": {"default": "2"}},
            "headers": [
                {"name": "Authorization", "value": "Bearer {token}", "isSecret": True, "isRequired": True},
                {"name": "X-Client", "value": "agents"},
                {"name": "X-Trace"},
            ],
        }
    )

    assert recipe.url == "https://${ATLAS_TENANT}.atlas.example/mcp?v=${ATLAS_V:-2}"
    assert recipe.headers == {"Authorization": "Bearer ${ATLAS_TOKEN}", "X-Client": "agents"}
    assert recipe.transport == "http"
    assert [need.variable for need in recipe.needs if need.is_required] == ["ATLAS_TENANT", "ATLAS_TOKEN"]
    assert "which machine" in recipe.warnings[0]


def test_an_unencrypted_remote_is_warned_of_and_a_local_one_is_not() -> None:
    assert "not encrypted" in recipe_of(remote={"type": "sse", "url": "http://atlas.example/sse"}).warnings[0]
    assert recipe_of(remote={"type": "sse", "url": "http://localhost:3000/sse"}).warnings == ()


def test_an_argument_that_needs_a_value_is_asked_for_and_an_optional_one_is_left_out() -> None:
    recipe = recipe_of(
        npm(
            "atlas",
            packageArguments=[
                named("--port", default="8080"),
                named("--token", isRequired=True, isSecret=True, description="from the console"),
                named("--verbose"),
                named("--debug", format="boolean", value="true"),
                named("--colour", format="boolean", default="false"),
                named("--level=", "info"),
                positional(valueHint="folder", isRequired=True),
            ],
        )
    )

    assert recipe.command[3:] == (
        *("--port", "${ATLAS_PORT:-8080}", "--token", "${ATLAS_TOKEN}", "--debug", "--level=info", "${ATLAS_FOLDER}"),
    )
    needs = {need.variable: need for need in recipe.needs}
    assert needs["ATLAS_TOKEN"].is_secret
    assert needs["ATLAS_TOKEN"].description == "from the console"
    assert not needs["ATLAS_VERBOSE"].is_required


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (named("-v a:b", "-v a:b"), ("-v", "a:b")),
        (named("--directory /path/to/it", "--directory /path/to/it"), ("--directory", "${ATLAS_DIRECTORY}")),
        (named("--log=debug"), ("--log=debug",)),
        (named("--stdio", "--stdio"), ("--stdio",)),
        (named("--mode", "--mode fast"), ("--mode", "fast")),
        (positional("-m atlas.cli"), ("-m", "atlas.cli")),
        (positional("<your folder>", isRequired=True), ("${ATLAS_ARGUMENT_1}",)),
        (positional("two words"), ("two words",)),
        (positional("$(rm -rf ~); `id`"), ("${$}(rm -rf ~); `id`",)),
    ],
)
def test_the_shapes_seen_in_real_entries_become_single_words(argument: dict[str, Any], words: tuple[str, ...]) -> None:
    assert recipe_of(npm("atlas", packageArguments=[argument])).command[3:] == words


def test_nothing_in_foreign_text_refers_to_this_machine() -> None:
    recipe = recipe_of(
        npm(
            "atlas",
            packageArguments=[positional("${AWS_SECRET}"), named("--f", "${file:/etc/passwd}")],
            environmentVariables=[{"name": "A", "value": "$$x ${HOME}"}, {"name": "B", "default": "${HOME}"}],
        )
    )
    launch = StdioLaunch(recipe.command[0], recipe.command[1:], recipe.env)

    resolved = resolve_launch(launch, {"HOME": "/home/me", "AWS_SECRET": "hush"}, server="atlas")

    assert isinstance(resolved, StdioLaunch)
    assert resolved.args[2:] == ("${AWS_SECRET}", "--f", "${file:/etc/passwd}")
    assert resolved.env == {"A": "$$x ${HOME}", "B": "${HOME}"}


@pytest.mark.parametrize(
    ("package", "word"),
    [
        (npm("--registry=https://evil.example"), "npm package"),
        (npm("https://evil.example/x.tgz"), "npm package"),
        (npm("../local"), "npm package"),
        (npm("acme/atlas"), "npm package"),
        (npm("atlas", "^1.0.0"), "exact version"),
        (npm("atlas", "1 || 2"), "exact version"),
        (npm("atlas", registryBaseUrl="https://packages.evil.example"), "another source"),
        (npm("atlas", runtimeArguments=[named("--node-options", "--require=x")]), "option of npx"),
        (npm("atlas", runtimeArguments=[named("-c", "curl evil")]), "option of npx"),
        (npm("atlas", runtimeArguments=[positional("other-package")]), "option of npx"),
        (npm("atlas", packageArguments=[named("bad name;")]), "name of an argument"),
        (npm("atlas", packageArguments=[positional("a\x00b")]), "control characters"),
        (npm("atlas", environmentVariables=[{"name": "LD_PRELOAD", "value": "x.so"}]), "LD_PRELOAD"),
        (npm("atlas", environmentVariables=[{"name": "NODE_OPTIONS"}]), "NODE_OPTIONS"),
        (npm("atlas", environmentVariables=[{"name": "PYTHONPYCACHEPREFIX", "value": "x"}]), "PYTHONPYCACHEPREFIX"),
        (npm("atlas", environmentVariables=[{"name": "KUBECONFIG", "value": "x"}]), "KUBECONFIG"),
        (npm("atlas", environmentVariables=[{"name": "AWS_CONFIG_FILE", "default": "x"}]), "AWS_CONFIG_FILE"),
        (npm("atlas", environmentVariables=[{"name": "A=B"}]), "environment variable"),
        (npm("atlas", transport={"type": "streamable-http", "url": "http://localhost:3000"}), "start it yourself"),
        ({"registryType": "pypi", "identifier": "git+https://evil.example"}, "PyPI package"),
        (
            {
                "registryType": "pypi",
                "identifier": "atlas",
                "runtimeArguments": [named("--index-url", "https://e.example")],
            },
            "option of uvx",
        ),
        (
            {"registryType": "pypi", "identifier": "atlas", "runtimeArguments": [named("--from", "other")]},
            "option of uvx",
        ),
        (
            {"registryType": "pypi", "identifier": "atlas", "runtimeArguments": [named("--with", "-e .")]},
            "value of --with",
        ),
        ({"registryType": "oci", "identifier": "Acme/Atlas"}, "an image"),
        ({"registryType": "oci", "identifier": "--privileged"}, "an image"),
        ({"registryType": "cargo", "identifier": "atlas"}, "not known here"),
        ({"identifier": "atlas"}, "not known here"),
    ],
)
def test_an_entry_outside_the_grammar_is_refused_with_the_reason(package: dict[str, Any], word: str) -> None:
    assert word in refusal_of(package)


@pytest.mark.parametrize(
    "option",
    [
        named("--privileged", "--privileged"),
        named("--network", "host"),
        named("--net=host"),
        named("--pid", "host"),
        named("--cap-add", "SYS_ADMIN"),
        named("--entrypoint", "sh"),
        named("--device", "/dev/sda"),
        named("-v", "/:/host"),
        named("-v /etc:/etc"),
        named("-v", "/home/me:/data"),
        named("-v", "/var/run/docker.sock:/var/run/docker.sock"),
        named("-v", "/.:/host"),
        named("-v", "//:/host"),
        named("-v", "//etc/../:/host"),
        named("-v", "/var/run/.:/host"),
        named("-v", "/run/user/1000:/host"),
        named("-v", "/var/lib/docker:/host"),
        named("-v", "../../..:/host"),
        named("-v", "{root}:/host", variables={"root": {"default": "/"}}),
        named("--network", "name=host"),
        named("--network", "container:other"),
        named("--network", "{net}", variables={"net": {"default": "host"}}),
        named("--mount", "type=bind,source=/,target=/host"),
        named("--mount", "type=bind,source=data,source=/,target=/host"),
        named("--mount", "type=bind,source=data,src=/,target=/host"),
        named("--mount", 'type=bind,"source=/",target=/host'),
        named("--mount", "type=bind,SOURCE=/,target=/host"),
        named("--mount", "type=volume,target=/host,volume-opt=type=none,volume-opt=o=bind,volume-opt=device=/"),
        named("--mount", "type=npipe,source=data,target=/host"),
        named("--mount", "source=data,target=/host"),
        positional("evil/image"),
        named("-e", "LD_PRELOAD=x"),
        named("--add-host", "registry.example:1.2.3.4"),
    ],
)
def test_options_that_open_this_machine_to_a_container_are_refused(option: dict[str, Any]) -> None:
    assert refusal_of({"registryType": "oci", "identifier": "acme/atlas:1", "runtimeArguments": [option]})


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--mount", "type=volume,source=maps,target=/maps"),
        ("--mount", "type=bind,src=/srv/maps,dst=/maps,readonly"),
        ("-v", "maps:/maps"),
        ("--network", "maps-net_1.local"),
        ("--network", "hosted"),
        ("--network", "none"),
    ],
)
def test_options_that_keep_a_container_apart_are_taken_as_they_are(flag: str, value: str) -> None:
    package = {"registryType": "oci", "identifier": "acme/atlas:1", "runtimeArguments": [named(flag, value)]}

    assert recipe_of(package).command[4:6] == (flag, value)


def test_a_folder_of_the_persons_choice_is_shared_and_said() -> None:
    recipe = recipe_of(
        {"registryType": "oci", "identifier": "acme/atlas:1", "runtimeArguments": [named("-v", "/srv/maps:/maps")]}
    )

    assert recipe.command[4:6] == ("-v", "/srv/maps:/maps")
    assert "shared with the container" in recipe.warnings[0]


@pytest.mark.parametrize(
    "url",
    [
        *("", "mcp://atlas.example", "file:///etc/passwd", "javascript:alert(1)", "https://user:pw@atlas.example/mcp"),
        *("https://", "https://a b/mcp", "https://atlas.example:99999/", "https://[::1/mcp", "https://x.example/\n"),
    ],
)
def test_an_address_outside_the_grammar_is_refused(url: str) -> None:
    assert refusal_of(remote={"type": "streamable-http", "url": url})


@pytest.mark.parametrize("is_required", [True, False])
def test_a_file_that_names_programs_may_be_asked_for(*, is_required: bool) -> None:
    """The person says which; an entry that says it is refused."""
    wanted = {"name": "KUBECONFIG", "isRequired": is_required}
    recipe = recipe_of(npm("atlas", environmentVariables=[wanted]))

    assert recipe.env == ({"KUBECONFIG": "${KUBECONFIG}"} if is_required else {})
    assert [need.variable for need in recipe.needs] == ["KUBECONFIG"]


@pytest.mark.parametrize(("width", "depth"), [(20, 3), (600, 1), (201, 0)])
def test_variables_that_stand_for_ever_more_variables_are_refused(width: int, depth: int) -> None:
    variable: dict[str, Any] = {"value": "x"}
    for _ in range(depth):
        variable = {"value": "{a}" * width, "variables": {"a": variable}}
    url = "https://example.com/" + "{a}" * width

    assert "more text" in refusal_of(remote={"type": "sse", "url": url, "variables": {"a": variable}})


def test_a_variable_that_repeats_a_long_text_is_refused() -> None:
    remote = {"type": "sse", "url": "https://example.com/" + "{a}" * 5, "variables": {"a": {"value": "y" * 1_000}}}

    assert "more text" in refusal_of(remote=remote)
    assert len(recipe_of(remote={**remote, "url": "https://example.com/{a}{a}"}).url) == 2_020


def test_a_hint_never_adds_a_runtime() -> None:
    recipe = recipe_of(npm("atlas", runtimeHint="bash -c 'curl evil'"))

    assert recipe.runtime == "npx"


def test_the_usual_home_of_a_package_may_be_named_and_the_package_itself_repeated() -> None:
    domain = ("npmjs", "org")
    home = f"https://registry.{'.'.join(domain)}"
    recipe = recipe_of(
        npm(
            "@acme/atlas",
            "1.0.0",
            registryBaseUrl=home,
            runtimeArguments=[positional("-y"), positional("@acme/atlas@1.0.0")],
        )
    )

    assert recipe.command == ("npx", "-y", "@acme/atlas@1.0.0")


def test_an_entry_with_nothing_to_run_says_so() -> None:
    (plan,) = plans(parse_entry(SITE))

    assert isinstance(plan, Refusal)
    assert "only a web site" in plan.reason


# -- which one


def test_an_installed_runtime_is_proposed_the_isolated_one_first() -> None:
    server = parse_entry(
        entry(
            "a/atlas",
            packages=[npm("atlas"), {"registryType": "oci", "identifier": "acme/atlas:1"}],
            remotes=[
                {"type": "sse", "url": "https://a.example/sse"},
                {"type": "streamable-http", "url": "https://a.example"},
            ],
        )
    )

    def proposed(*installed: str, prefers_remote: bool = False) -> str:
        plan = best_plan(server, has_runtime=lambda name: name in installed, prefers_remote=prefers_remote)
        return "" if plan is None else plan.kind

    assert proposed("npx", "docker") == "oci"
    assert proposed("npx") == "npm"
    assert proposed() == "remote"
    assert proposed("npx", prefers_remote=True) == "remote"
    assert best_plan(parse_entry(SITE), has_runtime=lambda _: True) is None


def test_the_best_remote_is_web_first_then_mcp_then_anything() -> None:
    def best(*remotes: tuple[str, str]) -> str:
        found = best_remote(RegistryServer("a/b", remotes=tuple(Remote(kind, url) for kind, url in remotes)))
        return "" if found is None else found.url

    assert best(("x", "ws://a"), ("x", "mcp://a"), ("sse", "https://a/sse")) == "https://a/sse"
    assert best(("x", "ws://a"), ("x", "mcp://a")) == "mcp://a"
    assert best(("x", ""), ("x", "ws://a")) == "ws://a"
    assert best(("sse", "https://a/sse"), ("streamable-http", "https://a/mcp")) == "https://a/mcp"
    assert best() == ""


def test_nothing_of_this_machine_goes_to_a_server_nobody_approved() -> None:
    spec = unapproved_spec(parse_entry(ATLAS, registry="https://registry.example"))
    assert spec is not None
    assert spec.launch == RemoteLaunch("https://atlas.example/mcp")
    assert spec.origin == Origin(FROM_REGISTRY, "https://registry.example")
    tokens = {"MCP_AUTH_TOKEN": "t", "ATLAS_MCP_TOKEN": "t", "GITHUB_TOKEN": "t", "IO_GITHUB_ACME_MCP_TOKEN": "t"}
    assert bearer_for(spec, tokens) is None

    wants = [
        {"type": "streamable-http", "url": "https://a.example", "headers": [{"name": "Token", "isRequired": True}]}
    ]
    assert unapproved_spec(parse_entry(entry("evil/github", remotes=wants))) is None
    assert unapproved_spec(parse_entry(SITE)) is None


@pytest.mark.parametrize(
    "url",
    [
        *(
            "http://atlas.example/mcp",
            "https://localhost/mcp",
            "https://127.0.0.1/mcp",
            "https://169.254.169.254/latest",
        ),
        *(
            "https://10.0.0.1/",
            "https://[::1]/",
            "https://127.1/",
            "https://2130706433/",
            "https://0x7f.1/",
            "https://nas.local/",
        ),
    ],
)
def test_a_public_registry_cannot_lead_into_this_network(url: str) -> None:
    listed = entry("a/b", remotes=[{"type": "streamable-http", "url": url}])

    assert unapproved_spec(parse_entry(listed, registry="https://registry.example")) is None
    assert unapproved_spec(parse_entry(listed, registry="http://127.0.0.1:8000")) is not None


texts = st.text(max_size=30) | st.sampled_from(["--x", "-v a:b", "${HOME}", "{a}", "$(id)", "a b", "/path/to/x"])
inputs = st.fixed_dictionaries(
    {},
    optional={
        "name": texts,
        "value": texts,
        "default": texts,
        "isRequired": st.booleans(),
        "isSecret": st.booleans(),
        "format": st.sampled_from(["string", "boolean"]),
        "variables": st.dictionaries(
            st.sampled_from(["a", "b"]), st.fixed_dictionaries({}, optional={"default": texts})
        ),
        "type": st.sampled_from(["named", "positional"]),
        "valueHint": texts,
    },
)
packages = st.fixed_dictionaries(
    {
        "registryType": st.sampled_from(["npm", "pypi", "oci", "nuget"]),
        "identifier": st.sampled_from(["atlas", "a/b"]) | texts,
    },
    optional={
        "version": st.sampled_from(["1.0.0", "latest"]) | texts,
        "runtimeHint": texts,
        "runtimeArguments": st.lists(inputs, max_size=3),
        "packageArguments": st.lists(inputs, max_size=3),
        "environmentVariables": st.lists(inputs, max_size=3),
    },
)


@given(packages)
def test_every_vector_starts_a_known_runtime_and_resolves_with_what_it_asks_for(package: dict[str, Any]) -> None:
    plan = plan_of(package)
    if not isinstance(plan, Recipe):
        return
    given_values = {need.variable: "given" for need in plan.needs}
    launch = StdioLaunch(plan.command[0], plan.command[1:], plan.env)

    resolved = resolve_launch(launch, given_values, server="atlas")

    assert isinstance(resolved, StdioLaunch)
    assert resolved.command in {"docker", "npx", "uvx", "dnx"}  # a hint in an entry never adds to these
    assert not any(character < " " for word in resolved.args for character in word)
