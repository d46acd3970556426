"""Notes the files of a client's folder that nobody has trusted, for `toolcrib approvals`."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable

from toolcrib.approvals.events import Tell, nobody
from toolcrib.approvals.file_queue import FileQueue
from toolcrib.config.file_requests import FileRecord
from toolcrib.config.paths import Paths
from toolcrib.config.settings import UntrustedFile
from toolcrib.config.trust import TrustedFiles

log = logging.getLogger(__name__)


def opened_file_queue(paths: Paths, tell: Tell = nobody) -> FileQueue:
    """The requests about files; none of them is read by that."""
    return FileQueue(FileRecord(paths.waiting_files), TrustedFiles(paths.trusted_files), now=time.time, tell=tell)


def note(paths: Paths, files: Iterable[UntrustedFile]) -> None:
    """Write them down; where that can't be, the log has named them all the same."""
    try:
        waiting = opened_file_queue(paths).meet(files)
    except OSError as trouble:
        log.warning("%s can't be written: %s", paths.waiting_files, trouble.strerror or trouble)
        return
    for one in waiting:
        log.info("%s waits in `toolcrib approvals` as %s", one.path, one.id)
