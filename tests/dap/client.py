"""A client of the Debug Adapter Protocol for tests: starts `loopscope dap`, sends requests, waits for responses and events, and holds every
message that comes against the shapes that the protocol's specification gives it (shapes.py), and against its published declarations where
they are installed (published.py)."""
import json
import queue
import subprocess
import threading

import published
from shapes import problems

PUBLISHED = published.find()  # None: shapes.py alone


class Refused(Exception):
    """A response with success = false."""


class Client:
    def __init__(self, program, words=("dap",)):
        self.process = subprocess.Popen([program, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.seq = 0
        self.messages = queue.Queue()
        self.kept = []  # events that nobody has waited for
        self.commands = {}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        out = self.process.stdout
        while True:
            length = None
            while True:
                line = out.readline()
                if not line:
                    self.messages.put(None)
                    return
                if line == b"\r\n":
                    break
                name, _, value = line.partition(b":")
                assert name == b"Content-Length", line
                length = int(value)
            self.messages.put(json.loads(out.read(length)))

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, command, arguments=None):
        self.seq += 1
        message = {"seq": self.seq, "type": "request", "command": command}
        if arguments is not None:
            message["arguments"] = arguments
        self.commands[self.seq] = command
        self._write(message)
        return self.seq

    def send_message(self, message):
        """Anything but a request: an answer to what the server asked."""
        self.seq += 1
        self._write({"seq": self.seq, **message})

    def _write(self, message):
        body = json.dumps(message).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    def _next(self, timeout=60):
        message = self.messages.get(timeout=timeout)
        assert message is not None, "the server has gone"
        wrong = problems(message) + (PUBLISHED.problems(message) if PUBLISHED else [])
        assert not wrong, (wrong, message)
        return message

    def response(self, seq):
        while True:
            message = self._next()
            if message["type"] == "response" and message["request_seq"] == seq:
                if not message["success"]:
                    raise Refused(message["message"])
                assert message["command"] == self.commands.get(seq, message["command"])
                return message.get("body", {})
            self.kept.append(message)

    def ask(self, request, **arguments):
        return self.response(self.send(request, arguments))

    def refused(self, request, **arguments):
        """The message of a request that must fail."""
        try:
            body = self.ask(request, **arguments)
        except Refused as refusal:
            return str(refusal)
        raise AssertionError(f"{request} was answered: {body}")

    def request(self, name):
        """What the server asks of the client."""
        while True:
            message = next((m for m in self.kept if m.get("type") == "request"), None) or self._next()
            if message["type"] == "request" and message["command"] == name:
                self.kept = [m for m in self.kept if m is not message]
                return message
            self.kept.append(message)

    def event(self, name):
        for message in self.kept:
            if message.get("event") == name:
                self.kept.remove(message)
                return message.get("body", {})
        while True:
            message = self._next()
            if message.get("event") == name:
                return message.get("body", {})
            self.kept.append(message)

    def launch(self, program, breakpoints=(), filters=(), initialize=None, **arguments):
        """Up to the first stop, which is returned; none: `stopped` is for the caller."""
        able = dict(adapterID="loopscope", supportsVariablePaging=True, supportsProgressReporting=True,
                    supportsInvalidatedEvent=True, supportsMemoryEvent=True)
        able.update(initialize or {})
        self.capabilities = self.ask("initialize", **able)
        self.ask("launch", program=program, **arguments)
        self.event("initialized")
        self.set_breakpoints(program, breakpoints)
        self.ask("setExceptionBreakpoints", filters=list(filters))
        self.ask("configurationDone")
        return self.event("stopped")

    def set_breakpoints(self, path, breakpoints):
        return self.ask("setBreakpoints", source={"path": path}, breakpoints=list(breakpoints))["breakpoints"]

    def go(self, request, **arguments):
        """A request that moves; where it stopped."""
        self.ask(request, threadId=1, **arguments)
        return self.event("stopped")

    def top(self):
        return self.ask("stackTrace", threadId=1)["stackFrames"][0]

    def scope(self, name, frame=None):
        frame = frame or self.top()
        scopes = self.ask("scopes", frameId=frame["id"])["scopes"]
        return next(scope for scope in scopes if scope["name"] == name)

    def rows(self, name, frame=None, **page):
        return self.ask("variables", variablesReference=self.scope(name, frame)["variablesReference"], **page)["variables"]

    def value(self, expression, context="watch"):
        return self.ask("evaluate", expression=expression, frameId=self.top()["id"], context=context)["result"]

    def end(self):
        self.ask("disconnect")
        assert self.process.wait(timeout=20) == 0
