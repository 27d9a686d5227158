#!/usr/bin/env bash
# The desktop application on an X server in memory: it opens a sample by a click and steps by keys, as `./run gui` starts it. Its session
# says where it came to. Exit code 77 (skipped) where Xvfb or xdotool is absent.
set -euo pipefail
gui=$1
for tool in Xvfb xdotool; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool"; exit 77; }
done
work=$(mktemp -d)
export HOME=$work XDG_CONFIG_HOME=$work/config XDG_DATA_HOME=$work/data XDG_RUNTIME_DIR=$work/run LC_ALL=C.UTF-8
mkdir -m 700 "$work/run"
unset QT_QPA_PLATFORM WAYLAND_DISPLAY
exec 3>"$work/display"
Xvfb -displayfd 3 -screen 0 1400x900x24 -nolisten tcp >"$work/xvfb.log" 2>&1 &
server=$!
program=
cleanup() {
    [ -z "$program" ] || kill "$program" 2>/dev/null || true
    kill "$server" 2>/dev/null || true
    wait 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

# until SECONDS COMMAND…: tries it until it succeeds.
until_true() {
    local tries=$(( $1 * 10 )); shift
    for (( i = 0; i < tries; i++ )); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    echo "failed: $*"; cat "$work"/*.log "$work"/data/loopscope/sessions/* 2>/dev/null || true
    return 1
}
until_true 20 test -s "$work/display"
export DISPLAY=:$(cat "$work/display")

LOOPSCOPE_SAMPLES=$PWD/samples/text "$gui" --size 1280x800 samples/text/collatz.lsir -i x=27 >"$work/gui.log" 2>&1 &
program=$!
until_true 30 xdotool search --onlyvisible --name 'collatz.lsir'
window=$(xdotool search --onlyvisible --name 'collatz.lsir' | head -1)
xdotool windowfocus --sync "$window"

# The middle of the graph gets the keyboard by a click; then gdb's letters step: start, into the loop's condition, out of it, over one.
xdotool mousemove --window "$window" 590 560 click 1
sleep 0.3
session() { cat "$work"/data/loopscope/sessions/*.json; }
stands() { session | grep -qF "\"address\": \"$1\""; }
xdotool key n
until_true 30 stands 'main/while#0'
xdotool key F11
until_true 10 stands 'main/while#0@0:cond/not_equal#0'
xdotool key shift+F11
until_true 10 stands 'main/while#0@0:body/floor_mod#0'
xdotool key n
until_true 10 stands 'main/while#0@0:body/equal#1'
# Plus is Shift and another key on a US keyboard, and a key of its own on the keypad.
zoom() { session | grep -o '"zoom": [0-9.]*' || true; }
for key in ctrl+plus ctrl+KP_Add; do
    before=$(zoom)
    zoomed() { [ "$(zoom)" != "$before" ]; }
    xdotool key "$key"
    until_true 10 zoomed
done
# The button of the tool bar that steps back over.
xdotool mousemove --window "$window" 282 41 click 1
until_true 10 stands 'main/while#0@0:body/floor_mod#0'
xdotool key ctrl+q
until_true 10 bash -c "! kill -0 $program"
wait "$program" && code=0 || code=$?
program=
[ "$code" = 0 ] || { echo "the program ended with $code"; cat "$work/gui.log"; exit 1; }
echo "opened, stepped and closed on $DISPLAY"
