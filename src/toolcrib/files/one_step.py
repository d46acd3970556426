"""Files that appear whole or not at all, whoever reads them meanwhile and whenever the power fails."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_in_one_step(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Put a file with this content in the place of another; `durable` waits until the disk has it.

    It is readable by its owner only, and until it is whole it has a name that nobody can have prepared.
    """
    descriptor, draft = tempfile.mkstemp(prefix=".", suffix=".part", dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(content)
            if durable:
                file.flush()
                os.fsync(descriptor)
        os.replace(draft, path)
    except BaseException:
        with suppress(OSError):
            Path(draft).unlink()
        raise
