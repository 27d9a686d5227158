"""How long the page of `fuse --report` takes to open in a browser, at a graph of 2,000 operators, until both pictures are laid out.
Usage: page_bench.py PROGRAM. Lines as those of the other measurements (tests/bench/run); without a browser there is nothing to measure."""
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile

OPERATORS, ROUNDS, GOAL_S, GOAL_MB = 2_000, 5, 2, 10
# Loaded, its scripts run, everything laid out.
OPENED = """<script>addEventListener('load', () => {
document.querySelectorAll('svg').forEach(picture => picture.getBBox());
document.documentElement.setAttribute('data-opened', performance.now()); });</script>"""


def write_model(path):
    """Hard swishes written out, a bias and an activation between them."""
    with open(path, "w") as file:
        file.write("lsir 1\ngraph main(v0: f32[4]) {\n  three = const f32[] 3.0\n  six = const f32[] 6.0\n  k = const f32[4] [1.0, 2.0, 3.0, 4.0]\n")
        block = ["add(v{0}, three)", "relu6(v{1})", "mul(v{0}, v{2})", "div(v{3}, six)", "add(v{4}, k)", "relu(v{5})", "tanh(v{6})", "neg(v{7})"]
        at = 0
        while at + len(block) <= OPERATORS:
            for k, text in enumerate(block):
                file.write(f"  v{at + k + 1} = {text.format(*range(at, at + len(block) + 1))} : f32[4]\n")
            at += len(block)
        file.write(f"  return v{at}\n}}\n")


def cpu_seconds(browser, folder, page):
    """What all processes of the browser take for it: others on the machine do not count."""
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime
    before = used()
    subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom", f"file://{page}"],
                   check=True, capture_output=True, timeout=120)
    return used() - before


def main():
    program = sys.argv[1]
    browser = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if browser is None:
        print("no browser here", file=sys.stderr)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        model, page = os.path.join(folder, "model.lsir"), os.path.join(folder, "page.html")
        write_model(model)
        subprocess.run([program, "fuse", model, "--report", page, "--quiet"], check=True, stdout=subprocess.DEVNULL)
        size = os.path.getsize(page) * 1e-6
        with open(page) as file:
            text = file.read()
        with open(page, "w") as file:
            file.write(text.replace("</body>", OPENED + "</body>"))
        times = []
        for _ in range(ROUNDS):
            dom = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={folder}/profile", "--dump-dom",
                                  f"file://{page}"], check=True, capture_output=True, text=True, timeout=120).stdout
            opened = re.search(r'data-opened="([0-9.]+)"', dom)
            if opened is None:
                print("the page was not drawn", file=sys.stderr)
                return 1
            times.append(float(opened[1]) * 1e-3)
        empty = os.path.join(folder, "empty.html")
        with open(empty, "w") as file:
            file.write("<!doctype html><title>nothing</title>")
        beyond = min(cpu_seconds(browser, folder, page) for _ in range(ROUNDS)) - min(cpu_seconds(browser, folder, empty) for _ in range(ROUNDS))
        print(f"page_2000_operators_cpu_beyond_an_empty_page {beyond:.3g} s")
    missed = False
    for name, value, unit, goal in (("page_2000_operators_opens_in", min(times), "s", GOAL_S),
                                    ("page_2000_operators_takes", size, "MB", GOAL_MB)):
        missed = missed or value > goal
        print(f"{name} {value:.3g} {unit} goal {goal} {'missed' if value > goal else 'met'}")
    return 1 if missed else 0


sys.exit(main())
