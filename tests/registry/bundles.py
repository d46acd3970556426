"""MCPB files for tests."""

from __future__ import annotations

import io
import json
import zipfile
from typing import Any

MANIFEST = {
    "manifest_version": "0.3",
    "name": "atlas",
    "server": {
        "type": "node",
        "entry_point": "server/index.js",
        "mcp_config": {
            "command": "node",
            "args": ["${__dirname}/server/index.js", "--folder=${user_config.folder}", "${HOME}/x"],
            "env": {"KEY": "${user_config.key}", "REGION": "${user_config.region}"},
        },
    },
    "user_config": {
        "folder": {"type": "directory", "title": "Folder", "required": True},
        "key": {"type": "string", "sensitive": True, "default": "never-shown"},
        "region": {"type": "string", "default": "eu"},
    },
}


def packed(files: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, str | bytes) else json.dumps(content))
    return buffer.getvalue()
