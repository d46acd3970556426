"""The person's own configuration, which decides about what all clients of an engine share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping

from toolcrib.config.load import load_settings
from toolcrib.config.paths import home_folder
from toolcrib.config.settings import Settings
from toolcrib.config.watch import watch_files
from toolcrib.engine.engine import Engine
from toolcrib.errors import ConfigurationError

log = logging.getLogger(__name__)


class HomeSettings:
    """Read at the start and again at each edit, after which `when_edited` is called.

    One that can't be read leaves everything as it is.
    """

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.settings = Settings()
        self.when_edited: Callable[[], None] = lambda: None
        self.read()

    def read(self) -> Settings:
        """The settings as they are now."""
        try:
            self.settings = load_settings(env=self._env, cwd=home_folder(self._env))
        except ConfigurationError as error:
            log.warning(
                "the engine keeps its last settings, because the configuration can't be used:\n%s", error.message
            )
        return self.settings

    async def take_over(self, engine: Engine) -> None:
        """Read them again, and hand them to the engine where they are others by now."""
        before = self.settings
        if await asyncio.to_thread(self.read) == before:
            return
        try:
            await engine.configure(self.settings)
        except Exception as error:  # the next edit is noticed all the same
            is_debug = log.isEnabledFor(logging.DEBUG)
            log.warning("the engine could not switch to the edited settings: %r", error, exc_info=is_debug)
        self.when_edited()

    async def follow(self, engine: Engine) -> None:
        """Hand every edit to the engine, for as long as this runs."""
        await watch_files(
            lambda: self.settings.watched_files,
            lambda: self.take_over(engine),
            interval_seconds=lambda: self.settings.reload_interval_seconds,
            stop=asyncio.Event(),
        )
