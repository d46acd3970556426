"""Variables that make any program run other code; entries that strangers wrote may not set them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from toolcrib.model.server import Launch, StdioLaunch

# Variables that decide which code a program loads or runs beside its own, or where a runtime fetches it from.
_DANGEROUS = r"""
      PATH|HOME|SHELL|IFS|ENV|BASH_(ENV|FUNC_.*)|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|ZDOTDIR|COMSPEC|PATHEXT|PSMODULEPATH
      | USERPROFILE|HOMEDRIVE|HOMEPATH|(LOCAL)?APPDATA|XDG_(CONFIG|DATA)_\w+
      | LD_\w+|DYLD_\w+|GCONV_PATH|GLIBC_TUNABLES|APPINIT_DLLS
      | NODE_(OPTIONS|PATH|EXTRA_CA_CERTS|TLS_\w+)|ELECTRON_RUN_AS_NODE|BUN_OPTIONS|DENO_(DIR|TLS_CA_STORE|CERT)
      | PYTHON(PATH|HOME|STARTUP|INSPECT|USERBASE|BREAKPOINT|EXECUTABLE|PLATLIBDIR|WARNINGS)
      | PERL5?(LIB|OPT|DB)|RUBY(LIB|OPT)|GEM_(HOME|PATH)|BUNDLE_\w+|PHPRC|PHP_INI_SCAN_DIR|LUA_(PATH|CPATH|INIT)\w*
      | JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|CLASSPATH|DOTNET_(STARTUP_HOOKS|ADDITIONAL_DEPS)|CORECLR_\w+|COR_\w+
      | GO(FLAGS|ROOT|PATH|PROXY|TOOLCHAIN)|CARGO_\w+|RUSTC\w*|RUSTFLAGS
      | GIT_(SSH|CONFIG|EXEC|ASKPASS|PROXY|EDITOR|SEQUENCE_EDITOR|EXTERNAL_DIFF|PAGER|TEMPLATE_DIR|DIR|WORK_TREE)\w*
      | (SSH|SUDO)_ASKPASS|EDITOR|VISUAL|PAGER|MANPAGER|BROWSER|LESS(OPEN|CLOSE)
      | NPM_CONFIG_\w+|UV_\w+|PIP_\w+|NUGET_\w+|DOCKER_(HOST|CONFIG|CONTEXT|CERT_PATH|TLS\w*)
      | SSL_CERT_(FILE|DIR)|(REQUESTS|CURL)_CA_BUNDLE|OPENSSL_(CONF|MODULES|ENGINES)|(HTTP|HTTPS|ALL|NO)_PROXY|HOSTALIASES
      | TOOLCRIB_\w*"""


def dangerous_variables(names: Iterable[str]) -> list[str]:
    """Those of the names that an entry of a stranger may not set."""
    return [name for name in names if _dangerous().fullmatch(name)]


def set_by(launch: Launch) -> list[str]:
    """The variables of this kind that a launch sets."""
    return dangerous_variables(launch.env) if isinstance(launch, StdioLaunch) else []


@cache
def _dangerous() -> re.Pattern[str]:
    # When it is first needed: it takes a millisecond to compile, and most starts read no entry of a stranger.
    return re.compile(_DANGEROUS, re.VERBOSE | re.IGNORECASE)
