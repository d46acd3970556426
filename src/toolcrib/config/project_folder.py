"""Where the project is whose file this is."""

from __future__ import annotations

from pathlib import Path

_FOLDERS_OF_CLIENTS = (".cursor", ".vscode")


def project_folder(file: Path) -> Path:
    """The folder of the project; some clients keep their file one level below it."""
    return file.parent.parent if file.parent.name in _FOLDERS_OF_CLIENTS else file.parent
