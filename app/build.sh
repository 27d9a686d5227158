#!/usr/bin/env bash
# app/build.sh [--desktop] [--tests] TARGET…: configures and builds in build/, the one tree for ./run, ./run gui and ./test. What has been
# switched on once stays on. Prints the share done and the time left on a terminal, a line each tenth of the way elsewhere; the output of a
# build that fails as it is.
set -euo pipefail
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
options=()
while [[ ${1:-} == --* ]]; do
    case $1 in
        --desktop) options+=(-DLOOPSCOPE_DESKTOP=ON) ;;
        --tests) options+=(-DBUILD_TESTING=ON) ;;
        *) echo "error: app/build.sh: unknown option $1" >&2; exit 2 ;;
    esac
    shift
done

mkdir -p "$top/build"
log=$top/build/build.log
missing() { # an option that the tree does not have yet
    local option
    for option in "${options[@]+"${options[@]}"}"; do
        grep -q "^${option#-D}$" <(sed 's/:BOOL=/=/' "$top/build/CMakeCache.txt") || return 0
    done
    return 1
}
if [ ! -f "$top/build/build.ninja" ] || missing; then
    echo "configuring" >&2
    if ! cmake -S "$top" --preset default "${options[@]+"${options[@]}"}" >"$log" 2>&1; then
        cat "$log" >&2
        exit 1
    fi
fi

started=$SECONDS
told=-1
steps=
printed=
show() { # PERCENT DONE/ALL
    local percent=$1 took=$((SECONDS - started)) left
    if [ "${2#*/}" != "$steps" ]; then # configuring anew comes first, and counts for itself
        steps=${2#*/}
        told=-1
    fi
    if [ -t 2 ]; then
        left=
        if [ "$percent" -ge 5 ] && [ "$took" -ge 5 ]; then
            left=$((took * (100 - percent) / percent))
            left=$(printf ', about %d:%02d left' $((left / 60)) $((left % 60)))
        fi
        printf '\r\033[Kbuilding %3d %%  (%s)%s' "$percent" "$2" "$left" >&2
        printed=1
    elif [ $((percent / 10)) -gt "$told" ]; then
        told=$((percent / 10))
        printf 'building %3d %%  (%s), %d:%02d\n' "$percent" "$2" $((took / 60)) $((took % 60)) >&2
    fi
}

# Ninja's status lines read "@PERCENT DONE/ALL@ what is built".
: >"$log"
while IFS= read -r line; do
    if [[ $line =~ ^@\ *([0-9]+)%\ ([0-9]+/[0-9]+)@ ]]; then show "${BASH_REMATCH[1]}" "${BASH_REMATCH[2]}"; else printf '%s\n' "$line" >>"$log"; fi
done < <(NINJA_STATUS='@%p %f/%t@ ' cmake --build "$top/build" -j "$(nproc)" --target "$@" 2>&1 || echo "build failed")
[ -z "$printed" ] || printf '\r\033[K' >&2
if [ "$(tail -n 1 "$log")" = "build failed" ]; then
    sed '$d' "$log" >&2
    exit 1
fi
