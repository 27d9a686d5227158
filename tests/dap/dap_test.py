"""`loopscope dap` as an editor uses it. Usage: dap_test.py PROGRAM [NAME]: runs all tests, or those whose name holds NAME."""
import base64
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
from client import Client, Refused  # noqa: E402

PROGRAM = sys.argv[1]
NESTED = os.path.abspath("samples/text/nested_loops.lsir")
COLLATZ = os.path.abspath("samples/text/collatz.lsir")
NAN = os.path.abspath("samples/text/nan_at_613.lsir")
DECODER = os.path.abspath("samples/text/decoder.lsir")
V1 = os.path.abspath("samples/text/v1_collatz.lsir")
COUNTER = os.path.abspath("samples/text/counter.lsir")


def line_of(path, text):
    with open(path) as file:
        return next(i for i, line in enumerate(file, 1) if text in line)


def launched(program, name="", **arguments):
    client = Client(PROGRAM)
    client.first = client.launch(program, **arguments)
    return client


def test_iteration_37_step_back_edit_continue():
    """The inner loop of a nested one: stop in its iteration 37, step, go back, edit, go on, and see what the edit came to."""
    at = line_of(NESTED, "product = mul")
    client = launched(NESTED, breakpoints=[{"line": at, "condition": "iter == 37 and r == 2"}], inputs={"rows": 4, "columns": 50})
    assert client.first["reason"] == "breakpoint" and client.first["hitBreakpointIds"], client.first
    frames = client.ask("stackTrace", threadId=1)["stackFrames"]
    assert [f["name"] for f in frames] == ["cell, iteration 37", "row, iteration 2", "main"], frames
    assert frames[0]["line"] == at and frames[0]["source"]["path"] == NESTED
    assert {row["name"]: row["value"] for row in client.rows("Carried")} == {"c": "37", "c_max": "50", "r": "2", "sum": "2557"}
    # rows 0 and 1 sum to 0 + 1225; 2 * (0 + … + 36) = 1332: 2557 before iteration 37
    assert client.go("next")["reason"] == "step"
    assert client.value("product") == "74" and client.top()["line"] == at + 1
    assert client.go("stepBack")["reason"] == "step" and client.top()["line"] == at
    assert client.ask("setVariable", variablesReference=client.scope("Carried")["variablesReference"], name="sum", value="0")["value"] == "0"
    client.event("invalidated")
    client.set_breakpoints(NESTED, [])
    stop = client.go("continue")
    assert stop["reason"] == "end", stop
    # From there: 2 * (37 + … + 49) + 3 * 1225 = 1118 + 3675
    assert client.rows("Outputs")[0]["value"] == "4793", client.rows("Outputs")
    assert "total" in "".join(m["body"]["output"] for m in client.kept if m.get("event") == "output")
    client.ask("continue", threadId=1)  # nothing comes after the end
    assert client.event("exited")["exitCode"] == 0
    client.event("terminated")
    client.end()


def test_stops_at_nan_and_says_why():
    client = launched(NAN, filters=["nan"], inputs={"n": 1000})
    assert client.first["reason"] == "exception" and "NaN" in client.first["description"], client.first
    info = client.ask("exceptionInfo", threadId=1)
    assert info["exceptionId"] == "NaN" and "div" in info["details"]["stackTrace"], info
    assert client.top()["name"] == "filter, iteration 613"
    assert client.value("x") == "0" and client.value("gain") == "nan"
    assert client.go("stepBack")["reason"] == "step" and client.value("prev(gain) > 0.99") == "true"
    client.end()


def test_moves_in_every_direction():
    client = launched(COLLATZ, stopOnEntry=True, inputs={"x": 27})
    assert client.first["reason"] == "entry"
    targets = client.ask("stepInTargets", frameId=client.top()["id"])["targets"]
    assert [t["label"] for t in targets] == ["cond", "body"], targets
    client.go("stepIn", targetId=targets[1]["id"])
    assert client.top()["name"] == "step, iteration 0"
    branch = line_of(COLLATZ, "next_n = if")
    targets = client.ask("gotoTargets", source={"path": COLLATZ}, line=branch)["targets"]
    assert targets[0]["label"] == "main/while#0@0:body/if#2", targets
    client.go("goto", targetId=targets[0]["id"])
    assert client.top()["line"] == branch
    client.go("stepIn")
    assert client.top()["name"] == "triple"
    assert client.go("stepOut")["reason"] == "step" and client.value("next_n") == "82"
    client.go("stepBack")
    assert client.top()["line"] == branch
    client.go("stepIn")
    client.go("loopscope/stepBackOut")
    assert client.top()["line"] == branch
    client.go("loopscope/iterate", iteration=37)
    assert client.value("iter, n") == "37, 593"
    client.go("loopscope/iterate", offset=-1)
    assert client.value("iter") == "36"
    client.go("restartFrame", frameId=client.top()["id"])
    assert client.top()["line"] == line_of(COLLATZ, "rest   = floor_mod")
    assert client.go("loopscope/goto", place="end")["reason"] in ("goto", "end") and client.rows("Outputs")
    assert client.go("reverseContinue")["reason"] == "start"
    assert client.go("stepBack", granularity="instruction")["reason"] == "start"
    client.end()


def test_breakpoints_of_every_kind():
    client = launched(COLLATZ, stopOnEntry=True, inputs={"x": 27})
    lines = client.ask("breakpointLocations", source={"path": COLLATZ}, line=1, endLine=100)["breakpoints"]
    assert [l["line"] for l in lines] == [line_of(COLLATZ, t) for t in
        ("while(", "not_equal", "floor_mod", "equal(rest", "= if(", "add(count", "floor_div", "mul(n", "odd = add")]
    # A line without an operator moves to the next one of its graph.
    moved = client.set_breakpoints(COLLATZ, [{"line": line_of(COLLATZ, "three = const"), "hitCondition": ">= 3"}])
    assert moved[0]["verified"] and moved[0]["line"] == line_of(COLLATZ, "tripled"), moved
    client.go("continue")
    assert client.top()["name"] == "triple" and client.value("n") == "31"
    client.set_breakpoints(COLLATZ, [])
    named = client.ask("setFunctionBreakpoints", breakpoints=[{"name": "half", "condition": "n > 5000"}, {"name": "iter while#0 90"}, {"name": "nosuch kind of"}])
    assert [b["verified"] for b in named["breakpoints"]] == [True, True, False], named
    assert client.go("continue")["reason"] == "function breakpoint" and client.top()["name"] == "half"
    assert client.value("n") == "7288"
    client.ask("setFunctionBreakpoints", breakpoints=[])
    carried = client.ask("scopes", frameId=client.ask("stackTrace", threadId=1)["stackFrames"][1]["id"])["scopes"][0]
    info = client.ask("dataBreakpointInfo", variablesReference=carried["variablesReference"], name="count")
    assert info["dataId"], info
    told = client.ask("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"], "condition": "count == 100"}])
    assert told["breakpoints"][0]["verified"], told
    assert client.go("continue")["reason"] == "data breakpoint" and client.value("count") == "100"
    client.ask("setDataBreakpoints", breakpoints=[])
    code = client.ask("disassemble", memoryReference="0x0", instructionOffset=-1, instructionCount=20)["instructions"]
    assert len(code) == 20 and code[0]["presentationHint"] == "invalid" and code[1]["instruction"] == "while x zero  ; interpreter", code
    assert code[3]["instruction"] == "floor_mod n two  ; reference kernel", code[3]
    halve = next(one for one in code if one["instruction"].startswith("floor_div"))
    client.ask("setInstructionBreakpoints", breakpoints=[{"instructionReference": halve["address"]}])
    assert client.go("continue")["reason"] == "instruction breakpoint" and client.top()["name"] == "half"
    client.ask("setInstructionBreakpoints", breakpoints=[])
    filters = client.ask("setExceptionBreakpoints", filters=["error", "differs", "overflow"])["breakpoints"]
    assert [f["verified"] for f in filters] == [True, False, True], filters
    client.ask("setExceptionBreakpoints", filters=[], filterOptions=[{"filterId": "inf", "condition": "true"}])
    client.set_breakpoints(COLLATZ, [{"line": line_of(COLLATZ, "odd = add"), "logMessage": "odd after {tripled}"}])
    client.go("continue")
    assert "odd after 15" in "".join(m["body"]["output"] for m in client.kept if m.get("event") == "output")
    client.end()


def test_names_with_slashes():
    """Nodes of TensorFlow as function breakpoints, wherever they run, and as places typed where they are not of the frame's graph."""
    folder = tempfile.mkdtemp()
    raised = os.path.join(folder, "raised.lsir")
    subprocess.run([PROGRAM, "raise", V1, "-o", raised, "-q"], check=True, stdout=subprocess.DEVNULL)
    for program, node in ((V1, "steps/now"), (raised, "x/next/If")):
        client = launched(program, stopOnEntry=True, inputs={"n": 27}, fetch="count")
        told = client.ask("setFunctionBreakpoints", breakpoints=[{"name": node, "hitCondition": "4"}, {"name": "steps/nw"}])["breakpoints"]
        assert [b["verified"] for b in told] == [True, False] and "steps/now" in told[1]["message"], told
        assert client.go("continue")["reason"] == "function breakpoint"
        shown = next(line for line in client.value("list", "repl").splitlines() if line.startswith(" =>"))
        assert "iteration 3" in client.top()["name"] and re.search(rf"\d+ +{node} +=", shown), (client.top(), shown)
        client.end()
    client = launched(raised, stopOnEntry=True, inputs={"n": 27}, fetch="count")
    client.go("loopscope/goto", place="collatz@5/x/next/If:then/triple")
    client.go("loopscope/goto", place="x/next/If")
    assert client.top()["name"] == "collatz_body, iteration 5", client.top()
    client.end()
    shutil.rmtree(folder)


def test_values_are_paged():
    with open("/dev/shm/dap_wide.lsir" if os.path.isdir("/dev/shm") else "dap_wide.lsir", "w") as file:
        file.write("graph main(x: f32[3,5000]) {\n")
        names = ["x"]
        for i in range(2000):
            file.write(f"  v{i} = neg({names[-1] if i < 3 else 'v1'}) : f32[3,5000]\n")
            names.append(f"v{i}")
        file.write("  return v1999\n}\n")
    client = launched(file.name, stopOnEntry=True, inputs={"x": "@7"})
    client.go("loopscope/goto", place="neg#1990")
    assert client.scope("Results")["namedVariables"] >= 1
    began = time.monotonic()
    page = client.rows("Results", start=0, count=1)
    assert len(page) == 1 and page[0]["indexedVariables"] == 3
    client.time = time.monotonic() - began
    rows = client.ask("variables", variablesReference=page[0]["variablesReference"])["variables"]
    assert [r["name"] for r in rows] == ["[0]", "[1]", "[2]"] and rows[0]["indexedVariables"] == 5000
    ranges = client.ask("variables", variablesReference=rows[2]["variablesReference"])["variables"]
    assert ranges[4]["name"] == "[4000..4999]", [r["name"] for r in ranges]
    some = client.ask("variables", variablesReference=rows[2]["variablesReference"], start=4990, count=100)["variables"]
    assert [r["name"] for r in some] == [f"[{i}]" for i in range(4990, 5000)]
    inside = client.ask("variables", variablesReference=ranges[4]["variablesReference"], start=998)["variables"]
    assert [r["name"] for r in inside] == ["[4998]", "[4999]"]
    assert inside[0]["value"] == client.value(f"{page[0]['name']}[2,4998]")
    client.end()
    os.remove(file.name)


def test_kernels_of_a_profile():
    client = launched(NAN, stopOnEntry=True, profile="fast", inputs={"n": 10})
    code = [one["instruction"] for one in client.ask("disassemble", memoryReference="0x0", instructionCount=20)["instructions"]]
    assert any(one.endswith("; fast kernel") for one in code) or any("(no fast kernel)" in one for one in code), code
    client.end()


def test_expressions_commands_and_completions():
    client = launched(COLLATZ, breakpoints=[{"line": line_of(COLLATZ, "= if("), "condition": "iter == 37"}], inputs={"x": 27})
    assert client.value("n * 2", "hover") == "1186" and client.value("[n, count]") == "[593 37]"
    assert "no value 'nosuch'" in client.refused("evaluate", expression="nosuch", frameId=client.top()["id"], context="watch")
    assert "37" in client.value("info loop", "repl") and client.value("n", "repl") == "593"
    client.ask("evaluate", expression="iter 40", context="repl")  # moves
    assert client.event("stopped")["threadId"] == 1 and client.value("iter") == "40"
    client.ask("evaluate", expression=":break type mul", context="repl")
    made = client.event("breakpoint")
    assert made["reason"] == "new" and made["breakpoint"]["message"] == "type mul", made
    client.ask("evaluate", expression=":delete", context="repl")
    labels = [t["label"] for t in client.ask("completions", text="coun", column=5)["targets"]]
    assert "count" in labels, labels
    assert "reverse-step" in [t["label"] for t in client.ask("completions", text="reverse-s", column=10)["targets"]]
    assert client.ask("setExpression", expression="n", value="1", frameId=client.top()["id"])["value"] == "1"
    assert client.value("n") == "1"
    client.end()


def test_memory():
    client = launched(NAN, stopOnEntry=True, inputs={"n": 10})
    client.go("loopscope/goto", place="main/while#0@3:body/add#6")
    row = next(r for r in client.rows("Carried") if r["name"] == "state")
    where = row["memoryReference"]
    read = base64.b64decode(client.ask("readMemory", memoryReference=where, count=1000)["data"])
    assert [round(v, 4) for v in struct.unpack("<4f", read)] == [round(float(client.value(f"state[{i}]")), 4) for i in range(4)]
    client.ask("writeMemory", memoryReference=where, offset=4, data=base64.b64encode(struct.pack("<f", 0.5)).decode())
    client.event("memory")
    client.event("invalidated")
    assert client.value("state[1]") == "0.5"
    client.ask("writeMemory", memoryReference=where, offset=0, data=base64.b64encode(struct.pack("<4f", 1, 2, 3, 4)).decode())
    assert client.value("state") == "[1 2 3 4]", client.value("state")
    assert client.ask("readMemory", memoryReference=where, offset=12, count=8)["unreadableBytes"] == 4
    for wrong in ({"offset": 14, "data": "AAAA"}, {"offset": -1, "data": "AAAA"}, {"data": "?"}):
        client.refused("writeMemory", memoryReference=where, **wrong)
    client.refused("readMemory", memoryReference="g9v9", count=1)
    client.end()


def test_sources_modules_and_locations():
    client = launched(COLLATZ, stopOnEntry=True, view="structured", inputs={"x": 6})
    sources = client.ask("loadedSources")["sources"]
    assert [s.get("sourceReference", 0) for s in sources] == [1, 2, 0], sources
    text = client.ask("source", sourceReference=2, source=sources[1])["content"]
    assert "body step:" in text
    assert client.top()["source"]["sourceReference"] == 2
    line = next(i for i, l in enumerate(text.splitlines(), 1) if "floor_div" in l)
    told = client.ask("setBreakpoints", source={"sourceReference": 2}, breakpoints=[{"line": line}])["breakpoints"]
    assert told[0]["verified"], told
    client.go("continue")
    assert client.top()["line"] == line and client.top()["name"] == "half"
    modules = client.ask("modules", startModule=1, moduleCount=2)
    assert [m["name"] for m in modules["modules"]] == ["not_one", "step"] and modules["totalModules"] == 5
    client.go("loopscope/goto", place="main/while#0@1:body/if#2")
    row = client.rows("Results")[0]
    place = client.ask("locations", locationReference=row["declarationLocationReference"])
    assert "floor_mod" in text.splitlines()[place["line"] - 1]
    client.refused("source", sourceReference=77)
    client.end()


def test_variables_of_the_session_and_restart():
    client = launched(COUNTER, stopOnEntry=True, **counter_inputs())
    client.go("loopscope/goto", place="end")
    first = client.rows("Variables")
    assert first, "no variable"
    client.ask("restart")
    client.event("stopped")
    client.go("loopscope/goto", place="end")
    assert client.rows("Variables") and [r["value"] for r in client.rows("Variables")] == [r["value"] for r in first]
    client.ask("terminate")
    client.event("terminated")
    assert "too early" in client.refused("stackTrace", threadId=1)
    client.end()


def test_files_named_by_uris_and_files_of_others():
    folder = tempfile.mkdtemp()
    copy = os.path.join(folder, "my model.lsir")
    shutil.copy(COLLATZ, copy)
    uri = "file://" + copy.replace(" ", "%20")
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x", pathFormat="uri", linesStartAt1=False)
    client.ask("launch", program=copy, inputs={"x": 27})
    client.event("initialized")
    at = line_of(copy, "= if(") - 1
    told = client.ask("setBreakpoints", source={"path": uri}, breakpoints=[{"line": at, "condition": "iter == 3"}])["breakpoints"]
    assert told[0]["verified"] and told[0]["line"] == at and told[0]["source"]["path"] == uri, told
    # An editor sends the breakpoints of every file that it knows.
    others = client.ask("setBreakpoints", source={"path": "file:///nosuch%2"}, breakpoints=[{"line": 1}, {"line": 2}])["breakpoints"]
    assert [one["verified"] for one in others] == [False, False] and "not the model" in others[0]["message"], others
    client.ask("configurationDone")
    client.event("stopped")
    assert client.top()["source"]["path"] == uri and client.top()["line"] == at, client.top()
    client.end()
    shutil.rmtree(folder)
    client = Client(PROGRAM)
    assert "pathFormat" in client.refused("initialize", adapterID="x", pathFormat="dos")
    client.end()


def test_the_reference_beside():
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x", supportsStartDebuggingRequest=True)
    client.ask("launch", program=COLLATZ, inputs={"x": 27}, against=COLLATZ, beside=True, stopOnEntry=True)
    asked = client.request("startDebugging")["arguments"]
    assert asked["request"] == "launch" and asked["configuration"]["program"] == COLLATZ, asked
    second = launched(**asked["configuration"])  # what an editor does with it
    assert second.first["reason"] == "entry"
    second.end()
    client.event("initialized")
    client.ask("configurationDone")
    client.event("stopped")
    client.send_message({"type": "response", "request_seq": 1, "success": False, "command": "startDebugging", "message": "no room"})
    assert client.value("1 + 1") == "2"
    assert "no room" in "".join(m["body"]["output"] for m in client.kept if m.get("event") == "output")
    client.end()
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x")
    assert "can begin no other session" in client.refused("launch", program=COLLATZ, inputs={"x": 27}, against=COLLATZ, beside=True)
    assert "expected 'against'" in client.refused("launch", program=COLLATZ, inputs={"x": 27}, beside=True).replace("found nothing, ", "")
    client.ask("launch", program=COLLATZ, inputs={"x": 27})  # a refused one leaves nothing behind
    client.end()


def test_the_loop_around_a_model():
    client = launched(DECODER, breakpoints=[{"line": line_of(DECODER, "other    = add"), "condition": "iter == 3"}],
                      inputs={"token": [1], "position": [0], "cache": 0}, calls=6,
                      **{"feed-back": ["next_token=token", "next_position=position", "next_cache=cache"]})
    frames = client.ask("stackTrace", threadId=1)["stackFrames"]
    assert [f["name"] for f in frames] == ["main", "one_call, iteration 3", "host"], frames
    assert frames[0]["line"] == line_of(DECODER, "other    = add") and frames[0]["source"]["path"] == DECODER
    carried = client.rows("Carried", frame=frames[1])
    assert {"token", "position", "cache"} <= {row["name"] for row in carried}, carried
    client.go("loopscope/iterate", iteration=5)
    assert client.value("iter") == "5"
    client.go("loopscope/goto", place="call@1/main/add#8")
    assert client.value("iter") == "1"
    client.go("loopscope/goto", place="end")
    assert "stopped after 6 calls" in client.value("why stop", "repl")
    client.end()


def counter_inputs():
    with open(COUNTER) as file:
        head = next(line for line in file if line.startswith("graph main("))
    return {"inputs": {name: "@rand" for name in re.findall(r"(\w+): [a-z]+\d+\[", head)}}


def test_pause_breakpoints_and_cancel_while_running():
    sum_loop = os.path.abspath("samples/text/nested_loops.lsir")
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x", supportsProgressReporting=True)
    client.ask("launch", program=sum_loop, inputs={"rows": 1000000, "columns": 1000000}, stopOnEntry=True)
    client.event("initialized")
    client.ask("configurationDone")
    client.event("stopped")
    client.ask("continue", threadId=1)
    assert client.ask("threads")["threads"]
    assert client.refused("stackTrace", threadId=1) == "notStopped"
    client.event("progressStart")
    client.ask("pause", threadId=1)
    assert client.event("stopped")["reason"] == "pause"
    client.event("progressEnd")
    client.ask("continue", threadId=1)
    # Set while it runs, which it is interrupted for: it stops at the next iteration without having been paused.
    client.set_breakpoints(sum_loop, [{"line": line_of(sum_loop, "product = mul")}])
    assert client.event("stopped")["reason"] == "breakpoint"
    client.set_breakpoints(sum_loop, [])
    running = client.send("continue", {"threadId": 1})
    client.response(running)
    client.ask("cancel", requestId=running)
    assert client.event("stopped")["reason"] == "pause"
    client.ask("continue", threadId=1)
    client.end()  # while it runs


def test_recording_and_replay():
    trace = os.path.abspath("dap_test.lstrace")
    client = launched(COLLATZ, inputs={"x": 27}, trace=trace, level="values", stopAtEnd=True)
    client.ask("evaluate", expression=":record off", context="repl")
    client.end()
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x")
    client.ask("attach", trace=trace)
    assert client.event("capabilities")["capabilities"]["supportsSetVariable"] is False
    client.event("initialized")
    client.ask("configurationDone")
    assert client.event("stopped")["reason"] == "entry"
    client.go("loopscope/goto", place="main/while#0@37:body/if#2")
    assert client.value("n") == "593"
    client.refused("setExpression", expression="n", value="1")
    client.end()
    os.remove(trace)


def test_ends_like_a_program():
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x")
    client.ask("launch", program=COLLATZ, inputs={"x": 27}, noDebug=True)
    client.event("initialized")
    client.ask("configurationDone")
    assert client.event("exited")["exitCode"] == 0
    assert "steps: i32[] = 111" in "".join(m["body"]["output"] for m in client.kept if m.get("event") == "output")
    client.event("terminated")
    client.end()


def test_bad_launches():
    client = Client(PROGRAM)
    client.ask("initialize", adapterID="x")
    assert "no such file" in client.refused("launch", program="nosuch.tflite")
    assert "missing" in client.refused("launch", program=COLLATZ)
    assert "no such input" in client.refused("launch", program=COLLATZ, inputs={"y": 1})
    assert "standard input" in client.refused("launch", program=COLLATZ, inputs={"x": "-"})
    assert "expected 'program'" in client.refused("launch").replace("found nothing, ", "")
    assert "signature" in client.refused("launch", program=COLLATZ, inputs={"x": 1}, signature="nosuch")
    client.ask("launch", program=COLLATZ, inputs={"x": 1})
    client.refused("launch", program=COLLATZ, inputs={"x": 1})
    client.end()


def test_nonsense():
    client = Client(PROGRAM)
    client.refused("stackTrace", threadId=1)  # before initialize
    client.ask("initialize", adapterID="x")
    assert "did you mean 'stackTrace'" in client.refused("stackTrce")
    for garbage in (b"Content-Length: 3\r\n\r\n{{{", b"Content-Length: -1\r\n\r\n", b"X: y\r\n\r\n", b"Content-Length: 4\r\n\r\nnull",
                    b"Content-Length: 99999999999\r\n\r\n", b"Content-Length: 2\r\n\r\n[]",
                    b"Content-Length: 300\r\n\r\n" + b"[" * 300):
        client.send_bytes(garbage)
        message = client._next()
        assert message["type"] == "response" and not message["success"], message
    client.ask("launch", program=COLLATZ, inputs={"x": 27}, stopOnEntry=True)
    client.event("initialized")
    assert "too early" in client.refused("continue", threadId=1)
    client.ask("configurationDone")
    client.event("stopped")
    client.go("loopscope/goto", place="main/while#0@5:body")
    # Every request with arguments of every wrong kind: an answer or an error, and the session lives on.
    names = re.findall(r'RequestSpec\{"([^"]+)"', open("app/dap/requests.cpp").read())
    assert len([n for n in names if "/" not in n]) >= 42, len(names)
    moving = {"disconnect", "terminate", "terminateThreads", "restart", "launch", "attach", "continue", "stepOut"}
    for name in names:
        if name in moving:
            continue
        for arguments in (None, {}, [], 7, "x", {"threadId": "a", "frameId": -1, "variablesReference": 10**18, "source": 5, "line": "x",
                          "expression": 5, "breakpoints": 7, "memoryReference": {}, "targetId": 10**9, "name": None},
                          {"frameId": 99999, "variablesReference": 5, "source": {"sourceReference": 1}, "line": -5, "expression": "((((",
                           "breakpoints": [5, {}, {"line": "x"}], "memoryReference": "0x" + "f" * 40, "instructionCount": 10**12,
                           "count": -1, "start": -5, "text": "x", "column": 10**12, "offset": -2**62, "place": "\x00", "name": "]", "value": "]"}):
            seq = client.send(name, arguments)
            try:
                client.response(seq)
            except Refused:
                pass
    assert client.value("1 + 1") == "2"
    client.end()


def test_vanishing_clients_leave_no_process():
    for moment in ("initialize", "stopped", "running"):
        client = Client(PROGRAM)
        client.ask("initialize", adapterID="x")
        if moment != "initialize":
            client.ask("launch", program=NESTED, inputs={"rows": 1000000, "columns": 1000000}, stopOnEntry=moment == "stopped")
            client.event("initialized")
            client.ask("configurationDone")
        if moment == "stopped":
            client.event("stopped")
        client.process.stdin.close()
        assert client.process.wait(timeout=20) == 0, moment


def test_port_with_token():
    server = subprocess.Popen([PROGRAM, "dap", "--listen", "0"], stdout=subprocess.PIPE, text=True)
    port, token = re.match(r"listening on 127\.0\.0\.1:(\d+) token ([0-9a-f]{32})", server.stdout.readline()).groups()

    class Remote(Client):
        def __init__(self):
            self.socket = socket.create_connection(("127.0.0.1", int(port)))
            files = self.socket.makefile("wb"), self.socket.makefile("rb")
            real, subprocess.Popen = subprocess.Popen, lambda *_, **__: type("P", (), {"stdin": files[0], "stdout": files[1]})()
            try:
                super().__init__(PROGRAM)
            finally:
                subprocess.Popen = real

    try:
        talk_to(server, Remote, token)
    finally:
        server.kill()


def talk_to(server, Remote, token):
    wrong = Remote()
    wrong.ask("initialize", adapterID="x")
    assert "token" in wrong.refused("launch", program=COLLATZ, inputs={"x": 6})
    right = Remote()
    right.ask("initialize", adapterID="x")
    right.ask("launch", program=COLLATZ, inputs={"x": 6}, token=token, stopOnEntry=True)
    right.event("initialized")
    right.ask("configurationDone")
    right.event("stopped")
    right.socket.shutdown(socket.SHUT_RDWR)  # vanishes
    again = Remote()
    again.ask("initialize", adapterID="x")
    again.ask("disconnect")
    # One that asks and asks and never reads what it is answered holds nobody up for long.
    deaf = socket.create_connection(("127.0.0.1", again.socket.getpeername()[1]))
    body = b'{"seq": 1, "type": "request", "command": "%s"}' % (b"x" * 4000)
    deaf.sendall(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) * 2000)
    last = Remote()
    last.ask("initialize", adapterID="x")
    last.ask("disconnect")
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=20)


def test_page_lists_the_requests():
    """docs/editors.md holds a row for each request, and no other."""
    table = dict(re.findall(r'RequestSpec\{"([^"]+)",.*?\n?.*?"([^"]*)"\}', open("app/dap/requests.cpp").read()))
    page = dict(re.findall(r"^\| `([\w/]+)` \| (.*) \|$", open("docs/editors.md").read(), re.M))
    for name, summary in table.items():
        assert page.get(name) == summary, (name, page.get(name), summary)
    assert set(table) == {n for n in page if n in table}


def main():
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    failed = 0
    for name, test in list(globals().items()):
        if not name.startswith("test_") or wanted not in name:
            continue
        try:
            test()
            print("ok  ", name, flush=True)
        except Exception as error:  # noqa: BLE001: the next test shall run
            import traceback
            traceback.print_exc()
            failed += 1
            print("FAIL", name, type(error).__name__, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
