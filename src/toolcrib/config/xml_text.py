"""XML as plain data: elements only, no document types, so nothing can be declared, fetched or expanded."""

from __future__ import annotations

from typing import Any, NoReturn
from xml.parsers import expat

from toolcrib.config.malformed import Malformed

TAG, ATTRIBUTES, CHILDREN = "tag", "attributes", "children"
MAX_ELEMENTS = 100_000
MAX_LEVELS = 30


def parse_xml(text: str) -> Any:
    """The root element as a map of its tag, its attributes and its children; an empty text is an empty map."""
    return _Builder().read(text) if text.strip() else {}


class _Builder:
    def __init__(self) -> None:
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = lambda _: self._open.pop()
        self._parser.StartDoctypeDeclHandler = self._refuse_doctype
        self._open: list[dict[str, Any]] = []
        self._root: dict[str, Any] = {}
        self._count = 0

    def read(self, text: str) -> Any:
        try:
            # The text is decoded already, whatever its first line says.
            self._parser.Parse(text.encode("utf-8", "surrogatepass"), True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise Malformed(f"is not valid XML: {reason}", error.lineno, error.offset + 1) from None
        return self._root

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS:
            self._fail(f"holds more than {MAX_ELEMENTS} elements")
        if len(self._open) >= MAX_LEVELS:
            self._fail(f"is nested deeper than {MAX_LEVELS} levels")
        element = {TAG: tag, ATTRIBUTES: attributes, CHILDREN: []}
        if self._open:
            self._open[-1][CHILDREN].append(element)
        else:
            self._root = element
        self._open.append(element)

    def _refuse_doctype(self, *_: Any) -> NoReturn:
        self._fail("has a document type declaration; such files are not read")

    def _fail(self, message: str) -> NoReturn:
        raise Malformed(message, self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1)
