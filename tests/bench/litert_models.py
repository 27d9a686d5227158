"""Times LiteRT on models beside ours: reads lines `model PATH VALUE ms` and adds LiteRT's time with its optimized kernels and with XNNPACK.

One thread, zeros as inputs, the best of ten runs. The goal is at most 4 times the optimized kernels, with PROFILE=fast the time of XNNPACK for
half of the models and twice that for each. Says so where LiteRT is not installed.
"""
import os
import sys
import time

try:
    import numpy
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError:
    print("litert_models skipped: no LiteRT in this Python")
    sys.exit(0)


def best_ms(path, **options):
    runner = Interpreter(model_path=path, num_threads=1, **options)
    runner.allocate_tensors()
    for detail in runner.get_input_details():
        runner.set_tensor(detail["index"], numpy.zeros(detail["shape"], detail["dtype"]))
    best = float("inf")
    for run in range(11):
        begin = time.perf_counter_ns()
        runner.invoke()
        if run > 0:
            best = min(best, time.perf_counter_ns() - begin)
    return best / 1e6


ratios = []
for line in sys.stdin:
    words = line.split()
    if len(words) != 4 or words[0] != "model":
        continue
    path, ours = words[1], float(words[2])
    if os.environ.get("PROFILE") == "fast":
        try:
            delegate = best_ms(path)
        except (RuntimeError, ValueError) as error:
            print(f"litert {path} skipped: {str(error).splitlines()[0][:100]}")
            continue
        ratios.append(ours / delegate)
        print(f"litert {path} XNNPACK {delegate:.3g} ms")
        print(f"model_ratio {ratios[-1]:.3g} times goal 2 {'met' if ratios[-1] <= 2 else 'missed'}")
        continue
    optimized = best_ms(path, experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    ratio = ours / optimized
    print(f"litert {path} optimized {optimized:.3g} ms, XNNPACK {best_ms(path):.3g} ms")
    print(f"model_ratio {ratio:.3g} times goal 4 {'met' if ratio <= 4 else 'missed'}")
if ratios:
    median = sorted(ratios)[len(ratios) // 2]
    print(f"model_ratio_median {median:.3g} times goal 1 {'met' if median <= 1 else 'missed'}")
