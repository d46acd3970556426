"""The kinds of source. A new one is an importer, its places, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolcrib.config import client_paths
from toolcrib.config.client_paths import Machine, Places, nowhere
from toolcrib.config.documents import MAX_FILE_BYTES
from toolcrib.config.importers.amazon_q import read_amazon_q
from toolcrib.config.importers.antigravity import read_antigravity
from toolcrib.config.importers.ccos_overrides import read_ccos_overrides
from toolcrib.config.importers.claude_code import read_claude_code
from toolcrib.config.importers.claude_desktop import read_claude_desktop
from toolcrib.config.importers.client_entries import Importer
from toolcrib.config.importers.cline import read_cline
from toolcrib.config.importers.codex import read_codex
from toolcrib.config.importers.continue_dev import read_continue
from toolcrib.config.importers.copilot import read_copilot_cli, read_copilot_jetbrains
from toolcrib.config.importers.crush import read_crush
from toolcrib.config.importers.cursor import read_cursor
from toolcrib.config.importers.custom_yaml import read_custom
from toolcrib.config.importers.docker_mcp import read_docker_mcp
from toolcrib.config.importers.gemini import read_gemini
from toolcrib.config.importers.goose import read_goose
from toolcrib.config.importers.jetbrains import read_jetbrains
from toolcrib.config.importers.junie import read_junie
from toolcrib.config.importers.kiro import read_kiro
from toolcrib.config.importers.lm_studio import read_lm_studio
from toolcrib.config.importers.mcp_json import read_mcp_json
from toolcrib.config.importers.opencode import read_opencode
from toolcrib.config.importers.praxis import read_praxis
from toolcrib.config.importers.roo import read_roo
from toolcrib.config.importers.toolcrib_own import read_toolcrib
from toolcrib.config.importers.vscode import read_vscode
from toolcrib.config.importers.warp import read_warp
from toolcrib.config.importers.windsurf import read_windsurf
from toolcrib.config.importers.zed import read_zed


@dataclass(frozen=True, slots=True)
class SourceType:
    """One kind of file: how it is read, and where its owner keeps it."""

    read: Importer
    # Of these the first that exists is read.
    places: Callable[[Machine], Places] = nowhere
    # Of these every one that exists is read too.
    more: Callable[[Machine], Places] = nowhere
    # Files that are read together with one file; the importer then gets a map of all by name.
    companions: Callable[[Path], Places] = lambda _: ()
    max_bytes: int = MAX_FILE_BYTES


SOURCE_TYPES: Mapping[str, SourceType] = {
    "claude-desktop": SourceType(
        read_claude_desktop, client_paths.claude_desktop, client_paths.claude_desktop_of_the_store
    ),
    # Its file also holds the history of all conversations.
    "claude-code": SourceType(read_claude_code, client_paths.claude_code, max_bytes=64 * 1024 * 1024),
    "cursor": SourceType(read_cursor, client_paths.cursor),
    "vscode": SourceType(read_vscode, client_paths.vscode, client_paths.vscode_variants),
    "windsurf": SourceType(read_windsurf, client_paths.windsurf, client_paths.windsurf_plugin),
    "cline": SourceType(read_cline, client_paths.cline),
    "roo": SourceType(read_roo, client_paths.roo),
    "zed": SourceType(read_zed, client_paths.zed),
    "continue": SourceType(read_continue, client_paths.continue_dev),
    "goose": SourceType(read_goose, client_paths.goose),
    "codex": SourceType(read_codex, client_paths.codex),
    "gemini": SourceType(read_gemini, client_paths.gemini),
    # A descendant of Gemini CLI that kept its file.
    "qwen": SourceType(read_gemini, client_paths.qwen),
    "antigravity": SourceType(read_antigravity, client_paths.antigravity),
    "junie": SourceType(read_junie, client_paths.junie, client_paths.junie_others),
    "jetbrains": SourceType(read_jetbrains, client_paths.jetbrains, client_paths.jetbrains_products),
    "copilot-jetbrains": SourceType(read_copilot_jetbrains, client_paths.copilot_jetbrains),
    "copilot-cli": SourceType(read_copilot_cli, client_paths.copilot_cli),
    "lm-studio": SourceType(read_lm_studio, client_paths.lm_studio),
    "opencode": SourceType(read_opencode, client_paths.opencode, client_paths.opencode_others),
    "kiro": SourceType(read_kiro, client_paths.kiro),
    "warp": SourceType(read_warp, client_paths.warp),
    "amazon-q": SourceType(read_amazon_q, client_paths.amazon_q, client_paths.amazon_q_agents),
    "crush": SourceType(read_crush, client_paths.crush),
    # After the clients: where one of them has Docker's own gateway, its servers are not wanted twice.
    "docker-mcp": SourceType(
        read_docker_mcp,
        client_paths.docker_mcp,
        client_paths.docker_toolkit,
        companions=client_paths.beside_docker_registry,
    ),
    "mcp-json": SourceType(read_mcp_json),
    "custom": SourceType(read_custom),
    "praxis": SourceType(read_praxis),
    "ccos-overrides": SourceType(read_ccos_overrides),
    "toolcrib": SourceType(read_toolcrib),
}
