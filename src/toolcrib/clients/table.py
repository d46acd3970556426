"""Every AI client we know, one record each.

A client that is like most others is a record in this list. One with ways of its own has a module, and its name here.
Where several clients have the same server, it is known by the name the first of them gives it.
"""

from __future__ import annotations

from collections.abc import Mapping

from toolcrib.clients.amazon_q import AMAZON_Q
from toolcrib.clients.claude_code import CLAUDE_CODE
from toolcrib.clients.claude_desktop import CLAUDE_DESKTOP
from toolcrib.clients.client import Client
from toolcrib.clients.codex import CODEX
from toolcrib.clients.continue_dev import CONTINUE
from toolcrib.clients.copilot import COPILOT_CLI, COPILOT_JETBRAINS
from toolcrib.clients.crush import CRUSH
from toolcrib.clients.dialects import BRACES, EDITOR, literal
from toolcrib.clients.display import ALL_OF_THE_CONTENT, ClientDisplay
from toolcrib.clients.gemini import GEMINI, QWEN
from toolcrib.clients.goose import GOOSE
from toolcrib.clients.jetbrains import JETBRAINS, JUNIE
from toolcrib.clients.machine import in_home
from toolcrib.clients.opencode import OPENCODE
from toolcrib.clients.own_entry import EDITOR_REFERENCES, Environment
from toolcrib.clients.sections import Manner, mcp_servers
from toolcrib.clients.vscode import VSCODE
from toolcrib.clients.vscode_extensions import CLINE, ROO
from toolcrib.clients.zed import ZED

_RECORDS = (
    CLAUDE_DESKTOP,
    CLAUDE_CODE,
    Client(
        "cursor",
        "Cursor",
        places=in_home(".cursor/mcp.json"),
        sections=mcp_servers(Manner(EDITOR)),
        environment=EDITOR_REFERENCES,
        calls_itself="cursor",
        display=ClientDisplay("structured"),
    ),
    VSCODE,
    Client(
        "windsurf",
        "Windsurf",
        places=in_home(".codeium/windsurf/mcp_config.json", ".windsurf/mcp.json"),
        # Of its plugin for other editors.
        more=in_home(".codeium/mcp_config.json"),
        sections=mcp_servers(Manner(EDITOR)),
        environment=EDITOR_REFERENCES,
    ),
    CLINE,
    ROO,
    ZED,
    CONTINUE,
    GOOSE,
    CODEX,
    GEMINI,
    QWEN,
    Client(
        "antigravity",
        "Antigravity",
        places=in_home(".gemini/antigravity/mcp_config.json"),
        sections=mcp_servers(Manner(literal)),
    ),
    JUNIE,
    JETBRAINS,
    COPILOT_JETBRAINS,
    COPILOT_CLI,
    Client(
        "lm-studio",
        "LM Studio",
        places=in_home(".lmstudio/mcp.json", ".cache/lm-studio/mcp.json"),
        # The notation of Cursor.
        sections=mcp_servers(Manner(EDITOR)),
        environment=EDITOR_REFERENCES,
    ),
    OPENCODE,
    Client(
        "kiro",
        "Kiro",
        places=in_home(".kiro/settings/mcp.json"),
        sections=mcp_servers(Manner(BRACES, referring_keys=frozenset(("env", "headers")))),
        environment=Environment(reference="${NAME}"),
    ),
    Client(
        "warp",
        "Warp",
        places=in_home(".warp/.mcp.json"),
        sections=mcp_servers(Manner(literal, keys={"working_directory": "cwd"})),
    ),
    AMAZON_Q,
    CRUSH,
)
CLIENTS: Mapping[str, Client] = {client.name: client for client in _RECORDS}

_DISPLAYS = {client.calls_itself: client.display for client in _RECORDS if client.calls_itself}


def display_of(client: str) -> ClientDisplay:
    """How the client that gives this name shows results; one that is not known is taken to show all of the content."""
    name = client.lower()
    return next((shown for known, shown in _DISPLAYS.items() if name.startswith(known)), ALL_OF_THE_CONTENT)
