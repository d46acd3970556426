"""A stdio session that outlives the engine that serves it: its pipes, and the files in which another one finds the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolcrib.server.kept_input import KeptInput
from toolcrib.server.kept_output import KeptOutput, settle_output
from toolcrib.server.session_journal import FileJournal, read_progress


class KeptSession:
    """Takes over where the last engine stopped, if there was one.

    The descriptors are those that a connector hands over: the client's pipes, the files for journal, input and output, and
    both ends of a pipe for input on its way.
    """

    def __init__(self, descriptors: Sequence[int]) -> None:
        read_fd, write_fd, journal_fd, input_fd, output_fd, *between = descriptors
        self.progress = read_progress(journal_fd)
        settle_output(output_fd, self.progress)
        self.journal = FileJournal(journal_fd, self.progress)
        self.writer = KeptOutput(write_fd, output_fd, self.journal)
        self._input = (read_fd, input_fd, (between[0], between[1]))

    def reader(self, feed: Callable[[bytes], None], max_line_bytes: Callable[[], int]) -> KeptInput:
        """What the client says from here on."""
        reader = KeptInput(self._input, self.journal, self.progress.fed, feed, max_line_bytes, self.writer.flush)
        self.writer.on_full, self.writer.on_empty = reader.pause, reader.resume
        return reader
