"""How long the server of the Debug Adapter Protocol takes from a stop to the first page of variables, at 10,000 values in scope, and for a step.
Usage: dap_bench.py PROGRAM. Lines as those of the other measurements (tests/bench/run)."""
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "dap"))
from client import Client  # noqa: E402

VALUES, ROUNDS, PAGE = 10_000, 30, 100
missed = False


def line(name, value, unit, goal):
    global missed
    verdict = "met" if value <= goal else "missed"
    missed = missed or verdict == "missed"
    print(f"{name} {value:.3g} {unit} goal {goal} {verdict}")


def write_model(path):
    """A chain of operators: what is in scope grows by one with each."""
    with open(path, "w") as file:
        file.write("lsir 1\ngraph main(v0: f32[4]) {\n")
        for k in range(VALUES):
            file.write(f"  v{k + 1} = neg(v{k}) : f32[4]\n")
        file.write(f"  return v{VALUES}\n}}\n")


def median_ms(ask):
    times = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        ask()
        times.append((time.perf_counter() - started) * 1e3)
    return statistics.median(times)


def engine_step_ms(program, model):
    """A step of the debugger without a protocol: many of them, less the start."""
    def seconds(steps):
        commands = ["--ex", "start"] + (["--ex", f"step {steps}"] if steps else [])
        started = time.perf_counter()
        subprocess.run([program, "debug", model, "-i", "v0=1", "--batch", *commands], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - started

    return max(0.0, (seconds(5000) - seconds(0)) / 5000 * 1e3)


with tempfile.TemporaryDirectory() as folder:
    model = os.path.join(folder, "chain.lsir")
    write_model(model)
    client = Client(sys.argv[1])
    client.launch(model, inputs={"v0": 1}, breakpoints=[{"line": VALUES - ROUNDS * 3}])

    def first_page():
        frame = client.ask("stackTrace", threadId=1, startFrame=0, levels=1)["stackFrames"][0]
        scopes = client.ask("scopes", frameId=frame["id"])["scopes"]
        largest = max(scopes, key=lambda scope: scope.get("namedVariables", 0) + scope.get("indexedVariables", 0))
        rows = client.ask("variables", variablesReference=largest["variablesReference"], start=0, count=PAGE)["variables"]
        assert rows, largest

    shown = []
    steps = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        client.go("next")
        stopped = time.perf_counter()
        first_page()
        steps.append((stopped - started) * 1e3)
        shown.append((time.perf_counter() - stopped) * 1e3)
    line("dap_stop_to_variables", statistics.median(shown), "ms", 20)
    line("dap_step_over_engine", max(0.0, statistics.median(steps) - engine_step_ms(sys.argv[1], model)), "ms", 5)
    client.process.kill()
sys.exit(1 if missed else 0)
