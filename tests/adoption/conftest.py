from __future__ import annotations

import pytest

from tests.adoption.home import Home


@pytest.fixture
def home() -> Home:
    return Home()
