#!/usr/bin/env python3
"""What it costs that a loop's stack, or the lists of its gradient, lie in a file: `swap_bench.py PROGRAM [TRIPS]`. A forward loop pushes 64 KiB in
each trip, a backward loop pops them; the same in 256 MiB as in unbounded memory. 20,000 trips push 1.3 GB; 1,000,000, what the bound is meant for,
64 GB."""
import os, resource, subprocess, sys, tempfile, time
from pathlib import Path

program, trips = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
MODEL = (Path(__file__).resolve().parents[1] / "cli" / "stack_loop.lsir").read_text()


def run(model, fetch, *options):
    start = time.monotonic()
    done = subprocess.run([program, "run", model, "--fetch", fetch, "--threads", "1", *options], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return time.monotonic() - start, done.stdout.splitlines()[0], resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024


MODEL = MODEL.replace("value=i32[] 400", f"value=i32[] {trips}")
FILL = "Fill(dims, half) T=f32 index_type=i32"
KINDS = {"equal numbers": MODEL, "random numbers": MODEL.replace(FILL, "RandomUniform(dims) T=i32 dtype=f32 seed=1 seed2=2")}
assert FILL in MODEL
LOOP = (Path(__file__).resolve().parents[1] / "cli" / "large_loop.lsir").read_text().replace("value=i32[] 400", f"value=i32[] {trips}")
missed = False
with tempfile.TemporaryDirectory() as folder:
    loop, lists = os.path.join(folder, "loop.lsir"), os.path.join(folder, "lists.lsir")
    with open(loop, "w") as file:
        file.write(LOOP)
    subprocess.run([program, "grad", loop, "--of", "y", "--wrt", "x", "-o", lists], check=True, capture_output=True)
    with open(lists) as file:
        KINDS["lists of a gradient"] = file.read()
    FETCHES = {"lists of a gradient": "gradients/x"}
    times, values = {}, {}
    for bound in ("256MiB", ""):  # bounded first: the most memory of any child is what is told
        for kind, text in KINDS.items():
            model = os.path.join(folder, "stack.lsir")
            with open(model, "w") as file:
                file.write(text)
            times[kind, bound], value, most = run(model, FETCHES.get(kind, "total"), *(["--memory", bound] if bound else []))
            if values.setdefault(kind, value) != value:
                sys.exit(f"other values: {values[kind]} and {value}")
        if bound:
            missed = most > 256
            print(f"memory of the run in 256 MiB {most:.3g} MiB goal 256 {'missed' if missed else 'met'}")
print(f"memory without a bound {most:.3g} MiB")
for kind in KINDS:
    speed = times[kind, ""] / times[kind, "256MiB"]
    missed = missed or speed < 0.5
    print(f"{kind}: time without a bound {times[kind, '']:.3g} s")
    print(f"{kind}: speed in 256 MiB beside it {speed:.3g} x goal 0.5 {'met' if speed >= 0.5 else 'missed'}")
sys.exit(1 if missed else 0)
