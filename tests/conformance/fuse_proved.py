"""Fuses every model of the suite fusion and proves each rewrite: none may miss its class, nor the whole model be another one.
Usage: fuse_proved.py PROGRAM. The corpus is the folder $LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree; without it: exit status 77."""
import json
import os
import subprocess
import sys
import tempfile

top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
suite = os.path.join(os.environ.get("LOOPSCOPE_CORPUS", os.path.join(top, "..", "shared", "corpus")), "fusion")


def told(program, case, out):
    run = (case.get("runs") or [{}])[0]
    command = [program, "fuse", os.path.join(suite, case["model"]), "--prove", "--samples", "4", "--json", "--force", "-o", out]
    if run.get("signature"):
        command += ["--signature", run["signature"]]
    elif run.get("fetches"):
        command += ["--fetch", ",".join(run["fetches"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def main():
    if not os.path.exists(os.path.join(suite, "cases.jsonl")):
        print("skipped: no golden cases 'fusion' here (set LOOPSCOPE_CORPUS)")
        return 77
    with open(os.path.join(suite, "cases.jsonl")) as file:
        cases = [json.loads(line) for line in file]
    held = undecided = 0
    bad = []
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            status, output, errors = told(sys.argv[1], case, os.path.join(folder, "fused.lsir"))
            if status > 1:
                bad.append(f"{case['id']}: exit status {status}: {errors.strip()[:200]}")
                continue
            report = json.loads(output.strip().splitlines()[-1])
            for rewrite in report["rewrites"]:
                if rewrite.get("verdict") == "undecided":
                    undecided += 1
                elif rewrite.get("holds"):
                    held += 1
                else:
                    bad.append(f"{case['id']}: {rewrite['to']} ({rewrite['name']}): {rewrite.get('proof')}")
            bad += [f"{case['id']}: undone: {rewrite}" for rewrite in report.get("undone", [])]
            if report.get("whole", {}).get("holds") is False:
                bad.append(f"{case['id']}: the whole model: {report['whole']}")
    print(f"{len(cases)} models: {held} rewrites hold in their class, {undecided} are not decided, {len(bad)} places do not hold")
    print("\n".join(bad))
    return 1 if bad or held == 0 else 0


sys.exit(main())
