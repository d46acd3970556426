"""What a caller can ask of a discovery, each time anew."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from toolcrib.limits.rate import RateLimitConfig
from toolcrib.limits.retry import RetryPolicy


@dataclass(frozen=True, slots=True, kw_only=True)
class DiscoveryOptions:
    """The published options with their defaults; those after `lazy_output_schemas` are ours.

    Output schemas are learnt by calling tools only where `introspect_output_schemas` is set and
    `lazy_output_schemas` is not.
    """

    introspect_output_schemas: bool = False
    use_cache: bool = False
    register_in_marketplace: bool = False
    export_to_rtfs: bool = False
    export_directory: str | Path | None = None
    # Not shown in a repr: these are secrets.
    auth_headers: Mapping[str, str] | None = field(default=None, repr=False)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    rate_limit: RateLimitConfig = field(default_factory=RateLimitConfig)
    max_parallel_discoveries: int = 5
    lazy_output_schemas: bool = True
    # Read the server although the cache could answer; what it says is cached again.
    force_refresh: bool = False
    # Propose each server of a registry that was read, so that a person can approve it.
    create_approval_request: bool = False
    # Where several servers are read: answer after this time with those that were, in seconds.
    deadline_seconds: float | None = None

    @property
    def calls_tools(self) -> bool:
        """Whether tools may be called to learn what they return."""
        return self.introspect_output_schemas and not self.lazy_output_schemas
