"""Times LiteRT on a While model, for the figure beside ours: litert_while.py MODEL.tflite TRIPS.

Prints nothing but one line `litert_while_iteration VALUE ns`, or says that LiteRT is not installed here (exit 0: the product needs no LiteRT).
"""
import sys
import time

try:
    import numpy
    from ai_edge_litert import interpreter as litert
except ImportError:
    print("litert_while_iteration skipped: no LiteRT in this Python")
    sys.exit(0)

model, trips = sys.argv[1], int(sys.argv[2])
runner = litert.Interpreter(model_path=model, num_threads=1,
                            experimental_op_resolver_type=litert.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
runner.allocate_tensors()
for detail in runner.get_input_details():
    runner.set_tensor(detail["index"], numpy.array(trips, dtype=detail["dtype"]))
best = float("inf")
for _ in range(5):
    begin = time.perf_counter_ns()
    runner.invoke()
    best = min(best, time.perf_counter_ns() - begin)
print(f"litert_while_iteration {best / trips:.1f} ns")
