"""Random graphs of what rules of fusion look for and of what only looks like it: second readers, operands that are stretched, other axes,
constants that are nearly right or not finite, tensors without elements. Each is fused and proved: nothing may crash, run for ever or stay
undecided, and nothing may come out different. Differences that only roundings made of numbers that cancel are counted: the prover's bound
knows nothing of them.
Usage: fuse_random.py PROGRAM [FIRST LAST [FOLDER]], the numbers of the graphs; those that show something stay in FOLDER."""
import json
import os
import random
import subprocess
import sys
import tempfile

SHAPES = [[2, 3], [1, 4], [2, 3, 4], [1, 5, 5, 2], [1, 6, 4, 3], [2, 4, 4, 1], [3], [2, 0, 3], [1, 1, 1, 2]]
UNARY = "relu relu6 relu_n1_to_1 neg exp tanh logistic abs sqrt rsqrt square hard_swish log floor elu".split()
BINARY = "add sub mul div add mul maximum minimum squared_difference".split()
MOST_ELEMENTS = 3000


def count(shape):
    product = 1
    for dim in shape:
        product *= dim
    return product


def stretched(a, b):
    """What two shapes are stretched to; None: they do not fit."""
    out = []
    for at in range(1, max(len(a), len(b)) + 1):
        x, y = a[-at] if at <= len(a) else 1, b[-at] if at <= len(b) else 1
        if x != y and 1 not in (x, y):
            return None
        out.insert(0, y if x == 1 else x)
    return out


class Graph:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.constants, self.values = [], [], []
        for k in range(self.random.randint(1, 2)):
            self.values.append((f"x{k}", self.random.choice(SHAPES)))
        self.inputs = list(self.values)

    def chance(self, part):
        return self.random.random() < part

    def constant(self, shape, values=None, dtype="f32"):
        if values is None:
            kind = self.random.random()
            if kind < 0.06:
                values = [self.random.choice(["inf", "-inf", "nan", "1e38", "-0.0", "0.0", "1e-40"]) for _ in range(count(shape))]
            elif kind < 0.3:
                values = [self.random.choice([0.0, 1.0, -1.0, 0.5, 2.0, 6.0, 3.0])] * count(shape)
            else:
                values = [round(self.random.uniform(-2, 2), 3) for _ in range(count(shape))]
        words = ", ".join(str(value) for value in values)
        name = f"c{len(self.constants)}"
        self.constants.append(f"  {name} = const {dtype}{shape} ".replace(" [", "[").replace(", ", ",").replace("f32[", "f32[")
                              + (words if not shape else f"[{words}]"))
        return name

    def integers(self, values):
        return self.constant([len(values)], values, "i32")

    def pairs(self, values):
        return self.constant([len(values), 2], [number for pair in values for number in pair], "i32")

    def near(self, value):
        """The number of a pattern, or one that is nearly it."""
        return self.constant([], [value * self.random.choice([1, 1, 1, 1, 1, 1.0000001, 1.0001, -1, 1.1])])

    def add(self, kind, operands, shape, attributes=""):
        name = f"v{len(self.lines)}"
        dims = ",".join(map(str, shape))
        self.lines.append(f"  {name} = {kind}({', '.join(operands)}) {attributes}".rstrip() + f" : f32[{dims}]")
        self.values.append((name, list(shape)))
        return name

    def pick(self, fits=lambda shape: True):
        """A value, rather the last one; None: none fits."""
        found = [value for value in self.values if fits(value[1])]
        if not found:
            return None
        return found[-1] if self.chance(0.6) else self.random.choice(found)

    # --- Operators ------------------------------------------------------------------------------------------------------------------

    def unary(self):
        value, shape = self.pick()
        self.add(self.random.choice(UNARY), [value], shape)

    def binary(self):
        value, shape = self.pick()
        kind = self.random.choice(BINARY)
        if self.chance(0.65):
            own = self.random.choice([[], [], shape[-1:], shape[-1:], [1] * (len(shape) - 1) + shape[-1:], list(shape),
                                      [dim if self.chance(0.5) else 1 for dim in shape], [1] * len(shape)])
            other = self.constant(own)
        else:
            other, own = self.pick()
        out = stretched(shape, own)
        if out is None or count(out) > MOST_ELEMENTS:
            return
        operands = [value, other]
        if self.chance(0.35):
            operands.reverse()
        acts = kind in ("add", "sub", "mul", "div") and self.chance(0.12)
        self.add(kind, operands, out, "act=" + self.random.choice(["RELU", "RELU6", "RELU_N1_TO_1"]) if acts else "")

    def dense(self):
        found = self.pick(lambda shape: len(shape) >= 2 and shape[-1] > 0)
        if not found:
            return
        value, shape = found
        outputs = self.random.choice([1, 2, 3, shape[-1]])
        operands = [value, self.constant([outputs, shape[-1]]), "_" if self.chance(0.4) else self.constant([outputs])]
        keeps = len(shape) > 2 and self.chance(0.5)
        out = (shape[:-1] if keeps else [count(shape[:-1])]) + [outputs]
        act = self.random.choice(["", "", "act=RELU", "act=RELU6"])
        self.add("fully_connected", operands, out, (act + (" keep_num_dims=true" if keeps else "")).strip())

    def convolution(self):
        found = self.pick(lambda shape: len(shape) == 4 and min(shape) > 0)
        if not found:
            return
        value, shape = found
        size, stride, padding = self.random.choice([1, 2, 3]), self.random.choice([1, 1, 2]), self.random.choice(["SAME", "VALID"])
        height, width = [(d + stride - 1) // stride if padding == "SAME" else (d - size) // stride + 1 for d in shape[1:3]]
        if height < 1 or width < 1:
            return
        act = self.random.choice(["", "", "", "act=RELU ", "act=RELU6 "])
        rest = f"padding={padding} stride_h={stride} stride_w={stride}"
        if self.chance(0.4):
            times = self.random.choice([1, 1, 2])
            outputs, kind = shape[3] * times, "depthwise_conv_2d"
            weights, rest = self.constant([1, size, size, outputs]), f"depth_multiplier={times} {rest}"
        else:
            outputs, kind = self.random.choice([1, 2, 3]), "conv_2d"
            weights = self.constant([outputs, size, size, shape[3]])
        bias = "_" if self.chance(0.2) else self.constant([outputs])
        self.add(kind, [value, weights, bias], [shape[0], height, width, outputs], act + rest)

    def padded(self):
        found = self.pick(lambda shape: len(shape) == 4 and min(shape) > 0)
        if not found:
            return
        value, shape = found
        pads = [(0, 0)] + [(self.random.randint(0, 2), self.random.randint(0, 2)) for _ in range(2)] + [(0, int(self.chance(0.1)))]
        self.add("pad", [value, self.pairs(pads)], [d + a + b for d, (a, b) in zip(shape, pads)])
        self.convolution()

    def dilated(self):
        found = self.pick(lambda shape: len(shape) == 4 and min(shape) > 0 and shape[1] * shape[2] < 80)
        if not found:
            return
        value, shape = found
        block, size = self.random.choice([1, 2, 2, 3]), self.random.choice([1, 2, 3])
        pads = []
        for dim in shape[1:3]:
            low = self.random.randint(0, block * (size - 1) // 2 + 1)
            high = max(low + self.random.randint(-1, 2), 0)
            pads.append((low, high + -(dim + low + high) % block))
        blocks = self.integers([block, block])
        apart = [shape[0] * block * block] + [(d + a + b) // block for d, (a, b) in zip(shape[1:3], pads)] + [shape[3]]
        inner = self.add("space_to_batch_nd", [value, blocks, self.pairs(pads)], apart)
        height, width = apart[1] - size + 1, apart[2] - size + 1
        if height < 1 or width < 1:
            return
        outputs = self.random.choice([1, 2])
        inner = self.add("conv_2d", [inner, self.constant([outputs, size, size, shape[3]]), self.constant([outputs])],
                         [apart[0], height, width, outputs], "padding=VALID stride_h=1 stride_w=1")
        crops = []
        for dim in (height * block, width * block):
            crop = (int(self.chance(0.2)), self.random.randint(0, 2))
            crops.append(crop if sum(crop) < dim else (0, 0))
        out = [shape[0], height * block - sum(crops[0]), width * block - sum(crops[1]), outputs]
        self.add("batch_to_space_nd", [inner, blocks, self.pairs(crops)], out)

    def moved(self):
        value, shape = self.pick()
        kind = self.random.choice(["transpose", "transpose", "reshape", "reshape", "expand_dims", "tile"])
        if kind == "transpose" and shape:
            order = self.random.sample(range(len(shape)), len(shape))
            self.add(kind, [value, self.integers(order)], [shape[d] for d in order])
        elif kind == "reshape":
            rows = self.random.choice([d for d in range(1, count(shape) + 1) if count(shape) % d == 0] or [1])
            out = [rows, count(shape) // rows]
            if self.chance(0.25):
                out = [1] + out + [1]
            self.add(kind, [value, self.integers(out)], out)
        elif kind == "expand_dims" and len(shape) < 5:
            at = self.random.randint(0, len(shape))
            self.add(kind, [value, self.constant([], [at], "i32")], shape[:at] + [1] + shape[at:])
        elif kind == "tile" and shape:
            times = [self.random.choice([1, 1, 2]) for _ in shape]
            self.add(kind, [value, self.integers(times)], [d * n for d, n in zip(shape, times)])

    def reduced(self):
        found = self.pick(lambda shape: len(shape) > 0 and 0 not in shape)
        if not found:
            return
        value, shape = found
        axes = sorted(self.random.sample(range(len(shape)), self.random.randint(1, len(shape)))) if self.chance(0.4) else [len(shape) - 1]
        keeps = self.chance(0.7)
        out = [1 if d in axes else dim for d, dim in enumerate(shape) if keeps or d not in axes]
        self.add(self.random.choice(["sum", "mean", "reduce_max", "reduce_min"]), [value, self.integers(axes)], out,
                 "keep_dims=true" if keeps else "")

    # --- Functions written out ------------------------------------------------------------------------------------------------------

    def function(self):
        found = self.pick(lambda shape: len(shape) > 0 and 0 not in shape)
        if not found:
            return
        x, shape = found
        axis = len(shape) - 1 if self.chance(0.8) else self.random.randrange(len(shape))
        rows, axes = [1 if d == axis else dim for d, dim in enumerate(shape)], self.integers([axis])

        def op(kind, *operands):
            operands = list(operands)
            if kind in ("add", "mul") and self.chance(0.4):
                operands.reverse()
            made = self.add(kind, operands, shape)
            if self.chance(0.06):
                self.add("neg", [made], shape)  # a second reader
            return made

        def over(kind, value):
            return self.add(kind, [value, axes], rows, "keep_dims=true")

        def row(kind, *operands):
            return self.add(kind, list(operands), rows)

        def hard_swish():
            product = op("mul", x, op("relu6", op("add", x, self.near(3))))
            return op("mul", product, self.near(1 / 6)) if self.chance(0.5) else op("div", product, self.near(6))

        def gelu():
            cube = op("mul", op("mul", op("mul", x, x), x), self.near(0.044715))
            inner = op("tanh", op("mul", op("add", x, cube), self.near(0.7978845608)))
            return op("mul", op("mul", x, self.near(0.5)), op("add", inner, self.near(1)))

        def softmax():
            power = op("exp", op("sub", x, over("reduce_max", x)) if self.chance(0.6) else x)
            return op("div", power, over("sum", power))

        def log_softmax():
            shifted = op("sub", x, over("reduce_max", x))
            return op("sub", shifted, row("log", over("sum", op("exp", shifted))))

        def norm():
            squares = over("sum", op("mul", x, x))
            if self.chance(0.5):
                squares = row("maximum", squares, self.constant([], [self.random.choice([1e-12, 1e-3, 0.0, 1e-13])]))
            return op("mul", x, row("rsqrt", squares))

        def layer_norm():
            apart = op("sub", x, over("mean", x))
            spread = row("add", over("mean", op("mul", apart, apart)), self.near(1e-5))
            return op("mul", apart, row("rsqrt", spread))

        def prelu():
            slopes = self.constant(shape[-1:]) if self.chance(0.6) else self.near(-0.25)
            return op("add", op("relu", x), op("mul", op("relu", op("neg", x)), slopes))

        def clamp():
            low, high = self.random.choice([(0, 6), (-1, 1), (0, 1), (6, 0)])
            return op("minimum", op("maximum", x, self.near(low)), self.near(high))

        self.random.choice([hard_swish, gelu, softmax, softmax, log_softmax, norm, layer_norm, prelu, clamp,
                            lambda: op("div", self.near(1), op("add", op("exp", op("neg", x)), self.near(1))),
                            lambda: op("maximum", op("mul", x, self.near(0.2)), x),
                            lambda: op("mul", op("add", x, op("abs", x)), self.near(0.5)),
                            lambda: op("mul", x, op("logistic", x))])()

    def text(self):
        steps = ([self.binary] * 5 + [self.unary] * 3 + [self.dense] * 3 + [self.convolution] * 3 + [self.padded, self.dilated] +
                 [self.moved] * 3 + [self.reduced] + [self.function] * 4)
        for _ in range(self.random.randint(2, 14)):
            if count(self.values[-1][1]) > MOST_ELEMENTS:
                break
            self.random.choice(steps)()
        read = {operand for line in self.lines for operand in line.split("(")[1].split(")")[0].split(", ")}
        made = [name for name, _ in self.values[len(self.inputs):]]
        outputs = [name for name in made if name not in read]
        if made and self.chance(0.2):
            outputs.append(self.random.choice(made))
        inputs = ", ".join(f"{name}: f32[{','.join(map(str, shape))}]" for name, shape in self.inputs)
        body = "\n".join(self.constants + self.lines)
        returned = ", ".join(dict.fromkeys(outputs))
        return f"lsir 1\nmodel tfl\n\ngraph main({inputs}) {{\n{body}\n  return {returned}\n}}\n" if outputs else None


def found_in(program, model, fused):
    """What a graph shows: how many rewrites, how many of them only approximate, and what is wrong."""
    command = [program, "fuse", model, "--prove", "--samples", "4", "--json", "--force", "-o", fused]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except subprocess.TimeoutExpired:
        return 0, 0, ["does not end"]
    if done.returncode not in (0, 1):
        return 0, 0, [f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"]
    report = json.loads(done.stdout.strip().splitlines()[-1])
    rounded, wrong = 0, []
    for rewrite in report["rewrites"]:
        if rewrite.get("verdict") == "undecided":
            wrong.append(f"{rewrite['name']}: not decided: {rewrite.get('proof')}")
        elif not rewrite.get("holds") and rewrite.get("verdict") == "approximate":
            rounded += 1
        elif not rewrite.get("holds"):
            wrong.append(f"{rewrite['name']}: {rewrite.get('proof')}")
    if report.get("whole", {}).get("holds") is False:
        wrong.append(f"the whole model: {report['whole'].get('proof')}")
    return len(report["rewrites"]), rounded, wrong


def main():
    program, numbers = sys.argv[1], [int(word) for word in sys.argv[2:4]] or [0, 60]
    graphs = rewrites = rounded = bad = 0
    with tempfile.TemporaryDirectory() as scratch:
        folder = sys.argv[4] if len(sys.argv) > 4 else scratch
        for number in range(*numbers):
            text = Graph(number).text()
            if text is None:
                continue
            model = os.path.join(folder, f"{number}.lsir")
            with open(model, "w") as file:
                file.write(text)
            found, approximate, wrong = found_in(program, model, os.path.join(scratch, "fused.lsir"))
            graphs, rewrites, rounded, bad = graphs + 1, rewrites + found, rounded + approximate, bad + len(wrong)
            for line in wrong:
                print(f"graph {number}: {line}")
            if not wrong:
                os.remove(model)
    print(f"{graphs} random graphs: {rewrites} rewrites, {rounded} of them apart by roundings of what cancels; {bad} do not hold")
    return 1 if bad or rewrites == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
