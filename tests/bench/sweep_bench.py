#!/usr/bin/env python3
"""How much sooner two ranks are through with a folder of cases than one: `sweep_bench.py PROGRAM [FOLDER…]`, each rank with one case at a time."""
import os, shutil, subprocess, sys, time

program, folders = sys.argv[1], sys.argv[2:] or ["tests/ops"]
environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")


def seconds(ranks):
    start = time.monotonic()
    words = ([] if ranks == 1 else ["mpirun", "-n", str(ranks)]) + [program, "check", *folders, "--jobs", "1"]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    if done.returncode > 1:  # 1: some case fails, which takes its time as well
        sys.exit(done.stderr.strip() or f"'check' ended with exit code {done.returncode}")
    return time.monotonic() - start


if not shutil.which("mpirun"):
    sys.exit(0)
one, two = min(seconds(1) for _ in range(3)), min(seconds(2) for _ in range(3))
print(f"check on one rank {one:.3g} s")
print(f"check on two ranks {two:.3g} s")
print(f"speed of two ranks beside one {one / two:.3g} x goal 1.8 {'met' if one / two >= 1.8 else 'missed'}")
sys.exit(0 if one / two >= 1.8 else 1)
