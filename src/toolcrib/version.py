"""The one place that names the version."""

from __future__ import annotations

VERSION = "0.1.0"
