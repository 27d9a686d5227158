"""The Python package on the sample models: `python -m pytest python/tests/package_test.py` from the top of the tree."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import loopscope

TEXT = os.path.join(os.path.dirname(__file__), "..", "..", "samples", "text")


def sample(name):
    return os.path.join(TEXT, name)


def test_runs_arrays():
    model = loopscope.load(sample("collatz.lsir"))
    assert [(p.name, p.dtype, p.shape) for p in model.inputs] == [("x", "int32", ())]
    out = model.run({"x": np.int32(27)})
    assert out["n"] == 1 and out["steps"] == 111 and out["steps"].dtype == np.int32
    assert model(x=6)["steps"] == 8
    assert model.run({"x": "27"})["steps"] == 111  # a source
    assert "next_n = if(even, n)" in model.listing() and "body step:" in model.listing(structured=True)
    assert "collatz" in repr(model)


def test_arrays_of_every_kind(tmp_path):
    path = tmp_path / "neg.lsir"
    path.write_text("lsir 1\ngraph main(x: f32[4]) {\n  y = neg(x) : f32[4]\n  return y\n}\n")
    model, want = loopscope.load(path), np.array([-1, -2, -3, -4], np.float32)
    numbers = np.arange(1, 5, dtype=np.float32)
    np.savez(tmp_path / "x.npz", x=numbers)
    for given in (numbers.astype(">f4"), np.repeat(numbers, 2)[::2], [1, 2, 3, 4], np.load(tmp_path / "x.npz")["x"]):
        np.testing.assert_array_equal(model.run({"x": given})["y"], want)
    np.testing.assert_array_equal(model.run(np.load(tmp_path / "x.npz"))["y"], want)
    for wrong in (None, [[1, 2], [3]], np.array([1, None], dtype=object), np.array(["2020-01-01"], dtype="M8[D]"), object()):
        with pytest.raises(loopscope.UsageError, match="input 'x'"):
            model.run({"x": wrong})
    with pytest.raises(TypeError, match="expected a dictionary"):
        model.run(5)


LIST = """graph main {
  x = Placeholder() dtype=f32 shape=shape[2] : f32[2]
  shape = Const() dtype=i32 value=i32[1] [2] : i32
  three = Const() dtype=i32 value=i32[] 3 : i32
  one = Const() dtype=i32 value=i32[] 1 : i32
  empty = EmptyTensorList(shape, three) element_dtype=f32 shape_type=i32 : variant
  list = TensorListReserve(shape, three) element_dtype=f32 shape_type=i32 : variant
  set = TensorListSetItem(list, one, x) element_dtype=f32 : variant
  dense/y = Mul(x, x) T=f32 : f32
}
"""


def test_lists_of_tensors_are_lists(tmp_path):
    path = tmp_path / "list.lsir"
    path.write_text(LIST)
    model, x = loopscope.load(path, fetch="set,empty,dense/y"), np.array([3, 4], np.float32)
    values = model.values({"x": x})
    assert values["empty"] == [] and [len(one) for one in values["list"]] == [0, 0, 0]
    assert [list(one) for one in values["set"]] == [[], [3, 4], []] and values["set"][0].dtype == np.float32
    rows = model.compare({"x": x}, {"dense": np.array([9, 16], np.float32)})
    assert [(row["name"], row["equal"], row["value"]) for row in rows] == [("dense", True, "dense/y")]
    assert model.compare({"x": x}, {"set": np.zeros((3, 2), np.float32)})[0]["value"] is None
    trace = model.trace({"x": x}, keep="...")
    assert [list(one) for one in trace.arrays("main/set")["main/set:0"]] == [[], [3, 4], []]
    session = model.session({"x": x})
    session.run()
    assert [list(one) for one in session["set"]] == [[], [3, 4], []] and session["empty"] == []
    given = model.run({"x": x})
    assert [list(one) for one in given["set"]] == [[], [3, 4], []] and given["empty"] == []


def test_layers_are_found_under_the_numbers_of_copies():
    values = {"sequential_1/lstm_1/out": np.ones(3), "sequential_1/dense_1/out": np.zeros(2), "sequential_1/dense_2_1/out": np.ones(2)}
    found = {row["name"]: row["value"] for row in loopscope.compare_layers(values, {"lstm": np.ones(3), "dense_1": np.zeros(2), "conv": np.ones(3)})}
    assert found == {"lstm": "sequential_1/lstm_1/out", "dense_1": "sequential_1/dense_1/out", "conv": None}


def test_threads_take_turns():
    model = loopscope.load(sample("collatz.lsir"))
    session = loopscope.Session(sample("collatz.lsir"), {"x": 27})
    session.start()
    wrong = []

    def use(k):
        for _ in range(50):
            if model(x=np.int32(27 + k))["steps"] != want[k] or session["x"] != 27:
                wrong.append(k)

    want = [int(model(x=27 + k)["steps"]) for k in range(4)]
    threads = [threading.Thread(target=use, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_ctrl_c_stops_all_and_stays_pythons():
    models = [loopscope.load(sample("nested_loops.lsir"), max_steps=10**15) for _ in range(2)]
    ended = []

    def run(model):
        try:
            model.run(rows=10**6, columns=10**6)
        except KeyboardInterrupt:
            ended.append(model)

    other = threading.Thread(target=run, args=(models[1],))
    other.start()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    run(models[0])
    other.join()
    assert len(ended) == 2 and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        time.sleep(60)


def test_state_carries_over_until_reset():
    model = loopscope.load(sample("counter.lsir"))
    assert [float(model(x=1.0)["after"]) for _ in range(3)] == [101, 102, 103]
    model.reset()
    assert model(x=np.float32(5))["after"] == 105


def test_errors_have_types_and_the_words_of_the_command_line():
    with pytest.raises(loopscope.BadFileError, match="no such file"):
        loopscope.load("nosuch.tflite")
    model = loopscope.load(sample("collatz.lsir"))
    with pytest.raises(loopscope.UsageError, match=r"input 'x': found f64\[\], expected i32\[\]"):
        model.run({"x": np.float64(1)})
    with pytest.raises(ValueError, match=r"found i32\[2\]"):
        model.run({"x": np.zeros(2, np.int32)})
    with pytest.raises(loopscope.UsageError, match="missing"):
        model.run({})
    with pytest.raises(loopscope.UsageError, match="no such input .*did you mean 'x'"):
        model.run({"x": 1, "X": 1})
    with pytest.raises(loopscope.UsageError, match="unknown option"):
        loopscope.load(sample("collatz.lsir"), nosuch=1)
    with pytest.raises(loopscope.ExecutionError, match="step budget"):
        loopscope.load(sample("collatz.lsir"), max_steps=5).run(x=27)
    assert issubclass(loopscope.ExecutionError, loopscope.Error)
    assert model.run(x=27)["steps"] == 111  # it lives on


def test_other_threads_run_and_ctrl_c_stops():
    model = loopscope.load(sample("nested_loops.lsir"), max_steps=10**15)
    ticks = []
    threading.Timer(0.3, lambda: ticks.append(1)).start()
    threading.Timer(0.8, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        model.run(rows=10**6, columns=10**6)
    assert ticks == [1] and time.monotonic() - began < 60
    assert model.run(rows=3, columns=3)["total"] == 9
    session = loopscope.Session(sample("nested_loops.lsir"), {"rows": 10**6, "columns": 10**6})
    session.start()
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        session.resume()
    assert session.stop.step > 0 and session.back().step >= 0


def test_session_moves_and_edits():
    session = loopscope.Session(sample("collatz.lsir"), {"x": 27})
    assert session.stop is None
    number = session.break_at(".../if#2", when="iter == 37")
    stop = session.run()
    assert stop.breakpoints == (number,) and stop.address == "main/while#0@37:body/if#2" and stop.iteration == 37
    assert session["n"] == 593 and session["n, count"] == (593, 37)
    assert session.step().address == "main/while#0@37:body/if#2:else/mul#0"
    assert session.back().address == stop.address
    assert session.goto("main/while#0@40:body/if#2").iteration == 40
    assert session.iteration(37).step == stop.step
    history = session.history("n")
    assert len(history) == 111 and history[0] == 27 and history.max() == 9232
    session["n"] = 4
    assert session["n"] == 4 and session.stop.timeline == 2
    session.delete()
    assert session.resume().finished
    assert session.print("steps").endswith("= 47")  # even was false already: 3 * 4 + 1
    with pytest.raises(loopscope.UsageError, match="no value 'nosuch'"):
        session["nosuch"]


def test_states_have_a_history_over_the_calls():
    session = loopscope.Session(sample("counter.lsir"), {"x": 2}, calls=5)
    assert session.run().finished
    np.testing.assert_array_equal(session.history("after"), [102, 104, 106, 108, 110])
    np.testing.assert_array_equal(session.history("var:total"), [np.nan, 102, 104, 106, 108])  # as each call begins
    with pytest.raises(loopscope.UsageError, match="no variable 'totl' in this run.*did you mean 'total'"):
        session.history("var:totl")


def test_breakpoints_may_be_functions():
    session = loopscope.Session(sample("collatz.lsir"), {"x": 27})
    seen = []

    def decide(here):
        seen.append(int(here["n"]))
        return len(seen) > 3 and here["n"] > 1000

    session.break_at("graph triple", when=decide)
    stop = session.run()
    assert not stop.finished and seen[:3] == [27, 41, 31] and seen[-1] > 1000
    assert session["n"] == seen[-1]


def test_edits_with_arrays_and_nan():
    session = loopscope.Session(sample("nan_at_613.lsir"), {"n": 1000})
    session.break_at("nan")
    assert "NaN" in session.run().reasons[0]
    assert "div" in session.why("nan gain")
    session.goto("main/while#0@600:body/add#6")
    session["state"] = np.array([1, 2, 3, 4], np.float32)
    np.testing.assert_array_equal(session["state"], np.array([1, 2, 3, 4], np.float32))
    session["state[1]"] = 7.5
    assert session["state[1]"] == 7.5
    assert "state" in session._repr_html_() or "add" in session._repr_html_()


def test_traces(tmp_path):
    model = loopscope.load(sample("collatz.lsir"))
    trace = model.trace({"x": 27}, tmp_path / "run.lstrace")
    rows = trace.rows("branch-counts")
    assert {row["taken"]: row["times"] for row in rows} == {"else": 41, "then": 70}, rows
    assert trace.rows("SELECT count(*) AS n FROM event")[0]["n"] > 100
    assert "first-nan" in trace.recipes()
    assert len(trace.query("branch-counts")) == 2
    replay = trace.session()
    replay.start()
    assert replay.goto("main/while#0@37:body/if#2").address == "main/while#0@37:body/if#2"
    assert replay["n"] == 593
    with pytest.raises(loopscope.UsageError):
        trace.rows("nosuch-recipe")


def test_pictures():
    model = loopscope.load(sample("collatz.lsir"))
    assert model._repr_svg_().lstrip().startswith("<?xml") or "<svg" in model._repr_svg_()
    assert "<table>" in model._repr_html_() and model.png()[:4] == b"\x89PNG"


def test_compare():
    rows = loopscope.compare({"a": np.array([1.0, 2.0]), "b": np.array([1])}, {"a": np.array([1.0, 2.5]), "b": np.array([1])})
    assert rows[0]["name"] == "a" and not rows[0]["equal"] and rows[0]["max_abs"] == 0.5 and rows[0]["at"] == (1,)
    assert rows[1]["equal"]


def test_large_arrays_change_hands_without_being_copied(tmp_path):
    (tmp_path / "wide.lsir").write_text("lsir 1\ngraph main(x: f32[256,256]) {\n  y = neg(x) : f32[256,256]\n  return y\n}\n")
    model = loopscope.load(tmp_path / "wide.lsir")
    x = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
    first = model.run({"x": x})["y"]
    assert not first.flags.owndata and first.flags.writeable  # the engine's memory, now its own
    second = model.run({"x": x + 1})["y"]
    np.testing.assert_array_equal(first, -x)  # a later run leaves it alone
    np.testing.assert_array_equal(second, -(x + 1))
    second[0, 0] = 7
    places = {first.ctypes.data, second.ctypes.data}
    del first, second
    model.run({"x": x})
    assert model.run({"x": x})["y"].ctypes.data in places  # memory that came back is used again
    with pytest.raises(loopscope.UsageError, match="missing"):
        model.run({})
    np.testing.assert_array_equal(model.run({"x": x[:, ::-1]})["y"], -x[:, ::-1])  # not contiguous: copied
    unaligned = np.frombuffer(b"\0" + x.tobytes(), np.uint8)[1:].view(np.float32).reshape(x.shape)
    np.testing.assert_array_equal(model.run({"x": unaligned})["y"], -x)
    kept = model.run({"x": x})["y"]
    del model
    np.testing.assert_array_equal(kept, -x)  # and outlives the model


def test_the_loop_around_a_model():
    model = loopscope.load(sample("decoder.lsir"), calls=6,
                           feed_back=["next_token=token", "next_position=position", "next_cache=cache"])
    start = {"token": np.array([1], np.int32), "position": np.array([0], np.int32), "cache": np.zeros((8, 4), np.float32)}
    out = model.run(start)
    assert out["next_token"] == [5] and out["next_position"] == [6]
    session = loopscope.Session(sample("decoder.lsir"), start, calls=6,
                                feed_back=["next_token=token", "next_position=position", "next_cache=cache"])
    session.break_at("call@3/main/add#8")
    stop = session.run()
    assert stop.address == "call@3/main/add#8" and stop.frames == ("host", "call@3", "call@3/main")
    assert session.history("next_token").tolist() == [2, 5, 0, 5, 0, 5]
    assert session.goto("call@5/main/add#11").step == 87


def test_pictures_of_tensors():
    session = loopscope.Session(sample("nan_at_613.lsir"), {"n": 1000})
    session.break_at("nan")
    session.run()
    assert session.picture("state")._repr_svg_().count("<svg") == 1 and "state" in session.picture("state")._repr_html_()
    shown = loopscope.picture(np.array([[1.0, -2.0], [np.nan, 0.0]]), "m")
    assert shown._repr_svg_().count("<rect") == 4 and "#a020c0" in shown._repr_svg_()
    assert shown.statistics() == {"min": -2, "max": 1, "mean": pytest.approx(-1 / 3), "std": pytest.approx(1.2472191), "zeros": 1, "nan": 1, "inf": 0}
    assert loopscope.picture(np.zeros((3, 1000, 500)))._repr_svg_().count("<rect") <= 64 * 64  # thinned out
    assert loopscope.picture(np.array([b"text"]))._repr_svg_() is None and "text" in loopscope.picture(np.array([b"text"]))._repr_html_()


def test_compare_with_a_layer_dump():
    model = loopscope.load(sample("layers_float.lsir"))
    x = np.linspace(-1, 1, int(np.prod(model.inputs[0].shape)), dtype=np.float32).reshape(model.inputs[0].shape)
    values = model.values({model.inputs[0].name: x})
    assert list(values) == ["first", "second", "third"]
    dump = {"first": values["first"], "second": values["second"] + 0.5, "other": x}
    rows = model.compare({model.inputs[0].name: x}, dump)
    assert [(row["name"], row["value"], row["equal"]) for row in rows] == [
        ("first", "first", True), ("second", "second", False), ("other", None, False)]
    assert rows[1]["max_abs"] == pytest.approx(0.5)
    # As PyTorch names modules and lays out pictures, and Keras its layers.
    picture = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4)
    computed = {"functional/block1/conv/Conv2D": picture, "functional/block1/conv/Relu": picture * 2, "functional/block2/conv/Relu": picture * 3}
    torch = {"block1.conv": np.moveaxis(picture * 2, -1, 1), "block2.conv": np.moveaxis(picture * 3, -1, 1)}
    assert [(row["value"], row["equal"]) for row in loopscope.compare_layers(computed, torch)] == [
        ("functional/block1/conv/Relu", True), ("functional/block2/conv/Relu", True)]


def test_layers_are_found_by_the_names_of_the_file(tmp_path):
    # As converters write them: an operator has the names of all that it was made of, the last one first; an output has the name of none.
    (tmp_path / "named.lsir").write_text("""lsir 1
graph main(x: f32[1,2,2,2]) {
  w = const f32[4,8] splat 0.5

  relu = abs(x) : f32[1,2,2,2]
  out = fully_connected(relu, w) keep_num_dims=false weights_format=DEFAULT : f32[1,4]
  return out
}
names main {
  w = "net/fc_1/MatMul"
  relu = "net/relu_1/Relu;net/conv_1/BiasAdd;net/conv_1/convolution"
  out = "StatefulPartitionedCall:0"
}
""")
    model = loopscope.load(tmp_path / "named.lsir")
    x = np.arange(-4, 4, dtype=np.float32).reshape(1, 2, 2, 2)
    dump = {"conv": x, "relu": np.moveaxis(abs(x), -1, 1), "fc": np.full((1, 4), 8, np.float32), "pool": x}  # channels first, though the shape is the same
    for rows in (model.compare({"x": x}, dump), model.trace({"x": x}, keep="...").compare(dump)):
        assert [(row["name"], row["value"], row["fused_into"], row["equal"]) for row in rows] == [
            ("conv", None, "relu", False), ("relu", "relu", None, True), ("fc", "out", None, True), ("pool", None, None, False)]


def test_answers_become_tables(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    trace = loopscope.load(sample("collatz.lsir")).trace({"x": 27})
    assert list(trace.query("branch-counts").columns) == ["op", "taken", "times", "first", "last"]
    trace.to_parquet("branch-counts", tmp_path / "branches.parquet")
    assert pandas.read_parquet(tmp_path / "branches.parquet")["times"].tolist() == [41, 70]


def test_a_program_that_imports_it_ends_well():
    done = subprocess.run([sys.executable, "-c", "import loopscope; print(loopscope.__version__)"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == loopscope.__version__
