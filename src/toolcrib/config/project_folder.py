"""Where the project is whose file this is."""

from __future__ import annotations

from pathlib import Path

_BELOW_IT = frozenset({(".cursor", "mcp.json"), (".vscode", "mcp.json")})


def project_folder(file: Path) -> Path:
    """The folder of the project; some clients keep their file one level below it, where other files are in a project of their own."""
    return file.parent.parent if (file.parent.name, file.name) in _BELOW_IT else file.parent
