"""Python imports this at its start: what was taken away in the test is taken away in its child processes too."""

import os

from tests.threats.removers import remove

remove(os.environ["WITHOUT_MITIGATION"])
