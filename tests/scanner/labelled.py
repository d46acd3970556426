"""The labelled corpus of definitions: hostile ones in families, and good ones that look like them."""

import base64
import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

FOLDER = Path(__file__).with_name("corpus")
# The first of each was written before its author had read any rule of the scanner.
HOSTILE = ("hostile_first", "hostile")
BENIGN = ("benign_first", "benign")
PARAPHRASES = "paraphrases"
# Who else is there, for texts that speak of other servers' tools.
WORLD: Mapping[str, frozenset[str]] = {
    "gmail": frozenset({"send_email", "list_threads"}),
    "github": frozenset({"create_issue", "get_file_contents", "merge_pull_request"}),
    "slack": frozenset({"post_message", "list_channels"}),
    "whatsapp": frozenset({"send_message", "list_chats"}),
    "filesystem": frozenset({"read_file", "write_file", "list_files"}),
    "bank": frozenset({"transfer_money", "get_balance"}),
    "browser": frozenset({"open_page", "fill_form"}),
}

_LOOK_ALIKES = str.maketrans("aeopcyxi", "\u0430\u0435\u043e\u0440\u0441\u0443\u0445\u0456")
_LEET = str.maketrans("oieas", "01345")
_MARK = re.compile("⟦([a-z0-9-]+):([^⟧]*)⟧")


@dataclass(frozen=True)
class Case:
    family: str
    number: int
    definition: Mapping[str, Any]

    @property
    def id(self) -> str:
        return f"{self.family} {self.number}"


def cases(label: str) -> list[Case]:
    """All definitions of a file of the corpus, for example `hostile_first`."""
    families = yaml.safe_load((FOLDER / f"{label}.yaml").read_text(encoding="utf-8"))
    return [
        Case(family, number, _definition(case))
        for family, listed in families.items()
        for number, case in enumerate(listed, start=1)
    ]


def _definition(case: str | Mapping[str, Any]) -> Mapping[str, Any]:
    case = {"text": case} if isinstance(case, str) else case
    text = disguised(case["text"])
    return _AT[case.get("at", "description")](text) | ({"name": case["name"]} if "name" in case else {})


def disguised(text: str) -> str:
    """The text with each ⟦way:words⟧ hidden or encoded in that way."""
    return _MARK.sub(lambda mark: _WAYS[mark[1]](mark[2]), text)


def _tool(description: str = "Adds two numbers.", **members: Any) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"type": "number"}}}
    return {"name": "add", "description": description, "inputSchema": schema, **members}


def _with_property(**property: Any) -> dict[str, Any]:
    return _tool(inputSchema={"type": "object", "properties": {"value": {"type": "string", **property}}})


def _with_required(**property: Any) -> dict[str, Any]:
    return _tool(
        inputSchema={"type": "object", "properties": {"value": {"type": "string", **property}}, "required": ["value"]}
    )


def _split(text: str) -> dict[str, Any]:
    title, _, description = text.partition("|")
    return _tool(description, title=title)


_AT = {
    "description": _tool,
    "title": lambda text: _tool(title=text),
    "annotation": lambda text: _tool(annotations={"title": text, "readOnlyHint": True}),
    "parameter": lambda text: _with_property(description=text),
    "required": lambda text: _with_required(description=text),
    "split": _split,
    "default": lambda text: _with_property(default=text),
    "enum": lambda text: _with_property(enum=["plain", text]),
    "example": lambda text: _with_property(examples=[text]),
    "pattern": lambda text: _with_property(pattern=text),
    "key": lambda text: _tool(inputSchema={"type": "object", "properties": {text: {"type": "string"}}}),
    "output": lambda text: _tool(outputSchema={"type": "object", "properties": {"x": {"description": text}}}),
    "comment": lambda text: _tool(inputSchema={"type": "object", "$comment": text}),
    "meta": lambda text: _tool(_meta={"note": text}),
    "prompt": lambda text: {"name": "review", "description": text, "arguments": [{"name": "code"}]},
    "argument": lambda text: {"name": "review", "arguments": [{"name": "code", "description": text}]},
    "resource": lambda text: {"name": "notes", "uri": "notes://all", "description": text},
    "instructions": lambda text: {"title": "Sums", "instructions": text},
}


def _bits(text: str) -> Iterator[str]:
    return ("\u200b\u200c"[byte >> bit & 1] for byte in text.encode() for bit in range(8))


_WAYS = {
    "tags": lambda text: "".join(chr(0xE0000 + ord(one)) for one in text),
    "selectors": lambda text: "".join(chr(0xFE00 + b if b < 16 else 0xE0100 + b - 16) for b in text.encode()),
    "selectors-between": "\U000e0100".join,
    "selector-after-each": lambda text: "".join(f"{one}\ufe01" for one in text),
    "zero-width-bits": lambda text: "".join(_bits(text)),
    "zero-width": lambda text: re.sub(r"(?<=\w)(?=\w)", "\u200b", text),
    "soft-hyphen": lambda text: re.sub(r"(?<=\w\w)(?=\w\w)", "\u00ad", text),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64-in-pieces": lambda text: re.sub("(.{12})", r"\1 ", base64.b64encode(text.encode()).decode()),
    "base64url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "x": lambda text: "".join(f"\\x{byte:02x}" for byte in text.encode()),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "percent-some": lambda text: quote(text, safe=""),
    "entities": lambda text: "".join(f"&#{ord(one)};" for one in text),
    "unicode": lambda text: "".join(f"\\u{ord(one):04x}" for one in text),
    "reversed": lambda text: text[::-1],
    "leet": lambda text: text.translate(_LEET),
    "spaced": " ".join,
    "cyrillic": lambda text: text.translate(_LOOK_ALIKES),
    "wide": lambda text: "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in text),
    "bold": lambda text: "".join(chr(ord(one) - 97 + 0x1D41A) if "a" <= one <= "z" else one for one in text),
}
