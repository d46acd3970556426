"""`toolcrib inspect`: what one tool does and takes."""

from __future__ import annotations

import argparse
import json
import shlex
from collections.abc import Mapping
from typing import Any

from toolcrib.cli.exits import OK
from toolcrib.cli.names import server_and_tool
from toolcrib.cli.open_catalog import open_for_reading
from toolcrib.cli.output import Output
from toolcrib.cli.terminal import Terminal
from toolcrib.model.clean_text import clean
from toolcrib.model.view import Parameter, ToolDetails
from toolcrib.queries.describe import details_view
from toolcrib.queries.json_forms import details_json
from toolcrib.workspace.lookup import missing

_VALUES = {"string": "TEXT", "integer": "NUMBER", "number": "NUMBER", "boolean": "true"}


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    server, tool = server_and_tool(options)
    with open_for_reading(options, output, server=server) as session:
        visible = session.view.find(server, tool)
        if visible is None:
            raise missing(session.view, server, tool)
        learnt = session.view.known_shape(visible) if session.settings.learn_shapes else None
        details = details_view(visible, learnt)
    if output.as_json:
        output.json(details_json(details))
    else:
        _print(details, output.out, examples=options.examples)
    return OK


def _print(details: ToolDetails, out: Terminal, *, examples: bool) -> None:
    out.write(f"{out.paint(f'{details.kind.capitalize()}:', 'bold')} {clean(f'{details.server}:{details.tool}')}")
    if not details.enabled:
        out.paragraph(f"Status: {details.reason}", "", "red")
    _section(out, "Description:")
    out.paragraph(details.description or "none given by the server", "  ")
    _section(out, "Parameters:")
    for number, parameter in enumerate(details.parameters):
        if number:
            out.write()
        _print_parameter(parameter, out)
    if not details.parameters:
        out.write("  none")
    not_checked = f"before the call: {details.not_checked}" if details.not_checked else ""
    for title, text in (
        ("Arguments are not checked:", not_checked),
        ("Signature:", details.signature),
        ("Returns:", details.returns),
    ):
        if text:
            _section(out, title)
            out.paragraph(text, "  ")
    if details.tags:
        _section(out, "Tags:")
        out.paragraph(clean(", ".join(details.tags)), "  ")
    if examples:
        _print_examples(details, out)
    if details.enabled:
        _section(out, "Run it:")
        out.paragraph(clean(_command(details)), "  ")


def _command(details: ToolDetails) -> str:
    """The command line that runs the tool, with a word in the place of each value that it requires."""
    words = (_pair(parameter) for parameter in details.parameters if parameter.required)
    return " ".join([shlex.join(("toolcrib", "execute", details.server, details.tool)), *words])


def _pair(parameter: Parameter) -> str:
    kind = parameter.type.removesuffix("[]")
    if kind in _VALUES:
        return f"{shlex.quote(parameter.name)}={_VALUES[kind]}"
    is_choice = kind.startswith('"') and not kind.endswith("]")
    return f"{shlex.quote(parameter.name)}=VALUE" if is_choice else f"{shlex.quote(parameter.name)}:=JSON"


def _section(out: Terminal, title: str) -> None:
    out.write()
    out.write(out.paint(title, "bold"))


def _print_parameter(parameter: Parameter, out: Terminal) -> None:
    need = "required" if parameter.required else "optional"
    default = f", default {parameter.default}" if parameter.default else ""
    terms = f"{parameter.type} {parameter.limits}".strip() + f", {need}{default}"
    out.item(f"  {clean(parameter.name)} ", f"({terms})", "cyan")
    if parameter.description:
        out.paragraph(parameter.description, "    ")


def _print_examples(details: ToolDetails, out: Terminal) -> None:
    _section(out, "Examples:")
    for number, example in enumerate(details.examples, start=1):
        title, arguments = _example(example, number)
        _print_arguments(title, arguments, out)
    if not details.examples:
        out.write("  none given by the server")
        if details.made_up_example:
            _print_arguments("Made up from the schema, may not work", details.made_up_example, out)


def _print_arguments(title: str, arguments: Mapping[str, Any], out: Terminal) -> None:
    out.paragraph(f"{clean(title)}:", "  ")
    for name, value in arguments.items():
        out.paragraph(f"{clean(str(name))}: {clean(json.dumps(value, ensure_ascii=False))}", "    ")


def _example(example: Mapping[str, Any], number: int) -> tuple[str, Mapping[str, Any]]:
    """A title and arguments: servers give either the bare arguments, or both in one object."""
    for key in ("parameters", "arguments"):
        inner = example.get(key)
        if isinstance(inner, Mapping) and set(example) <= {"description", "name", key}:
            return str(example.get("description") or example.get("name") or f"Example {number}"), inner
    return f"Example {number}", example
