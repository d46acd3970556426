"""The settings that hold for what all workspaces of an engine share; each of them has one value there."""

from __future__ import annotations

from toolcrib.config.settings import SCALARS, Settings

SHARED = frozenset(
    """
    on_change scan_definitions cache_enabled cache_ttl_seconds tool_cache_ttl_seconds
    registry_cache_ttl_seconds max_indexed_tools
    max_parallel_discoveries broken_retry_max_delay_seconds discovery_rate discovery_burst
    max_retries retry_delay_seconds retry_max_delay_seconds retry_multiplier retry_jitter retry_within_seconds
    client_name startup_timeout_seconds connect_timeout_seconds probe_timeout_seconds call_timeout_seconds max_call_seconds
    list_timeout_seconds idle_stop_seconds max_calls max_calls_per_server max_starts_per_minute
    max_tools_per_server max_items_per_server max_definition_bytes max_tool_list_bytes
    max_stdio_line_bytes max_stdio_result_bytes max_http_body_bytes
    http_caller_rate http_caller_calls
    audit_max_bytes audit_files audit_on_failure result_ttl_seconds max_stored_result_bytes learn_shapes
    registry_urls registry_mirror registry_rate
    secrets_in_results max_parked_calls oauth_store oauth_login_timeout_seconds oauth_callback_port oauth_client_name oauth_client_metadata_url
    peers_advertise peers_expose peers_trust peers_name peers_host peers_port peers_interfaces peers_mdns peers_static
    peers_bootstrap peers_introduce peers_scan peers_check_interval_seconds peers_stale_after_seconds
    peers_connect_timeout_seconds peers_call_rate peers_max_calls peers_max_peers peers_max_card_bytes
    peers_libp2p peers_libp2p_port peers_dht peers_rendezvous peers_tag
    """.split()
)


def unused_keys(wanted: Settings, shared: Settings) -> list[str]:
    """The keys whose values in a workspace's settings differ from those that hold for the whole engine."""
    return [
        scalar.key
        for scalar in SCALARS
        if scalar.name in SHARED and getattr(wanted, scalar.name) != getattr(shared, scalar.name)
    ]
