"""What a call of a model of one operator costs in Python over what the engine takes for it. Usage: wheel_bench.py PROGRAM. Skipped where the Python
that runs it has no loopscope."""
import json
import os
import subprocess
import sys
import tempfile
import timeit

try:
    import loopscope
    import numpy as np
except ImportError as missing:
    print(f"wheel_call skipped: {missing}")
    sys.exit(0)

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "one.lsir")
    with open(path, "w") as file:
        file.write("lsir 1\ngraph main(x: f32[4]) {\n  y = neg(x) : f32[4]\n  return y\n}\n")
    said = subprocess.run([sys.argv[1], "bench", path, "-i", "x=1", "--repeat", "3000", "--json"], check=True, capture_output=True, text=True).stdout
    engine = json.loads(said.splitlines()[0])["median_ns"] / 1e3
    model, inputs = loopscope.load(path), {"x": np.ones(4, np.float32)}
    count = 3000
    call = min(timeit.repeat(lambda: model.run(inputs), number=count, repeat=7)) / count * 1e6
over = max(0.0, call - engine)
print(f"wheel_call_over_engine {over:.3g} us goal 3 {'met' if over <= 3 else 'missed'}")
sys.exit(0 if over <= 3 else 1)
