"""The messages of a server against the declarations that are published with the protocol: `debugProtocol.d.ts` of the npm package
@vscode/debugprotocol, which @vscode/debugadapter-testsupport brings along (NODE_PATH). Where it is not installed `find()` gives None."""
import os
import re

TOKENS = re.compile(r"'[^']*'|[A-Za-z_]\w*|[{}\[\]():;?|&<>=,]")


def find():
    for folder in filter(None, os.environ.get("NODE_PATH", "").split(os.pathsep)):
        path = os.path.join(folder, "@vscode", "debugprotocol", "lib", "debugProtocol.d.ts")
        if os.path.isfile(path):
            return Declarations(path)
    return None


class Declarations:
    """Types are ("object", {name: (type, is optional)}, bases), ("list", type), ("union", [types]), ("literal", text), ("map", type) and names."""

    def __init__(self, path):
        with open(path) as file:
            text = re.sub(r"/\*.*?\*/|//[^\n]*", "", file.read(), flags=re.S)
        self.tokens, self.at, self.named = TOKENS.findall(text), 0, {}
        while self.at < len(self.tokens):
            word = self.take()
            if word == "interface":
                self.interface()
            elif word == "type":
                name = self.take()
                self.take("=")
                self.named[name] = self.union()

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted=None):
        token = self.peek()
        assert wanted is None or token == wanted, (wanted, token)
        self.at += 1
        return token

    def interface(self):
        name, bases = self.take(), []
        if self.peek() == "extends":
            self.take()
            bases.append(self.take())
        _, members, _ = self.members()
        self.named[name] = ("object", members, bases)

    def members(self):
        self.take("{")
        members = {}
        while self.peek() != "}":
            if self.peek() == "[":  # { [key: string]: T }
                while self.take() != "]":
                    pass
                self.take(":")
                members["*"] = (self.union(), True)
            else:
                name, optional = self.take(), self.peek() == "?"
                if optional:
                    self.take()
                self.take(":")
                members[name] = (self.union(), optional)
            if self.peek() in (";", ","):
                self.take()
        self.take("}")
        return "object", members, []

    def union(self):
        types = [self.one()]
        while self.peek() == "|":
            self.take()
            types.append(self.one())
        return types[0] if len(types) == 1 else ("union", types)

    def one(self):
        if self.peek() == "{":
            found = self.members()
        elif self.peek() == "(":
            self.take()
            found = self.union()
            self.take(")")
        else:
            token = self.take()
            found = ("literal", token[1:-1]) if token.startswith("'") else token
        while self.peek() == "[":
            self.take("[")
            self.take("]")
            found = ("list", found)
        return found

    def all_members(self, shape):
        members = {}
        for base in shape[2]:
            members.update(self.all_members(self.named[base]))
        members.update(shape[1])
        return members

    def fits(self, value, shape, at, found):
        """Adds to `found` what does not fit."""
        if isinstance(shape, str):
            simple = {"string": str, "boolean": bool, "null": type(None), "object": dict}
            if shape == "any":
                return
            if shape == "number":
                if isinstance(value, bool) or not isinstance(value, (int, float)):
                    found.append(f"{at}: {value!r} is no number")
            elif shape in simple:
                if not isinstance(value, simple[shape]):
                    found.append(f"{at}: {value!r} is no {shape}")
            else:
                self.fits(value, self.named[shape], at, found)
        elif shape[0] == "literal":
            if value != shape[1]:
                found.append(f"{at}: {value!r} is not '{shape[1]}'")
        elif shape[0] == "list":
            if not isinstance(value, list):
                found.append(f"{at}: {value!r} is no list")
                return
            for k, item in enumerate(value):
                self.fits(item, shape[1], f"{at}[{k}]", found)
        elif shape[0] == "union":
            tried = []
            for one in shape[1]:
                problems = []
                self.fits(value, one, at, problems)
                if not problems:
                    return
                tried += problems
            found.append(f"{at}: {value!r} is none of what may be there ({tried[0]})")
        elif not isinstance(value, dict):
            found.append(f"{at}: {value!r} is no object")
        else:
            members = self.all_members(shape)
            for name, (inner, optional) in members.items():
                if name in value:
                    self.fits(value[name], inner, f"{at}.{name}", found)
                elif not optional and name != "*":
                    found.append(f"{at}: '{name}' is missing")
            for name in value.keys() - members.keys():
                if "*" in members:
                    self.fits(value[name], members["*"][0], f"{at}.{name}", found)
                else:
                    found.append(f"{at}: '{name}' is not declared")

    def problems(self, message):
        if message["type"] == "event":
            name = message["event"]
            declared = name[0].upper() + name[1:] + "Event"
        elif message["type"] == "request":
            declared = message["command"][0].upper() + message["command"][1:] + "Request"
        elif not message["success"]:
            declared = "ErrorResponse"
        else:
            command = message["command"]
            declared = "Response" if command.startswith("loopscope/") else command[0].upper() + command[1:] + "Response"
        found = []
        if declared not in self.named:
            return [f"{declared} is not declared"]
        self.fits(message, declared, declared, found)
        return found
