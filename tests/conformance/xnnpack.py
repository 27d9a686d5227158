"""Holds the profile `xnnpack` against LiteRT with its default delegate: xnnpack.py LOOPSCOPE.

Every model of the corpus (the folder LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree) of which the delegate takes something and whose
results are 8-bit integers, or floats that are made of such, runs in both. Exit 77, "skipped", without LiteRT in this Python or without a corpus.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import numpy as np
    from ai_edge_litert.interpreter import Interpreter
except ImportError:
    print("skipped: no LiteRT in this Python")
    sys.exit(77)

# Share of the runs that have to be bit-equal.
GOAL = 0.95


def litert(model, values):
    interpreter = Interpreter(model_path=str(model), num_threads=1)
    details = interpreter.get_input_details()
    for detail, value in zip(details, values):
        if list(detail["shape"]) != list(value.shape):
            interpreter.resize_tensor_input(detail["index"], value.shape)
    interpreter.allocate_tensors()
    if "DELEGATE" not in {op["op_name"] for op in interpreter._get_ops_details()}:
        return None  # the delegate left all of it alone
    for detail, value in zip(details, values):
        interpreter.set_tensor(detail["index"], value)
    interpreter.invoke()
    return [interpreter.get_tensor(detail["index"]) for detail in interpreter.get_output_details()]


def ours(program, model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "out.npz"
        done = subprocess.run([program, "run", str(model), "-i", str(inputs), "-o", str(out), "--profile", "xnnpack"],
                              capture_output=True, text=True)
        if done.returncode != 0 or "no operator has a kernel of it" in done.stderr:
            return None
        arrays = np.load(out)
        return [arrays[name] for name in arrays.files]


def child(program, folder, case, run):
    """0: equal, 1: differs, 2: nothing to compare."""
    inputs = folder / run["in"]
    try:
        arrays = np.load(inputs)
        want = litert(folder / case["model"], [arrays[name] for name in arrays.files])
    except Exception:
        return 2
    if want is None:
        return 2
    got = ours(program, folder / case["model"], inputs)
    if got is None:
        return 2
    return 0 if all(a.shape == b.shape and np.array_equal(a, b) for a, b in zip(got, want)) else 1


def in_child(program, folder, case, run):
    """In a process of its own: LiteRT ends the program on some models."""
    pid = os.fork()
    if pid == 0:
        code = 2
        try:
            code = child(program, folder, case, run)
        finally:
            os._exit(code)
    status = os.waitpid(pid, 0)[1]
    return os.WEXITSTATUS(status) if os.WIFEXITED(status) else 2


def main():
    program = sys.argv[1]
    top = pathlib.Path(__file__).resolve().parents[2]
    corpus = pathlib.Path(os.environ.get("LOOPSCOPE_CORPUS", top / ".." / "shared" / "corpus"))
    equal = compared = 0
    for folder in (corpus / "tflite-real", corpus / "tflite-ops"):
        if not (folder / "cases.jsonl").exists():
            print(f"skipped: no {folder.name}")
            sys.exit(77)
        for line in open(folder / "cases.jsonl"):
            case = json.loads(line)
            if case.get("format") != "tflite" or not case["model"].endswith(".tflite"):
                continue
            for number, run in enumerate(case.get("runs") or []):
                kinds = {output["dtype"] for output in run.get("outputs") or []}
                made = {"QUANTIZE", "DEQUANTIZE"} & set(case.get("ops") or {})
                if not kinds or not kinds <= ({"int8", "uint8", "float32"} if made else {"int8", "uint8"}):
                    continue
                code = in_child(program, folder, case, run)
                if code not in (0, 1):
                    continue
                compared += 1
                equal += code == 0
                if code == 1:
                    print(f"differs: {case['id']} run {number}")
    share = equal / compared if compared else 0
    print(f"{equal} of {compared} runs of quantized models are bit-equal to LiteRT with XNNPACK ({100 * share:.1f} %, goal {100 * GOAL:.0f} %)")
    sys.exit(0 if compared and share >= GOAL else 1)


main()
