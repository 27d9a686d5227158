#!/usr/bin/env python3
"""Gradients beside TensorFlow's own: `gradients.py PROGRAM [--filter TEXT] [-v]`.

A fetch of a golden case that TensorFlow's gradient code has computed says by its names what it is: `SCOPE/NODE_grad/…` is the gradient by an
operand of NODE, and what the seeds `SCOPE/grad_ys_*` flow into belongs to the node whose gradient was asked for. `loopscope grad` differentiates the same value by the
same operand; one run of what it writes computes both, and they have to agree. Gradients that are put together further (Jacobians,
Hessians, gradients of gradients, gradients with seeds of their own) are counted and named under -v, and so are those of KNOWN. The corpus is
the folder LOOPSCOPE_CORPUS, else ../shared/corpus beside the tree; exit code 77 where there is none."""
import argparse, array, ast, itertools, json, os, re, struct, subprocess, sys, tempfile, zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
CORPUS = Path(os.environ.get("LOOPSCOPE_CORPUS", TOP / ".." / "shared" / "corpus"))
NODE = re.compile(r"^  (\S+) = (\w+)\(([^)]*)\)(?:.* : \(?(.*?)\)?)?$")
REAL = ("f16", "bf16", "f32", "f64")
PART = re.compile(r"^((?:.*/)?gradients(?:_\d+)?)/(.+?)_grad(?:_\d+)?/.*$")
MOST = 16  # pairs of a value and an operand that are tried

# Where the names say something else than what was computed, or Loopscope has no such gradient.
ROWS = "a gradient in rows: their values, their numbers, their shape"
KNOWN = {
    "control_flow_ops_py/test_cond_grad_resource_var_sparse_read": ROWS,
    "control_flow_ops_py/test_while_grad_multi_resource_var_sparse_read": ROWS,
    "ops_control_flow_ops/test_gradient_through_single_branch_outside_of_context": "a Switch without a Merge is not raised",
    "function/test_custom_gradient_error": "the gradient that the function registers is wrong on purpose",
    "function/test_same_function_different_grads": "a gradient that a Python function gave is not in the graph",
    "while_v2/test_custom_gradient": "a gradient that a Python function gave is not in the graph",
}

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("--filter", default="")
parser.add_argument("-v", action="store_true")
options = parser.parse_args()


def loopscope(*words):
    return subprocess.run([options.program, *words], capture_output=True, text=True, timeout=120)


def nodes(model):
    """Of the main graph: name → kind, operands, dtypes of results."""
    found = {}
    for line in loopscope("list", str(model)).stdout.splitlines():
        if line == "}":
            break
        if one := NODE.match(line):
            found[one[1]] = (one[2], [word for word in one[3].split(", ") if word and not word.startswith("^")],
                             [word.split("[")[0] for word in (one[4] or "").split(", ")])
    return found


def arrays(path):
    with zipfile.ZipFile(path) as archive:
        result = {}
        for name in archive.namelist():
            content = archive.read(name)
            length = struct.unpack("<H", content[8:10])[0]
            head = ast.literal_eval(content[10 : 10 + length].decode())
            code = {"<f4": "f", "<f8": "d"}.get(head["descr"])
            result[name[:-4]] = array.array(code, content[10 + length :]) if code else None
        return result


def agree(a, b):
    if a is None or b is None or len(a) != len(b):
        return False
    return all(x == y or (x != x and y != y) or abs(x - y) <= 1e-5 + 1e-4 * max(abs(x), abs(y)) for x, y in zip(a, b))


def parts(graph, value, depth=0):
    """The gradients of operands that a value hands on or adds up."""
    name = value.split(":")[0]
    if name not in graph or depth > 8:
        return None
    kind, operands, _ = graph[name]
    one = PART.match(name)
    if one and one[2] in graph:
        return [(one[1], one[2])]
    if kind in ("AddN", "Identity"):
        found = [parts(graph, operand, depth + 1) for operand in operands]
        return None if None in found else [part for several in found for part in several]
    return None


def isReal(graph, value):
    """Numbers, or a variable's handle."""
    name, _, slot = value.partition(":")
    if name not in graph:
        return False
    kind, _, types = graph[name]
    return types[min(int(slot or 0), len(types) - 1)] in REAL or kind == "VarHandleOp"


def values(graph, node):
    """The real results of a node; those first that nodes outside of gradients read."""
    kind, _, types = graph[node]
    names = [node if k == 0 else f"{node}:{k}" for k in range(len(types))]
    read = {operand for name, one in graph.items() if not re.search(r"gradients(_\d+)?/", name) for operand in one[1]}
    return sorted((name for name in names if isReal(graph, name)), key=lambda name: name not in read)


def seeds(graph, scope):
    """What was differentiated: the nodes that the seeds' gradients belong to. None: a seed is no ones."""
    found = set()
    for name, (kind, _, _) in graph.items():
        if re.fullmatch(re.escape(scope) + r"/grad_ys_\d+", name) and kind not in ("Fill", "OnesLike", "Const"):
            return None
    for name, (kind, operands, _) in graph.items():
        if not name.startswith(scope + "/") or not any(re.match(re.escape(scope) + r"/(grad_ys_\d+|Fill|Const(_\d+)?)(:0)?$", word) for word in operands):
            continue
        one = PART.match(name)
        if one and one[1] == scope and one[2] in graph:
            found.add(one[2])
    return found


def initial(case):
    return [word for run in case["runs"] if not run.get("fetches") for target in run.get("targets", []) for word in ("--init", target)]


def tried(case, folder, run, fetch, of, wrt, scratch):
    """Whether a gradient agrees, or why there is none."""
    model, out = Path(scratch) / "gradient.lsir", Path(scratch) / "both.npz"
    made = loopscope("grad", str(folder / case["model"]), "--of", of, "--wrt", wrt, "-o", str(model), "--force", "--json")
    if made.returncode != 0:
        return None, made.stderr.strip().splitlines()[0]
    ours = json.loads(made.stdout.splitlines()[-1])["gradients"][0]
    words = ["run", str(model), "--fetch", f"{fetch},{ours}", "-o", str(out), "--force", "-q", *initial(case)]
    if run.get("feeds"):
        words += ["-i", str(folder / run["in"])]
    done = loopscope(*words)
    if done.returncode != 0:
        return None, (done.stderr.strip().splitlines() or ["failed"])[0]
    both = list(arrays(out).values())
    return len(both) == 2 and agree(both[0], both[1]), ""


def check(case):
    suite, case = case
    folder = CORPUS / suite
    found, seen = [], set()
    graph = nodes(folder / case["model"])
    with tempfile.TemporaryDirectory() as scratch:
        for run in case["runs"]:
            for fetch in run.get("fetches", []):
                came = parts(graph, fetch)
                if fetch in seen or (came is None and "grad" not in fetch):
                    continue
                seen.add(fetch)
                where = f"{suite}/{case['id']} {fetch}"
                if not came or len({scope for scope, _ in came}) != 1:
                    found.append((where, "other", "put together further"))
                    continue
                nodes_of = seeds(graph, came[0][0])
                operands = set.intersection(*[set(graph[node][1]) for _, node in came])
                operands = {operand for operand in operands if isReal(graph, operand)}
                of = [values(graph, node) for node in sorted(nodes_of or [])]
                if not of or not operands or not all(of):
                    found.append((where, "other", "seeds of its own" if operands else "of several operands"))
                    continue
                says = ""
                count = sum(re.fullmatch(re.escape(came[0][0]) + r"/grad_ys_\d+", name) is not None for name in graph)
                several = [one for size in (count, 1, len(of[0])) for one in itertools.combinations(of[0], size)] if len(of) == 1 else itertools.product(*of)
                chosen = list(dict.fromkeys(",".join(one) for one in several if one))
                pairs = [(y, wrt) for y in chosen for wrt in sorted(operands)]
                for y, wrt in pairs[:MOST]:
                    good, why = tried(case, folder, run, fetch, y, wrt, scratch)
                    says = says or why
                    if good:
                        found.append((where, "same", f"d {y} / d {wrt}"))
                        break
                else:
                    known = KNOWN.get(case["id"])
                    found.append((where, "known", known) if known else (where, "differs", says or f"none of {len(pairs)} pairs agrees"))
    return found


if not (CORPUS / "tf-v1" / "cases.jsonl").is_file():
    print("skipped: no golden cases here (set LOOPSCOPE_CORPUS)")
    sys.exit(77)
cases = []
for suite in ("tf-v1", "tf-v2"):
    for line in (CORPUS / suite / "cases.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["format"] == "graphdef" and options.filter in case["id"] and "gradient" in (CORPUS / suite / case["model"]).read_bytes().decode("latin1"):
            cases.append((suite, case))
with ThreadPoolExecutor(os.cpu_count()) as pool:
    results = [one for found in pool.map(check, cases) for one in found]
same = [one for one in results if one[1] == "same"]
other = [one for one in results if one[1] in ("other", "known")]
wrong = [one for one in results if one[1] == "differs"]
print(f"{len(same)} of {len(same) + len(wrong)} gradients of {len(cases)} graphs are TensorFlow's; {len(other)} are something else (-v names them)")
for where, what, why in results if options.v else wrong:
    print(f"{what:8} {where}: {why}")
sys.exit(1 if wrong or not same else 0)
