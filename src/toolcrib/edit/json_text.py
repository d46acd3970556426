"""Values as JSON that is YAML as well."""

from __future__ import annotations

import json
import re
from typing import Any

# JSON may have them as they are. To YAML they are no characters at all, or ends of lines.
_NOT_IN_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def as_json(value: Any, indent: str | None = None) -> str:
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _NOT_IN_YAML.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
