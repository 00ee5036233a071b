# Sourced by the other scripts: goes to the root of the project and puts its private
# environment, .venv, first in the PATH. Makes it on first use, and again when pyproject.toml
# has changed. PYTHON chooses the interpreter that it is made with, and VENV another folder.
# shellcheck shell=bash

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
_venv=${VENV:-.venv}

_is_new_enough() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

# A PYTHON that was chosen is never replaced by another in silence.
if [[ -n "${PYTHON:-}" ]] && ! _is_new_enough "$PYTHON"; then
    echo "PYTHON=$PYTHON is not a Python 3.11 or newer that can be started; set it to one, or unset it." >&2
    exit 1
fi

_find_python() {
    local python
    if [[ -n "${PYTHON:-}" ]]; then
        command -v "$PYTHON"
        return
    fi
    for python in python3 python3.13 python3.12 python3.11; do
        if _is_new_enough "$python"; then
            command -v "$python"
            return
        fi
    done
    echo "No Python 3.11 or newer was found, which claudewire needs; set PYTHON to one." >&2
    return 1
}

_make_environment() {
    local python
    # One that was made here and works is only brought up to date.
    if [[ "$(cat "$_venv/.made-for" 2>/dev/null)" == "$PWD "* ]] && _is_new_enough "$_venv/bin/python"; then
        echo "Bringing $_venv up to date ..." >&2
    else
        python=$(_find_python)
        echo "Setting up $_venv with $("$python" --version) (once, about a minute) ..." >&2
        rm -rf "$_venv"
        if ! "$python" -m venv "$_venv"; then
            echo "Python has no venv module; on Debian: apt install python3-venv" >&2
            return 1
        fi
    fi
    # -qq: warnings about the machine's own pip configuration are not this project's.
    "$_venv/bin/python" -m pip install -qq --disable-pip-version-check -e '.[dev]'
}

# An environment works only where it was made, hence the path; a copied one is made anew.
_wanted="$PWD $(cksum <pyproject.toml)"
_is_current() {
    [[ "$(cat "$_venv/.made-for" 2>/dev/null)" == "$_wanted" ]] && _is_new_enough "$_venv/bin/python"
}
if ! _is_current; then
    (
        flock 9 # two scripts at once: the second waits and finds it done
        if ! _is_current; then
            _make_environment
            echo "$_wanted" >"$_venv/.made-for"
        fi
    ) 9>"$_venv.lock"
fi

if [[ -n "${PYTHON:-}" && "$("$PYTHON" -V)" != "$("$_venv/bin/python" -V)" ]]; then
    echo "$_venv has $("$_venv/bin/python" -V), and PYTHON=$PYTHON is $("$PYTHON" -V);" \
        "remove $_venv, or set VENV to another folder." >&2
    exit 1
fi

VIRTUAL_ENV=$(cd "$_venv" && pwd)
export VIRTUAL_ENV
export PATH="$VIRTUAL_ENV/bin:$PATH"
