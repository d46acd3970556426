"""What is going on with many servers at once: a live picture on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Literal, Self

from toolcrib.cli.terminal import Terminal, shorten, width_of
from toolcrib.model.clean_text import clean

BAR_COLUMNS = 24
# Where nothing can be drawn, an item that takes this long gets a line, and another one each time that doubles.
LONG_SECONDS = 10

State = Literal["waiting", "running", "done", "failed"]

_SIGNS = {"waiting": "·", "running": "…", "done": "✓", "failed": "✗"}
_STYLES = {"waiting": "dim", "running": "cyan", "done": "green", "failed": "red"}
# Those under way are the ones people wait for; what is finished or has not begun fills the rest of the screen.
_ORDER: tuple[State, ...] = ("running", "failed", "done", "waiting")


class Progress:
    """Holds the state of each item and draws it; the picture is gone when the block ends."""

    def __init__(
        self,
        terminal: Terminal,
        title: str,
        items: Iterable[str],
        *,
        is_quiet: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._terminal = terminal
        self._title = title
        self._is_quiet = is_quiet
        self._states: dict[str, State] = dict.fromkeys(items, "waiting")
        self._words: dict[str, str] = {}
        self._monotonic = monotonic
        self._began: dict[str, float] = {}
        self._next_line: dict[str, float] = {}
        self._drawn = 0

    def __enter__(self) -> Self:
        if not self._is_live and not self._is_quiet:
            self._terminal.write(f"{self._title} ({len(self._states)})…")
        self._draw()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._erase()
        self._terminal.stream.flush()

    def started(self, item: str) -> None:
        self._change(item, "running", "")

    def going_on(self, item: str, words: str) -> None:
        """How far an item is that has started; shown on a terminal only."""
        self._change(item, "running", words)

    def again(self, item: str, words: str) -> None:
        """An item that will be tried once more, and why."""
        self._change(item, "running", f"trying again: {words}")
        if not self._is_live and not self._is_quiet:
            self._terminal.write(f"  {self._line(item)}")

    def tick(self) -> None:
        """Show how long the items under way have taken."""
        if self._is_live:
            self._draw()
        elif not self._is_quiet:
            for item in [item for item, state in self._states.items() if state == "running"]:
                self._tell_if_long(item)

    def done(self, item: str, words: str = "") -> None:
        self._change(item, "done", words)

    def failed(self, item: str, words: str) -> None:
        self._change(item, "failed", words)

    @property
    def _is_live(self) -> bool:
        return self._terminal.is_live and not self._is_quiet

    def _change(self, item: str, state: State, words: str) -> None:
        self._states[item] = state
        self._words[item] = clean(words.partition("\n")[0])
        if state == "running":
            self._began.setdefault(item, self._monotonic())
        if self._is_live:
            self._draw()
        elif state != "running" and not self._is_quiet:
            self._terminal.write(f"  {self._line(item)}")

    def _tell_if_long(self, item: str) -> None:
        due = self._next_line.setdefault(item, LONG_SECONDS)
        if self._seconds(item) >= due:
            self._next_line[item] = 2 * due
            self._terminal.write(f"  {self._line(item)}")
            self._terminal.stream.flush()

    def _seconds(self, item: str) -> int:
        return int(self._monotonic() - self._began.get(item, self._monotonic()))

    def _draw(self) -> None:
        if not self._is_live:
            return
        size = self._terminal.size
        shown = sorted(self._states, key=lambda item: _ORDER.index(self._states[item]))[: max(0, size.lines - 3)]
        lines = [self._bar(), *(f"  {self._line(item, size.columns - 3)}" for item in shown)]
        self._erase()
        self._terminal.stream.write("".join(f"{line}\n" for line in lines))
        self._terminal.stream.flush()
        self._drawn = len(lines)

    def _erase(self) -> None:
        if self._drawn:
            self._terminal.stream.write(f"\x1b[{self._drawn}F\x1b[J")
        self._drawn = 0

    def _bar(self) -> str:
        total = max(1, len(self._states))
        finished = sum(state in {"done", "failed"} for state in self._states.values())
        filled = BAR_COLUMNS * finished // total
        bar = self._terminal.paint("█" * filled, "green") + "░" * (BAR_COLUMNS - filled)
        return f"{self._title} {bar} {finished}/{len(self._states)}"

    def _line(self, item: str, columns: int | None = None) -> str:
        state, name = self._states[item], clean(item)
        seconds = self._seconds(item) if state == "running" else 0
        words = ", ".join(filter(None, (self._words.get(item, ""), f"{seconds} s" if seconds else "")))
        text = f"{name}: {words}" if words else name
        if columns is not None:
            text = shorten(text, columns - width_of(_SIGNS[state]) - 1)
        return f"{self._terminal.paint(_SIGNS[state], _STYLES[state])} {text}"
