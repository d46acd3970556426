"""`toolcrib completion`: a script for the shell; the words come from `toolcrib __complete`."""

from __future__ import annotations

import argparse

from toolcrib.cli.exits import OK

# The candidates go into an array as they are: `compgen -W` would expand what a server put into a name.
_BASH = """\
_toolcrib() {
    local IFS=$'\\n' word
    COMPREPLY=()
    while read -r word; do
        COMPREPLY+=("$word")
    done < <(toolcrib __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _toolcrib toolcrib
"""
_ZSH = """\
#compdef toolcrib
_toolcrib() {
    local -a found
    found=("${(@f)$(toolcrib __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    if (( ${#found} )) && [[ -n ${found[1]} ]]; then
        compadd -Q -- "${found[@]}"
    else
        _files
    fi
}
compdef _toolcrib toolcrib
"""
_FISH = """\
function __toolcrib_complete
    set -l words (commandline -opc) (commandline -ct)
    toolcrib __complete $words[2..-1] 2>/dev/null
end
complete -c toolcrib -a '(__toolcrib_complete)'
"""
_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


def run(options: argparse.Namespace) -> int:
    print(_SCRIPTS[options.shell], end="")
    return OK
