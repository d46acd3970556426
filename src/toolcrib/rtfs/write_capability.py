"""Capabilities to text; whatever a server put into a name or a description stays inside its string."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolcrib.rtfs.capability import Capability, Provider
from toolcrib.rtfs.spelling import form_text, key_text, quoted
from toolcrib.rtfs.write_type import rtfs_text

INDENT = 2


def capability_text(capability: Capability) -> str:
    """One `(capability …)` form, in the published layout, without a line end."""
    lines = [f"(capability {key_text(capability.id)}"]
    lines += (f"{' ' * INDENT}:{key} {value}" for key, value in _values(capability))
    return "\n".join(lines) + ")"


def _values(capability: Capability) -> Iterator[tuple[str, str]]:
    """The keys this capability has, in their order."""
    for key, text in (
        ("version", capability.version),
        ("name", capability.name),
        ("description", capability.description),
    ):
        if text:
            yield key, quoted(text)
    for key, schema in (("input-schema", capability.input_schema), ("output-schema", capability.output_schema)):
        if schema is not None:
            yield key, rtfs_text(schema, INDENT)
    if capability.provider is not None:
        yield "provider", _provider(capability.provider, column=INDENT + len(":provider {"))
    for key, texts in (
        ("domains", capability.domains),
        ("categories", capability.categories),
        ("permissions", capability.permissions),
        ("effects", capability.effects),
    ):
        if texts:
            yield key, _strings(texts)
    for key, form in capability.others:
        yield key, form_text(form)


def _strings(texts: Sequence[str]) -> str:
    return f"[{' '.join(map(quoted, texts))}]"


def _provider(provider: Provider, column: int) -> str:
    pairs = [f":type {key_text(provider.type)}"]
    if provider.server_url:
        pairs.append(f":server-url {quoted(provider.server_url)}")
    if provider.tool_name:
        pairs.append(f":tool-name {quoted(provider.tool_name)}")
    pairs += (f"{form_text(key)} {form_text(value)}" for key, value in provider.others)
    between = f"\n{' ' * column}"
    return f"{{{between.join(pairs)}}}"
