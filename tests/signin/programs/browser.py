"""A browser that follows redirects and closes; started as the program in $BROWSER would be."""

from __future__ import annotations

import sys
import urllib.request
from pathlib import Path

if __name__ == "__main__":
    seen, url = Path(sys.argv[1]), sys.argv[2]
    with urllib.request.urlopen(url, timeout=20) as page:
        seen.write_text(f"{len(sys.argv)} {page.status} {page.url.partition('?')[0]}\n{page.read().decode()}", "utf-8")
