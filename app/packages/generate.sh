#!/bin/sh
# generate.sh PROGRAM SOURCES FOLDER: what packages hold that the program says of itself, manual pages and completions, packed where they must be.
set -eu
program=$1 sources=$2 out=$3
mkdir -p "$out/man" "$out/completion"
"$program" help man >"$out/man/loopscope.1"
for command in $("$program" help | sed -n '/^commands$/,/^$/s/^    \([a-z-]*\) .*/\1/p'); do
    "$program" help man "$command" >"$out/man/loopscope-$command.1"
done
"$program" completion bash >"$out/completion/loopscope"
"$program" completion zsh >"$out/completion/_loopscope"
"$program" completion fish >"$out/completion/loopscope.fish"
gzip -9nf "$out"/man/*.1
gzip -9nc "$sources/changelog" >"$out/changelog.gz"
