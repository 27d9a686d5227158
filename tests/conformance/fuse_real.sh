#!/usr/bin/env bash
# Fuses every .tflite model of the suite tflite-real and proves each rewrite: nothing may crash, and nothing may come out that cannot be
# proved. Prints what was found.
#   fuse_real.sh LOOPSCOPE
# The corpus is the folder $LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree; where there is none the test says so and is skipped.
set -euo pipefail
program=$1
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
corpus=${LOOPSCOPE_CORPUS:-$top/../shared/corpus}/tflite-real
if [ ! -d "$corpus" ]; then
    echo "skipped: no golden cases 'tflite-real' here (set LOOPSCOPE_CORPUS)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
models=0 rewrites=0 undecided=0 undone=0 refused=0 bad=0
while read -r model; do
    models=$((models + 1))
    for way in "" --unfuse; do
        status=0
        # shellcheck disable=SC2086 # no word, or one
        timeout 120 "$program" fuse "$model" $way --prove --samples 2 -o "$work/$models$way.lsir" >"$work/told" 2>"$work/errors" || status=$?
        # What a verdict stands under: a rewrite that stays. Exit status 1 says that something was undone, and why.
        rm -f "$work/$models$way.lsir"
        rewrites=$((rewrites + $(grep -cE '^    (exact|real-equal|approximate|not decided|different|only )' "$work/told" || true)))
        undecided=$((undecided + $(grep -c '^    not decided' "$work/told" || true)))
        grep -B1 '^    not decided' "$work/told" | sed "s|^|${model#"$corpus"/} $way: |" || true
        undone=$((undone + $(grep -c 'undone, for it does not hold' "$work/told" || true)))
        if [ "$status" -gt 1 ] && [ "$status" -lt 100 ] && grep -q '^error: ' "$work/errors"; then
            refused=$((refused + 1)) # a model without graphs, inputs that nothing can draw: said in so many words
            continue
        fi
        if [ "$status" -gt 1 ] || grep -qE '^    (different|only )' "$work/told"; then
            bad=$((bad + 1))
            echo "${model#"$corpus"/} $way: exit status $status: $(head -c 300 "$work/errors") $(grep -E -m1 '^    (different|only )' "$work/told" || true)"
        fi
    done
done < <(find "$corpus" -type f -name '*.tflite' | sort)
echo "$models models, fused and unfused: $rewrites rewrites stay, $undecided of them not decided, $undone undone; $refused times refused"
[ "$bad" -eq 0 ] && [ "$undecided" -eq 0 ]
