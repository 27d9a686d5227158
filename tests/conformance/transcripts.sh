#!/usr/bin/env bash
# Replays the debugger's transcripts on models of the corpus.
#   transcripts.sh LOOPSCOPE
# LOOPSCOPE is the program. The corpus is the folder $LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree; where there is none the test
# says so and is skipped (exit 77).
set -euo pipefail
program=$1
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
corpus=${LOOPSCOPE_CORPUS:-$here/../../../shared/corpus}
for model in tflite-control-flow/tf/branch_in_loop tflite-real/mlcommons-tiny/ad01_fp32; do
    if [ ! -f "$corpus/$model/model.tflite" ]; then
        echo "skipped: no golden case '$model' here (set LOOPSCOPE_CORPUS)"
        exit 77
    fi
done
corpus=$(cd "$corpus" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed "s#CORPUS/#$corpus/#g" "$here/transcripts.ltest.in" >"$work/transcripts.ltest"
"$program" check "$work/transcripts.ltest"

# Sessions in a shell: the lines behind `$ ` are run, and print what follows them. With LOOPSCOPE_UPDATE=1 it is written anew.
replay() {
    mkdir -p "$work/bin" && ln -sf "$(realpath "$program")" "$work/bin/loopscope"
    while IFS= read -r line; do
        case $line in
            '$ '*)
                printf '%s\n' "$line"
                command=${line#??}
                command=${command//CORPUS/$corpus} command=${command//WORK/$work}
                { PATH=$work/bin:$PATH bash -c "$command" 2>&1 || true; } | sed "s#$corpus#CORPUS#g; s#$work#WORK#g"
                ;;
            '#'* | '') printf '%s\n' "$line" ;;
        esac
    done <"$1" | cat -s >"$work/replayed"
    if [ -n "${LOOPSCOPE_UPDATE:-}" ]; then cp "$work/replayed" "$1"; fi
    diff -u "$1" "$work/replayed"
}
if [ -f "$corpus/tflite-real/breizhn-dtln/model_1/model.tflite" ]; then replay "$here/host_loop.transcript"; fi

# What `loopscope FILE` says of the first model.
"$program" "$corpus/tflite-control-flow/tf/branch_in_loop/model.tflite" >"$work/info"
while read -r line; do
    grep -qF -- "$line" "$work/info" || { echo "'loopscope FILE' should say: $line"; cat "$work/info"; exit 1; }
done <<'LINES'
TFLite, 3472 bytes, "MLIR Converted."
main(x: i32[]) -> Identity: i32[], Identity_1: i32[]
5 graphs, 10 operators: 3 ADD, 1 each EQUAL FLOOR_DIV FLOOR_MOD IF MUL NOT_EQUAL WHILE
control flow   main/while#0  cond while_cond, body while_body, 3 carried
if#2        then while_cond_true_5060, else while_cond_false_5070
all operators have reference kernels; no variables, no dynamic shapes
LINES

# What the debugger says before the first command about a graph of which only a part runs.
graph=$corpus/tf-v1/control_flow_ops_py/test_while_cond_1/graph.pb
said=$("$program" debug "$graph" --fetch while/Exit:0 --batch --ex run | head -1)
[ "$said" = "22 of 25 nodes after pruning; frame while/while_context, parallel_iterations 10" ] || { echo "it says: $said"; exit 1; }
