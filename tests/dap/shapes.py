"""What the specification of the Debug Adapter Protocol says of the messages that a server sends: required members and the types of all
that occur. `problems(message)` lists what does not fit; a member that no shape names is a problem, too."""

S, I, B, N, O = str, int, bool, (int, float), dict


def lst(shape):
    return [shape]


# A name that ends in `?` is optional.
SOURCE = {"name?": S, "path?": S, "sourceReference?": I, "origin?": S}
BREAKPOINT = {"id?": I, "verified": B, "message?": S, "source?": SOURCE, "line?": I, "instructionReference?": S, "reason?": S}
HINT = {"kind?": S, "attributes?": lst(S)}
VARIABLE = {"name": S, "value": S, "type?": S, "presentationHint?": HINT, "evaluateName?": S, "variablesReference": I,
            "namedVariables?": I, "indexedVariables?": I, "memoryReference?": S, "declarationLocationReference?": I}
VALUE = {"type?": S, "variablesReference?": I, "namedVariables?": I, "indexedVariables?": I, "memoryReference?": S}
FRAME = {"id": I, "name": S, "source?": SOURCE, "line": I, "column": I, "canRestart?": B, "instructionPointerReference?": S,
         "moduleId?": (int, str)}
SCOPE = {"name": S, "presentationHint?": S, "variablesReference": I, "namedVariables?": I, "indexedVariables?": I, "expensive": B}
BREAKPOINTS = {"breakpoints": lst(BREAKPOINT)}
INSTRUCTION = {"address": S, "instruction": S, "symbol?": S, "location?": SOURCE, "line?": I, "presentationHint?": S}
FILTER = {"filter": S, "label": S, "description?": S, "default?": B, "supportsCondition?": B, "conditionDescription?": S}

RESPONSES = {
    "initialize": {"*": B, "exceptionBreakpointFilters?": lst(FILTER), "completionTriggerCharacters?": lst(S)},
    "setBreakpoints": BREAKPOINTS, "setFunctionBreakpoints": BREAKPOINTS, "setDataBreakpoints": BREAKPOINTS,
    "setInstructionBreakpoints": BREAKPOINTS, "setExceptionBreakpoints": {"breakpoints?": lst(BREAKPOINT)},
    "dataBreakpointInfo": {"dataId": (str, type(None)), "description": S, "accessTypes?": lst(S), "canPersist?": B},
    "breakpointLocations": {"breakpoints": lst({"line": I, "column?": I})},
    "continue": {"allThreadsContinued?": B},
    "threads": {"threads": lst({"id": I, "name": S})},
    "stackTrace": {"stackFrames": lst(FRAME), "totalFrames?": I},
    "scopes": {"scopes": lst(SCOPE)},
    "variables": {"variables": lst(VARIABLE)},
    "setVariable": {"value": S, **VALUE}, "setExpression": {"value": S, **VALUE},
    "evaluate": {"result": S, **VALUE, "variablesReference": I, "presentationHint?": HINT},
    "source": {"content": S, "mimeType?": S},
    "loadedSources": {"sources": lst(SOURCE)},
    "modules": {"modules": lst({"id": (int, str), "name": S, "path?": S, "symbolStatus?": S, "addressRange?": S}), "totalModules?": I},
    "stepInTargets": {"targets": lst({"id": I, "label": S, "line?": I})},
    "gotoTargets": {"targets": lst({"id": I, "label": S, "line": I, "instructionPointerReference?": S})},
    "completions": {"targets": lst({"label": S, "text?": S, "detail?": S, "type?": S, "start?": I, "length?": I})},
    "exceptionInfo": {"exceptionId": S, "description?": S, "breakMode": S,
                      "details?": {"message?": S, "typeName?": S, "fullTypeName?": S, "evaluateName?": S, "stackTrace?": S}},
    "disassemble": {"instructions": lst(INSTRUCTION)},
    "readMemory": {"address": S, "unreadableBytes?": I, "data?": S},
    "writeMemory": {"offset?": I, "bytesWritten?": I},
    "locations": {"source": SOURCE, "line": I},
}
EVENTS = {
    "initialized": {}, "terminated": {},
    "stopped": {"reason": S, "description?": S, "threadId?": I, "text?": S, "allThreadsStopped?": B, "hitBreakpointIds?": lst(I)},
    "exited": {"exitCode": I},
    "thread": {"reason": S, "threadId": I},
    "output": {"category?": S, "output": S},
    "breakpoint": {"reason": S, "breakpoint": BREAKPOINT},
    "loadedSource": {"reason": S, "source": SOURCE},
    "process": {"name": S, "systemProcessId?": I, "isLocalProcess?": B, "startMethod?": S},
    "capabilities": {"capabilities": {"*": B}},
    "progressStart": {"progressId": S, "title": S, "requestId?": I, "cancellable?": B},
    "progressUpdate": {"progressId": S, "message?": S, "percentage?": N},
    "progressEnd": {"progressId": S},
    "invalidated": {"areas?": lst(S), "threadId?": I},
    "memory": {"memoryReference": S, "offset": I, "count": I},
}
REQUESTS = {"startDebugging": {"request": S, "configuration": O}}  # to the client
ERROR = {"error?": {"id": I, "format": S, "variables?": {"*": S}, "showUser?": B}}
MESSAGES = {
    "response": {"seq": I, "type": S, "request_seq": I, "success": B, "command": S, "message?": S, "body?": O},
    "event": {"seq": I, "type": S, "event": S, "body?": O},
    "request": {"seq": I, "type": S, "command": S, "arguments?": O},
}


def check(value, shape, at, found):
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            found.append(f"{at}: an object is expected")
            return
        known = {name.rstrip("?"): one for name, one in shape.items()}
        for name in shape:
            if not name.endswith("?") and name != "*" and name not in value:
                found.append(f"{at}: '{name}' is missing")
        for name, member in value.items():
            one = known.get(name, known.get("*"))
            if one is None:
                found.append(f"{at}: '{name}' is not in the specification's shape")
            else:
                check(member, one, f"{at}.{name}", found)
    elif isinstance(shape, list):
        if not isinstance(value, list):
            found.append(f"{at}: a list is expected")
            return
        for i, item in enumerate(value):
            check(item, shape[0], f"{at}[{i}]", found)
    elif not isinstance(value, shape) or (isinstance(value, bool) and shape is not B):
        found.append(f"{at}: {value!r} is no {shape}")


def problems(message):
    found = []
    kind = message.get("type")
    if kind not in MESSAGES:
        return [f"type {kind!r}"]
    check(message, MESSAGES[kind], kind, found)
    if kind == "request":
        if message["command"] not in REQUESTS:
            return found + [f"request {message['command']!r} is unknown"]
        check(message.get("arguments", {}), REQUESTS[message["command"]], message["command"], found)
        return found
    body = message.get("body", {})
    if kind == "event":
        if message["event"] not in EVENTS:
            return found + [f"event {message['event']!r} is unknown"]
        check(body, EVENTS[message["event"]], message["event"], found)
    elif not message["success"]:
        check(body, ERROR, "error", found)
    else:
        check(body, RESPONSES.get(message["command"], {}), message["command"], found)
    return found
