#!/usr/bin/env bash
# Runs one suite of golden cases and holds the result against the list of cases that are known not to pass.
#   run.sh LOOPSCOPE SUITE KNOWN [PROFILE]
# PROFILE vulkan: on a device, and what it did not do alone is counted; without a device the test is skipped.
# LOOPSCOPE is the program, SUITE a folder name in the corpus, KNOWN a file with one case id and its reason per line, PROFILE that of the
# kernels (reference). A case that fails without being listed, or passes although it is, fails the test. The corpus is the folder
# $LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree; where there is none the test says so and is skipped (exit 77).
set -euo pipefail
program=$1 suite=$2 known=$3 profile=${4:-reference}
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
corpus=${LOOPSCOPE_CORPUS:-$top/../shared/corpus}
if [ ! -f "$corpus/$suite/cases.jsonl" ]; then
    echo "skipped: no golden cases '$suite' here (set LOOPSCOPE_CORPUS)"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

how=(--profile "$profile")
[ "$profile" != vulkan ] || how=(--backend vulkan --strict)
status=0
"$program" check "$corpus/$suite" "${how[@]}" --json --progress never >"$work/results.jsonl" || status=$?
if [ "$profile" = vulkan ] && [ $status -eq 7 ]; then
    echo "skipped: no Vulkan device"
    exit 77
fi
[ $status -le 4 ]
total=$(wc -l <"$work/results.jsonl")
[ "$total" -eq "$(grep -c . "$corpus/$suite/cases.jsonl")" ] || { echo "only $total cases were reported"; exit 1; }
# What passes with operators on the CPU is no failure (--strict calls it unsupported).
fellBack='"verdict":"unsupported",.*"message":"backend .vulkan.: '
sed -nE "/$fellBack/d; "'/"verdict": ?"pass"/!s/.*"id": ?"([^"]*)".*/\1/p' "$work/results.jsonl" | sort >"$work/failed"
sed -E 's/[[:space:]]*#.*//; /^$/d' "$known" | awk '{print $1}' | sort >"$work/known"
new=$(comm -23 "$work/failed" "$work/known")
mended=$(comm -13 "$work/failed" "$work/known")
[ "$profile" != vulkan ] || echo "with operators on the CPU: $(grep -cE "$fellBack" "$work/results.jsonl") of $total"
echo "$suite: $((total - $(wc -l <"$work/failed"))) of $total pass, $(wc -l <"$work/known") known not to"
sed -nE 's/.*[": ]([0-9]+ of [0-9]+) expectations met.*/\1/p' "$work/results.jsonl" | awk '{ met += $1; all += $3 }
    END { if (all) printf "%d of %d expectations met (%.1f %%)\n", met, all, 100 * met / all }'
if [ -n "$new" ]; then
    echo "fail, and are not listed in ${known#"$top"/}:"
    while read -r id; do grep -F "\"$id\"" "$work/results.jsonl" | head -c 400; echo; done <<<"$new"
fi
if [ -n "$mended" ]; then
    printf 'pass, but are listed in %s:\n%s\n' "${known#"$top"/}" "$mended"
fi
[ -z "$new$mended" ]
