#!/usr/bin/env python3
"""What it costs that a loop's stack lies in a file: `swap_bench.py PROGRAM [TRIPS]`. A forward loop pushes 64 KiB in each trip, a backward loop pops
them; the same in 256 MiB as in unbounded memory. 20,000 trips push 1.3 GB; 1,000,000, what the bound is meant for, 64 GB."""
import os, resource, subprocess, sys, tempfile, time
from pathlib import Path

program, trips = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
MODEL = (Path(__file__).resolve().parents[1] / "cli" / "stack_loop.lsir").read_text()


def run(model, *options):
    start = time.monotonic()
    done = subprocess.run([program, "run", model, "--fetch", "total", "--threads", "1", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return time.monotonic() - start, done.stdout.splitlines()[0], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "stack.lsir")
    with open(model, "w") as file:
        file.write(MODEL.replace("value=i32[] 400", f"value=i32[] {trips}"))
    bounded, want, most = run(model, "--memory", "256MiB")  # first: the most memory of any child is what is told
    free, got, all_of_it = run(model)
if want != got:
    sys.exit(f"other values: {want} and {got}")
print(f"memory of the run in 256 MiB {most:.3g} MiB goal 256 {'met' if most <= 256 else 'missed'}")
print(f"memory without a bound {all_of_it:.3g} MiB")
print(f"time without a bound {free:.3g} s")
print(f"speed in 256 MiB beside it {free / bounded:.3g} x goal 0.5 {'met' if free / bounded >= 0.5 else 'missed'}")
sys.exit(0 if free / bounded >= 0.5 and most <= 256 else 1)
