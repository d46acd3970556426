"""Types of many real tools: no schema breaks the converter, every way back leads to the same type, how much is :any.

    python -m bench.schema_types [--data FOLDER] [--config FILE] [--json FILE]

The tools are those of the servers that `make servers` installed, of a configuration file where one is given, and of
the data set `toucan` where that lies beside the project.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from bench.report import Figure, Report, arguments, percentile
from bench.search_quality.data import DATA_BESIDE_THE_PROJECT
from bench.tokens import real_servers, state
from toolcrib.config.load import load_settings
from toolcrib.config.settings import Settings
from toolcrib.engine.open_gateway import open_gateway
from toolcrib.model.server import ServerSpec
from toolcrib.rtfs.capability import Capability, Provider
from toolcrib.rtfs.published_form import published_form
from toolcrib.rtfs.read_capability import read_capabilities
from toolcrib.rtfs.read_type import parse_type
from toolcrib.rtfs.types import ANY, Entry, TypeExpr
from toolcrib.rtfs.write_capability import capability_text
from toolcrib.rtfs.write_type import rtfs_text
from toolcrib.schema.convert import convert
from toolcrib.schema.json_schema import json_schema
from toolcrib.schema.signature import signature
from toolcrib.storage.sqlite import SqliteCatalog

Named = tuple[str, Any]


def toucan(folder: Path) -> list[Named]:
    file = folder / "toucan" / "tools.jsonl.gz"
    if not file.exists():
        return []
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        tools = map(json.loads, lines)
        return [(tool["name"], tool.get("parameters")) for tool in tools]


async def schemas_of_servers(config: Path | None) -> tuple[list[str], list[Named]]:
    """The servers that could be read, and the schemas of what their tools take and give."""
    with state() as (folder, env):
        specs: Sequence[ServerSpec] = real_servers(folder)
        if config is not None:
            specs = [*specs, *load_settings(config, env=env).servers]
        async with open_gateway(settings=Settings(servers=tuple(specs)), env=env) as gateway:
            read = [spec.name for spec in specs if await gateway.list_tools(spec.name)]
        catalog = SqliteCatalog(folder / "catalogue.db")
        tools = catalog.all_tools()
        catalog.close()
    schemas = [(tool.name, tool.input_schema) for tool in tools]
    return read, schemas + [(tool.name, tool.output_schema) for tool in tools if tool.output_schema]


def holds(name: str, exact: TypeExpr) -> Iterator[tuple[str, bool]]:
    """Each promise about a type, and whether it is kept."""
    published = published_form(exact)
    for type in (exact, published):
        yield "text", parse_type(rtfs_text(type)) == type == parse_type(rtfs_text(type, indent=0))
    yield "schema", convert(json_schema(exact).schema).type == exact
    yield "schema", published_form(convert(json_schema(published).schema).type) == published
    capability = Capability(f"mcp.x.{name}", input_schema=published, provider=Provider(tool_name=name))
    yield "capability", read_capabilities(capability_text(capability)) == (capability,)


def parts(value: Any) -> Iterator[Any]:
    """A type and all the types and entries in it."""
    if isinstance(value, tuple):
        for item in value:
            yield from parts(item)
    elif is_dataclass(value):
        yield value
        for one in fields(value):
            yield from parts(getattr(value, one.name))


def measure(report: Report, where: str, schemas: Iterable[Named]) -> None:
    broken: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    seconds = []
    for name, schema in schemas:
        started = time.perf_counter()
        found = convert(schema)
        seconds.append(time.perf_counter() - started)
        broken.update(promise for promise, is_kept in holds(name, found.type) if not is_kept)
        entries = [part for part in parts(published_form(found.type)) if isinstance(part, Entry)]
        seen["whole"] += found.type == ANY
        seen["warned"] += bool(found.warnings)
        seen["entries"] += len(entries)
        seen["any"] += sum(entry.type == ANY for entry in entries)
        seen["cut"] += "…" in signature(name, found.type)
    number = len(seconds)
    for promise in ("text", "schema", "capability"):
        report.add(Figure(f"{where}: {promise} that does not round-trip", broken[promise], f"of {number:,}", 0))
    report.add(Figure(f"{where}: schemas that are :any as a whole", 100 * seen["whole"] / number, "%"))
    note = f"{seen['any']:,} of {seen['entries']:,}"
    report.add(Figure(f"{where}: entries that are :any", 100 * seen["any"] / max(1, seen["entries"]), "%", note=note))
    report.add(Figure(f"{where}: schemas with a warning", seen["warned"], f"of {number:,}"))
    report.add(Figure(f"{where}: signatures with a …", 100 * seen["cut"] / number, "%"))
    note = f"99 % under {percentile(seconds, 0.99) * 1000:.2f} ms"
    report.add(Figure(f"{where}: converting one schema, mean", 1_000_000 * sum(seconds) / number, "µs", note=note))


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--data", type=Path, default=DATA_BESIDE_THE_PROJECT, help="folder with the set toucan")
    parser.add_argument("--config", type=Path, metavar="FILE", help="read the servers of this configuration as well")
    options = parser.parse_args()
    report = Report("types: JSON Schema to RTFS and back")
    read, schemas = asyncio.run(schemas_of_servers(options.config))
    print(f"  read {len(read)} servers: {', '.join(read)}")
    measure(report, "real servers", schemas)
    tools = toucan(options.data)
    if tools:
        measure(report, "toucan", tools)
    report.finish(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
