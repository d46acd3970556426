"""The kinds of source. A new one is an importer, its places, and one line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from toolcrib.clients import machine
from toolcrib.clients.machine import Machine, Places, nowhere
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
    "claude-desktop": SourceType(read_claude_desktop, machine.claude_desktop, machine.claude_desktop_of_the_store),
    # Its file also holds the history of all conversations.
    "claude-code": SourceType(read_claude_code, machine.claude_code, max_bytes=64 * 1024 * 1024),
    "cursor": SourceType(read_cursor, machine.cursor),
    "vscode": SourceType(read_vscode, machine.vscode, machine.vscode_variants),
    "windsurf": SourceType(read_windsurf, machine.windsurf, machine.windsurf_plugin),
    "cline": SourceType(read_cline, machine.cline),
    "roo": SourceType(read_roo, machine.roo),
    "zed": SourceType(read_zed, machine.zed),
    "continue": SourceType(read_continue, machine.continue_dev),
    "goose": SourceType(read_goose, machine.goose),
    "codex": SourceType(read_codex, machine.codex),
    "gemini": SourceType(read_gemini, machine.gemini),
    # A descendant of Gemini CLI that kept its file.
    "qwen": SourceType(read_gemini, machine.qwen),
    "antigravity": SourceType(read_antigravity, machine.antigravity),
    "junie": SourceType(read_junie, machine.junie, machine.junie_others),
    "jetbrains": SourceType(read_jetbrains, machine.jetbrains, machine.jetbrains_products),
    "copilot-jetbrains": SourceType(read_copilot_jetbrains, machine.copilot_jetbrains),
    "copilot-cli": SourceType(read_copilot_cli, machine.copilot_cli),
    "lm-studio": SourceType(read_lm_studio, machine.lm_studio),
    "opencode": SourceType(read_opencode, machine.opencode, machine.opencode_others),
    "kiro": SourceType(read_kiro, machine.kiro),
    "warp": SourceType(read_warp, machine.warp),
    "amazon-q": SourceType(read_amazon_q, machine.amazon_q, machine.amazon_q_agents),
    "crush": SourceType(read_crush, machine.crush),
    # After the clients: where one of them has Docker's own gateway, its servers are not wanted twice.
    "docker-mcp": SourceType(
        read_docker_mcp,
        machine.docker_mcp,
        machine.docker_toolkit,
        companions=machine.beside_docker_registry,
    ),
    "mcp-json": SourceType(read_mcp_json),
    "custom": SourceType(read_custom),
    "praxis": SourceType(read_praxis),
    "ccos-overrides": SourceType(read_ccos_overrides),
    "toolcrib": SourceType(read_toolcrib),
}
