"""`toolcrib types`: a JSON Schema as RTFS type and signature, and an RTFS type as JSON Schema."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

from toolcrib.cli.exits import OK
from toolcrib.cli.output import Output
from toolcrib.cli.terminal import Terminal
from toolcrib.cli.type_source import Source, Subject, read_sources
from toolcrib.config.paths import expanded
from toolcrib.errors import ValidationError
from toolcrib.model.clean_text import clean, clean_json
from toolcrib.rtfs.published_form import published_form
from toolcrib.rtfs.types import Map, MapOf, TypeExpr
from toolcrib.rtfs.write_type import rtfs_text
from toolcrib.schema.signature import short_type, signature

MOST_CHARACTERS = 16 * 1024 * 1024

Published = Callable[[TypeExpr], TypeExpr]


def run(options: argparse.Namespace) -> int:
    output = Output.of(options)
    sources = read_sources(_text(options.file))
    published: Published = (lambda type: type) if options.exact else published_form
    if output.as_json:
        output.json(_as_json(sources, published))
        return OK
    for number, source in enumerate(sources):
        if number:
            output.out.write()
        _print(source, published, output)
    return OK


def _text(file: str) -> str:
    try:
        if file == "-":
            text = sys.stdin.read(MOST_CHARACTERS + 1)
        else:
            with expanded(file).open(encoding="utf-8-sig") as opened:
                text = opened.read(MOST_CHARACTERS + 1)
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not UTF-8 text"
        raise ValidationError(f"{file} can't be read: {reason}", hint="`-` reads standard input.") from problem
    if len(text) > MOST_CHARACTERS:
        raise ValidationError(f"{file} is longer than {MOST_CHARACTERS:,} characters")
    return text


def _line(source: Source, subject: Subject) -> str:
    """The signature of what has a name or members, else the short type."""
    if subject is source.output or not (source.name or isinstance(subject.type, (Map, MapOf))):
        return short_type(subject.type)
    return signature(source.name, subject.type)


def _print(source: Source, published: Published, output: Output) -> None:
    out = output.out
    if source.kind == "type" and source.input is not None:
        # Alone, so that it can be piped into whatever reads JSON.
        out.write(_schema_text(source.input))
    else:
        _print_sections(source, published, out)
    for part, subject in (("input", source.input), ("output", source.output)):
        for warning in subject.warnings if subject is not None else ():
            output.note(f"note: {f'{part} ' if source.name else ''}{warning}")


def _print_sections(source: Source, published: Published, out: Terminal) -> None:
    if source.name:
        out.write(f"{out.paint(f'{source.kind.capitalize()}:', 'bold')} {clean(source.name)}")
    for title, text in _sections(source, published):
        out.write(out.paint(f"{title}:", "bold"))
        for line in text.split("\n"):
            out.write(f"  {clean(line)}")


def _sections(source: Source, published: Published) -> Iterator[tuple[str, str]]:
    for part, line_title, subject in (("Input", "Signature", source.input), ("Output", "Returns", source.output)):
        if subject is None:
            continue
        if subject.schema is not None:
            yield f"{part} schema", _schema_text(subject)
        else:
            yield f"{part} type" if source.name else "Type", rtfs_text(published(subject.type), indent=0)
        yield line_title, _line(source, subject)


def _schema_text(subject: Subject) -> str:
    return clean_json(json.dumps(subject.schema, indent=2, ensure_ascii=False))


def _as_json(sources: list[Source], published: Published) -> dict[str, Any]:
    first = sources[0] if sources else None
    if first is not None and first.input is not None and not first.name:
        return _subject_json(first, first.input, published)
    found = [_source_json(source, published) for source in sources]
    return {"capabilities" if first is not None and first.kind == "capability" else "tools": found}


def _source_json(source: Source, published: Published) -> dict[str, Any]:
    parts = {"input": source.input, "output": source.output}
    shown = {key: _subject_json(source, part, published) for key, part in parts.items() if part is not None}
    return {"id" if source.kind == "capability" else "name": source.name, **shown}


def _subject_json(source: Source, subject: Subject, published: Published) -> dict[str, Any]:
    given = subject.type if subject.schema is not None else published(subject.type)
    schema = {} if subject.schema is None else {"schema": subject.schema}
    return {
        "type": rtfs_text(given),
        "signature": _line(source, subject),
        **schema,
        "warnings": list(subject.warnings),
    }
