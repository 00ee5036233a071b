# Sourced by scripts that do several things: each gets a headline and the time that it took.
# A step that fails is remembered and does not stop the next.
# shellcheck shell=bash

_failed=()
_started=$SECONDS

_tenths() { # since a value of EPOCHREALTIME
    local now=${EPOCHREALTIME/[^0-9]/} then=${1/[^0-9]/}
    local tenths=$(((now - then + 50000) / 100000))
    echo "$((tenths / 10)).$((tenths % 10)) s"
}

step() { # NAME COMMAND...
    local name=$1 begin=$EPOCHREALTIME
    shift
    printf '\n== %s\n' "$name"
    if "$@"; then
        printf '== %s: ok, %s\n' "$name" "$(_tenths "$begin")"
    else
        printf '== %s: FAILED, %s\n' "$name" "$(_tenths "$begin")"
        _failed+=("$name")
    fi
}

# Steps that use one core begin early and go on beside the others: `beside` begins, `join` ends.
declare -A _process _output

beside() { # NAME COMMAND...
    local name=$1
    shift
    _output[$name]=$(mktemp)
    "$@" >"${_output[$name]}" 2>&1 &
    _process[$name]=$!
}

join() { # NAME
    step "$1" _wait "$1"
}

_wait() {
    local status=0
    wait "${_process[$1]}" || status=$?
    cat "${_output[$1]}"
    rm -f "${_output[$1]}"
    return "$status"
}

finish() { # SCRIPT
    local total=$((SECONDS - _started))
    if ((${#_failed[@]})); then
        printf '\n%s: FAILED after %s s:' "$1" "$total"
        printf ' [%s]' "${_failed[@]}"
        echo
        exit 1
    fi
    printf '\n%s: everything passed in %s s\n' "$1" "$total"
}
