#!/usr/bin/env python3
"""Golden cases of TensorFlow graphs as .tflite files: `converted.py PROGRAM CORPUS KNOWN [SUITE…] [--filter TEXT]`.

Each run that needs no state of another but what initialising nodes leave (`--init`) is converted by `PROGRAM convert` and answered by
`PROGRAM run` and by LiteRT, where one is installed (ai_edge_litert); both must answer as TensorFlow did. KNOWN lists the cases that are known
not to, each with its reason: a case that newly differs fails, and so does one that is listed and agrees. `no_form.txt` beside this file lists
the cases that TFLite's operators cannot express, each with what it has none for; one of them that agrees fails, too. The share that is
printed is of all other cases. Exit code 77: there is no corpus, or no LiteRT.
With `--converter tensorflow` TensorFlow's own converter makes the files, where it is installed: the figures that docs/lowering.md shows beside ours."""
import functools, json, os, subprocess, sys, tempfile, threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path


def known_cases(path):
    lines = Path(path).read_text().splitlines()
    return {line.split()[0] for line in lines if line.strip() and not line.startswith("#")}


def node(name):
    return name[:-2] if name.endswith(":0") else name


def agree(got, want, compare):
    import numpy as np

    if got is None or got.shape != want.shape:
        return False
    if want.dtype.kind in "SO":
        return [bytes(x) if not isinstance(x, str) else x.encode() for x in np.ravel(got)] == [bytes(x) for x in np.ravel(want)]
    if compare["kind"] == "exact" and want.dtype.kind not in "fc":
        return bool(np.array_equal(got, want))
    rtol, atol = compare.get("rtol", 1e-6), compare.get("atol", 1e-6)  # floats are computed by other kernels
    return bool(np.allclose(got.astype(np.complex128), want.astype(np.complex128), rtol, atol, equal_nan=True))


def litert_answers(path, inputs):
    """Runs in a process of its own: a model that crashes it is one that it does not answer."""
    code = """
import sys, numpy as np
from ai_edge_litert.interpreter import Interpreter, OpResolverType
given = np.load(sys.argv[2], allow_pickle=True)
interpreter = Interpreter(sys.argv[1], experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
details = interpreter.get_input_details()
for k, d in enumerate(details):
    interpreter.resize_tensor_input(d["index"], given[str(k)].shape)
interpreter.allocate_tensors()
for k, d in enumerate(details):
    interpreter.set_tensor(d["index"], given[str(k)])
interpreter.invoke()
def answer(d):  # the binding hands out no empty tensors
    return np.zeros(d["shape"], d["dtype"]) if 0 in d["shape"] else interpreter.get_tensor(d["index"])
np.savez(sys.argv[3], **{str(k): answer(d) for k, d in enumerate(interpreter.get_output_details())})
"""
    out = str(path) + ".litert.npz"
    run = subprocess.run([sys.executable, "-c", code, str(path), str(inputs), out], capture_output=True, text=True, timeout=120)
    return (out, "") if run.returncode == 0 else (None, (run.stderr.strip().splitlines() or ["it crashed"])[-1])


class TensorFlowConverter:
    """TensorFlow's own converter, imported once; each graph in a fork of it: one that crashes it is one that it declines. One thread."""

    CODE = """
import functools, json, os, sys, signal
import tensorflow as tf
def convert(model, feeds, fetches, path, init):
    graph = tf.Graph()
    with graph.as_default():
        definition = tf.compat.v1.GraphDef()
        definition.ParseFromString(open(model, "rb").read())
        tf.import_graph_def(definition, name="")
        inputs = [graph.get_tensor_by_name(name) for name in feeds]
        for tensor, shape in zip(inputs, feeds.values()):
            tensor.set_shape(shape)
        with tf.compat.v1.Session(graph=graph) as session:
            for name in init:
                session.run(name)
            outputs = [graph.get_tensor_by_name(name) for name in fetches]
            converter = tf.compat.v1.lite.TFLiteConverter.from_session(session, inputs, outputs)
            open(path, "wb").write(converter.convert())
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        signal.alarm(120)
        try:
            convert(*json.loads(line))
        except BaseException as error:
            open(json.loads(line)[3] + ".why", "w").write((str(error).strip().splitlines() or ["an error"])[-1])
            os._exit(1)
        os._exit(0)
    print("outcome", os.waitpid(child, 0)[1], flush=True)
"""

    def __init__(self):
        quiet = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
        self.lock = threading.Lock()
        self.worker = subprocess.Popen(
            [sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=quiet
        )

    def __call__(self, model, feeds, run, path, init):
        with self.lock:
            self.worker.stdin.write(json.dumps([str(model), {n: list(s) for n, s in feeds.items()}, run["fetches"], str(path), init]) + "\n")
            self.worker.stdin.flush()
            for line in self.worker.stdout:
                if line.startswith("outcome"):
                    break
        if line == "outcome 0\n":
            return ""
        why = Path(str(path) + ".why")
        return why.read_text() if why.exists() else "it crashed"


def reason_of(text):
    """Why nothing was written: the first operator without a form, else the error."""
    lines = text.strip().splitlines()
    notes = [line for line in lines[1:] if line.startswith("note: main/")] if lines and "no form there" in lines[0] else []
    return (notes or lines or ["an error"])[0]


def convert_with_ours(program, model, feeds, run, path, init):
    """Its error, empty where it wrote `path`; `feeds` are names with shapes."""
    command = [program, "convert", str(model), "-o", str(path), "--force", "-q"] + [f"--init={name}" for name in init]
    for name, shape in feeds.items():
        command += ["--feed", f"{node(name)}=@1:[{','.join(map(str, shape))}]"]
    for name in run["fetches"]:
        command += ["--fetch", node(name)]
    for name in run["targets"]:
        command += ["--target", name]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return "" if made.returncode == 0 else reason_of(made.stderr)


def answers(file, run, want, compare):
    """The number of the first output that differs; None: all are as wanted."""
    import numpy as np

    got = np.load(file, allow_pickle=True)
    keys = list(got.keys())
    for k in range(len(run["fetches"])):
        if str(k) not in want:
            continue
        answer = got[str(k)] if str(k) in got else got[keys[k]] if k < len(keys) else None
        if not agree(answer, want[str(k)], compare):
            return k
    return None


def graph_answers(program, model, run, init, inputs, want, compare):
    """Whether the graph itself, in a session of its own, answers as recorded: a later run may need what earlier ones left."""
    out = str(inputs) + ".graph.npz"
    command = [program, "run", str(model), "-o", out, "--force", "-q"] + [f"--init={name}" for name in init]
    for k, name in enumerate(run["feeds"]):
        command += ["--feed", f"{node(name)}={inputs}:{k}"]
    for name in run["fetches"]:
        command += ["--fetch", node(name)]
    for name in run["targets"]:
        command += ["--target", name]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return ran.returncode == 0 and answers(out, run, want, compare) is None


def check_run(program, converter, corpus, case, run, init, folder):
    """'declined', 'agrees', or who differs and how."""
    import numpy as np

    path = Path(folder) / (case["id"].replace("/", "_") + f"_{run['out'].rsplit('/', 1)[-1]}.tflite")
    given = np.load(corpus / run["in"], allow_pickle=True)
    feeds = {name: given[str(k)].shape for k, name in enumerate(run["feeds"])}
    model = corpus / case["model"]
    reason = converter(model, feeds, run, path, init)
    if reason:
        return "declined", reason
    want = np.load(corpus / run["out"], allow_pickle=True)
    compare = case.get("compare", {"kind": "exact"})
    inputs = path.with_suffix(".in.npz")
    np.savez(inputs, **{str(k): given[str(k)] for k in range(len(run["feeds"]))})
    ours = path.with_suffix(".out.npz")
    ran = subprocess.run([program, "run", str(path), "--input", str(inputs), "-o", str(ours), "--force"], capture_output=True, text=True, timeout=120)
    theirs, reason = litert_answers(path, inputs)
    wrong = []
    for who, file, why in (("Loopscope", str(ours) if ran.returncode == 0 else None, ran.stderr.strip()[-200:]), ("LiteRT", theirs, reason)):
        if file is None:
            wrong.append(f"{who}: {why}")
            continue
        k = answers(file, run, want, compare)
        if k is not None:
            wrong.append(f"{who}: output {k} differs")
    if not wrong:
        return "agrees", ""
    if not graph_answers(program, model, run, init, inputs, want, compare):
        return "no run stands alone", ""
    return "differs", "; ".join(wrong)


def initialisers(case, number):
    """The nodes that runs before this one asked for and nothing else."""
    names = []
    for run in case["runs"][:number]:
        if not run.get("fetches") and not run.get("feeds") and "error" not in run:
            names += run.get("targets", [])
    return names


def stands_alone(case, run):
    return run.get("fetches") and "error" not in run and (case["format"] != "graphdef" or "out" in run)


def main():
    arguments = [a for a in sys.argv[1:] if not a.startswith("-")]
    wanted = sys.argv[sys.argv.index("--filter") + 1] if "--filter" in sys.argv else ""
    arguments = [a for a in arguments if a not in (wanted, "tensorflow")]
    program, corpus, known = arguments[0], Path(arguments[1]), known_cases(arguments[2])
    no_form = known_cases(Path(__file__).with_name("no_form.txt"))
    try:
        import ai_edge_litert.interpreter  # noqa: F401
    except ImportError:
        print("skipped: no LiteRT here (pip install ai-edge-litert)")
        return 77
    if not corpus.is_dir():
        print("skipped: no corpus here (set LOOPSCOPE_CORPUS)")
        return 77
    converter = TensorFlowConverter() if "--converter" in sys.argv else functools.partial(convert_with_ours, program)
    failed = 0
    for suite in arguments[3:] or ["tf-v1", "tf-v2"]:
        cases = [json.loads(line) for line in open(corpus / suite / "cases.jsonl")]
        cases = [c for c in cases if c["format"] == "graphdef" and wanted in c["id"]]
        counts = {"agrees": 0, "differs": 0, "declined": 0, "TFLite has no form": 0, "no run stands alone": 0}
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(2) as pool:

            def check(case):
                worst = ("no run stands alone", "")
                for number, run in enumerate(case["runs"]):
                    if not stands_alone(case, run):
                        continue
                    try:
                        outcome = check_run(program, converter, corpus / suite, case, run, initialisers(case, number), folder)
                    except subprocess.TimeoutExpired:
                        outcome = ("differs", "no end")
                    if outcome[0] == "differs":
                        return outcome
                    worst = outcome if worst[0] == "no run stands alone" or outcome[0] == "declined" else worst
                return worst

            for case, (outcome, reason) in zip(cases, pool.map(check, cases)):
                name = f"{suite}/{case['id']}"
                outcome = "TFLite has no form" if outcome == "declined" and name in no_form else outcome
                counts[outcome] += 1
                is_wrong = (outcome == "differs") != (name in known) and outcome in ("differs", "agrees") or outcome == "agrees" and name in no_form
                if is_wrong or wanted or outcome == "declined" and "-v" in sys.argv:
                    print(f"{name}: {outcome}  {reason}" + ("  (but is listed)" if is_wrong and outcome == "agrees" else ""))
                failed += is_wrong
        of = counts["agrees"] + counts["differs"] + counts["declined"]
        print(f"{suite}: {len(cases)} cases, " + ", ".join(f"{n} {what}" for what, n in counts.items()) + f"; {100 * counts['agrees'] / max(of, 1):.1f} % of {of}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
