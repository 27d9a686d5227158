#!/usr/bin/env python3
"""Graphs with loops, cut at random: `partitions.py PROGRAM [--all] [--cuts N] [--filter TEXT] [--ranks N [--most N]]`.

Each run of a golden case of TensorFlow whose graph has a loop is computed whole and then cut between 2 to 4 devices at random, N times (20); every
output has to come out with the same bits. With --ranks the parts run on so many
ranks of mpirun, each by an executor of its own (of 1: on threads), at most so many cuts. Without --all a sample of the cases is taken, so that the test stays short. The corpus is the folder
LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree; exit code 77 where there is none."""
import argparse, json, os, shutil, subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("LOOPSCOPE_CORPUS", TOP / ".." / "shared" / "corpus"))
LOOPS = {"Enter", "RefEnter", "While", "StatelessWhile"}
SAMPLED = 8  # one of so many cases

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--all", action="store_true")
parser.add_argument("--cuts", type=int, default=20)
parser.add_argument("--filter", default="")
parser.add_argument("--ranks", type=int, default=0)
parser.add_argument("--most", type=int, default=50)
options = parser.parse_args()


def computed(folder, command, name, place):
    """The arrays as they lie in the archive, or the error."""
    out = Path(folder) / name
    words = [*command, "-o", str(out), "--force", "-q"] + (["--place", place] if place else [])
    if place and options.ranks:
        words.append("--distributed")
    if place and options.ranks > 1:
        words = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(options.ranks), *words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env=dict(os.environ, HWLOC_COMPONENTS="-gl"))
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[0]
    content = out.read_bytes()
    out.unlink()
    return content, ""


def check(case):
    suite, case = case
    folder = CORPUS / suite
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for number, run in enumerate(case["runs"]):
            if not run.get("fetches"):
                continue
            command = [options.program, "run", str(folder / case["model"]), "--fetch", ",".join(run["fetches"]), "--seed", "1"]
            if run.get("feeds"):
                command += ["-i", str(folder / run["in"])]
            whole, _ = computed(scratch, command, "whole.npz", "")
            if whole is None:
                continue  # it needs what another run has left behind, or is one that fails
            for cut in range(options.cuts):
                place = f"random:{2 + cut % 3}:{cut + 1}"
                parts, error = computed(scratch, command, "parts.npz", place)
                found.append((f"{case['id']}#{number} --place {place}", "same" if parts == whole else error or "other bits"))
    return found


if not (CORPUS / "tf-v1" / "cases.jsonl").is_file():
    print("skipped: no golden cases here (set LOOPSCOPE_CORPUS)")
    sys.exit(77)
cases = []
for suite in ("tf-v1", "tf-v2"):
    for line in (CORPUS / suite / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["format"] == "graphdef" and LOOPS & set(case["ops"]) and options.filter in case["id"]:
            cases.append((suite, case))
chosen = cases if options.all or options.filter else cases[::SAMPLED]
if options.ranks > 1 and not shutil.which("mpirun"):
    print("skipped: no mpirun here")
    sys.exit(77)
if options.ranks:
    chosen = chosen[: -(-options.most // options.cuts)]
with ThreadPoolExecutor(os.cpu_count()) as pool:
    results = [one for found in pool.map(check, chosen) for one in found]
wrong = [(where, what) for where, what in results if what != "same"]
print(f"{len(results) - len(wrong)} of {len(results)} cuts of {len(chosen)} of {len(cases)} graphs with a loop gave the same bits")
for where, what in wrong[:40]:
    print(f"{where}: {what}")
sys.exit(1 if wrong or not results else 0)
