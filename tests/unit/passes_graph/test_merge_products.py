"""Products with a common operand give the same results as columns of one product."""

from __future__ import annotations

from dataclasses import dataclass, field

import glow
import numpy as np
import pytest
from glow.glow_dialects import costs
from glow.glow_dialects.timings import TIMINGS
from glow.runtime.interpreter import interpret
from glow.tests.support.graph_text import count, parse, run
from numpy.random import Generator
from xdsl.dialects.builtin import ModuleOp

MERGE = "glow-merge-products"


@dataclass
class Text:
    """The text of a graph, of which `x` is the argument."""

    rng: Generator
    shape: tuple[int, ...]
    element: str = "f32"
    lines: list[str] = field(default_factory=list)

    def type(self, shape: tuple[int, ...], element: str | None = None) -> str:
        return f"tensor<{'x'.join(map(str, (*shape, element or self.element)))}>"

    def add(self, name: str, node: str, operands: str, types: list[str], result: str) -> str:
        self.lines.append(f"%{name} = glow.{node} {operands} : ({', '.join(types)}) -> {result}")
        return name

    def constant(self, name: str, shape: tuple[int, ...], element: str | None = None) -> str:
        if "i" in (element or self.element):
            low = 0 if "ui" in (element or self.element) else -9
            values = self.rng.integers(low, 10, shape)
        else:
            values = self.rng.standard_normal(shape).astype(np.float32)
        text = np.array2string(values, separator=", ", threshold=10**6)
        self.lines.append(f"%{name} = glow.constant dense<{text}> : {self.type(shape, element)}")
        return f"%{name}"

    def added(self, name: str, value: str, row: str, shape: tuple[int, ...], n: int) -> str:
        """Adds a constant [n], or a number, to all rows."""
        t = self.type((*shape, n))
        if row == "splat":
            number = self.rng.standard_normal()
            self.lines.append(f"%{name}_r = glow.splat value {number} : {t}")
        else:
            self.constant(f"{name}_c", (n,))
            self.add(f"{name}_r", "broadcast", f"%{name}_c", [self.type((n,))], t)
        return self.add(name, "add", f"%{value}, %{name}_r", [t, t], t)

    def module(self, results: list[tuple[str, tuple[int, ...]]]) -> ModuleOp:
        """Returns the graph whose results are softmaxes, which are no epilogues, of some values."""
        for name, shape in results:
            t = self.type(shape)
            self.add(f"{name}_s", f"softmax %{name} axis {len(shape) - 1}", "", [t], t)
        outputs = [f'{self.type(s)} {{glow.name = "{n}"}}' for n, s in results]
        body = "\n".join(self.lines).replace("  :", " :")
        names = ", ".join(f"%{n}_s" for n, _ in results)
        return parse(f"""
            func.func @main(%x: {self.type(self.shape)} {{glow.name = "x"}})
                -> ({", ".join(outputs)}) {{
              {body}
              func.return {names} : {", ".join(self.type(s) for _, s in results)}
            }}""")


def check(module: ModuleOp, x: np.ndarray, products: dict[str, int], tolerance: float = 1e-5):
    """Expects so many products of each name after the pass, and the same results."""
    want = interpret(module, [x])
    run(f"{MERGE}{{threads=2}}", module)
    assert {name: count(module)[f"glow.{name}"] for name in products} == products
    have = interpret(module, [x])
    for a, b in zip(want.values(), have.values(), strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=tolerance)


@pytest.mark.parametrize("columns", [(5, 5, 5), (1, 7, 13), (16, 3)], ids=str)
@pytest.mark.parametrize("lead", [(1,), (7,), (2, 3)], ids=str)
@pytest.mark.parametrize("flag", ["", " transpose_rhs true", " transpose_lhs true"])
@pytest.mark.parametrize("epilogue", ["none", "bias", "splat", "gelu"])
def test_matrix_products(
    lead: tuple[int, ...], columns: tuple[int, ...], flag: str, epilogue: str, rng: Generator
):
    *batch, rows = lead
    inner = 11
    left = (*batch, inner, rows) if "lhs" in flag else (*lead, inner)
    text = Text(rng, left)
    results: list[tuple[str, tuple[int, ...]]] = []
    for i, n in enumerate(columns):
        right = (*batch, n, inner) if "rhs" in flag else (*batch, inner, n)
        w, t = text.constant(f"w{i}", right), text.type((*lead, n))
        last = text.add(f"p{i}", "matmul", f"%x, {w}{flag}", [text.type(left), text.type(right)], t)
        if epilogue in ("bias", "splat", "gelu"):
            last = text.added(f"a{i}", last, epilogue, lead, n)
        if epilogue == "gelu":
            last = text.add(f"g{i}", "gelu", f"%{last}", [t], t)
        results.append((last, (*lead, n)))
    nodes = {"matmul": 1, "slice": len(columns), "add": int(epilogue != "none")}
    x = rng.standard_normal(left).astype(np.float32)
    check(text.module(results), x, {**nodes, "gelu": int(epilogue == "gelu")})


@pytest.mark.parametrize("rows", [1, 3])
def test_fully_connected_layers_with_reshaped_results(rows: int, rng: Generator):
    text = Text(rng, (rows, 7))
    results: list[tuple[str, tuple[int, ...]]] = []
    for i, n in enumerate((6, 10, 2)):
        w, b = text.constant(f"w{i}", (n, 7)), text.constant(f"b{i}", (n,))
        types = [text.type(s) for s in ((rows, 7), (n, 7), (n,))]
        t, turned = text.type((rows, n)), (1, rows, n)
        text.add(f"p{i}", "fully_connected", f"%x, {w}, {b}", types, t)
        text.add(f"r{i}", "reshape", f"%p{i}", [t], text.type(turned))
        last = text.added(f"a{i}", f"r{i}", "bias", turned[:-1], n)
        text.add(f"h{i}", "reshape", f"%{last}", [text.type(turned)], text.type((rows, 2, n // 2)))
        results.append((f"h{i}", (rows, 2, n // 2)))
    x = rng.standard_normal((rows, 7)).astype(np.float32)
    check(text.module(results), x, {"fully_connected": 1, "slice": 3, "add": 1})


@pytest.mark.parametrize("zeros", [True, False], ids=["zero points", "one zero point"])
@pytest.mark.parametrize("bits", [4, 8])
def test_weights_of_a_few_bits(bits: int, zeros: bool, rng: Generator):
    text, inner, blocks = Text(rng, (3, 37)), 37, 3
    z = None if zeros else text.constant("z", (1, 1), "ui8")
    results: list[tuple[str, tuple[int, ...]]] = []
    for i, n in enumerate((3, 1, 8)):
        shapes = [(3, inner), (n, blocks, 16 * bits // 8), (n, blocks)]
        types = [text.type(shapes[0]), text.type(shapes[1], "ui8"), text.type(shapes[2])]
        types.append(text.type((n, blocks) if zeros else (1, 1), "ui8"))
        w, s = text.constant(f"w{i}", shapes[1], "ui8"), text.constant(f"s{i}", shapes[2])
        zero = z or text.constant(f"z{i}", (n, blocks), "ui8")
        operands = f"%x, {w}, {s}, {zero} bits {bits}"
        text.add(f"p{i}", "block_quantized_matmul", operands, types, text.type((3, n)))
        results.append((f"p{i}", (3, n)))
    x = rng.standard_normal((3, inner)).astype(np.float32)
    check(text.module(results), x, {"block_quantized_matmul": 1, "slice": 3}, 1e-4)


def quantized(rng: Generator, rows: int, inner: int, columns: tuple[int, ...]) -> ModuleOp:
    """Returns products of bytes, whose results are scaled by a number of each row and column."""
    text = Text(rng, (rows, inner), "f32")
    t = text.type((rows, inner), "ui8")
    text.add("b", "cast", "%x", [text.type((rows, inner))], t)
    text.add("m", "reduce_max", "%x axes [1] keep_dims true", [text.type((rows, inner))], "")
    text.lines[-1] += text.type((rows, 1))
    results: list[tuple[str, tuple[int, ...]]] = []
    for i, n in enumerate(columns):
        w, f, j = (
            text.constant(f"w{i}", (inner, n), "i8"),
            text.type((rows, n)),
            text.type((rows, n), "i32"),
        )
        text.add(f"p{i}", "matmul", f"%b, {w}", [t, text.type((inner, n), "i8")], j)
        text.add(f"f{i}", "cast", f"%p{i}", [j], f)
        text.constant(f"s{i}", (n,))
        text.add(f"c{i}", "broadcast", f"%s{i}", [text.type((n,))], f)
        text.add(f"d{i}", "broadcast", "%m", [text.type((rows, 1))], f)
        text.add(f"e{i}", "mul", f"%c{i}, %d{i}", [f, f], f)
        text.add(f"y{i}", "mul", f"%e{i}, %f{i}", [f, f], f)
        results.append((f"y{i}", (rows, n)))
    return text.module(results)


def test_integers_and_the_scales_of_rows_and_columns(rng: Generator):
    x = rng.integers(0, 200, (5, 9)).astype(np.float32)
    nodes = {"matmul": 1, "cast": 2, "broadcast": 2, "mul": 2, "slice": 3}
    check(quantized(rng, 5, 9, (4, 1, 7)), x, nodes, 0.0)


def two(rng: Generator, *epilogues: str, shape: tuple[int, int] = (3, 8)) -> ModuleOp:
    """Returns two products of the same input, each before an operator."""
    text = Text(rng, shape)
    rows, inner = shape
    t = text.type((rows, 5))
    for i, epilogue in enumerate(epilogues):
        w = text.constant(f"w{i}", (inner, 5))
        types = [text.type(shape), text.type((inner, 5))]
        text.add(f"p{i}", "matmul", f"%x, {w}", types, t)
        operands = ", ".join([f"%p{i}"] * (2 if epilogue == "mul" else 1))
        text.add(f"e{i}", epilogue, operands, [t] * (2 if epilogue == "mul" else 1), t)
    return text.module([(f"e{i}", (rows, 5)) for i in range(len(epilogues))])


@pytest.mark.parametrize(
    ("epilogues", "left"),
    [
        (("gelu", "gelu"), 1),
        (("mul", "mul"), 1),
        (("gelu", "relu"), 2),
        (("gelu", "exp", "gelu"), 2),
    ],
    ids=str,
)
def test_the_same_operators_follow(epilogues: tuple[str, ...], left: int, rng: Generator):
    x = rng.standard_normal((3, 8)).astype(np.float32)
    check(two(rng, *epilogues), x, {"matmul": left})


def test_products_that_are_multiplied_with_each_other(rng: Generator):
    text = Text(rng, (3, 8))
    t = text.type((3, 5))
    for i in range(2):
        w = text.constant(f"w{i}", (8, 5))
        text.add(f"p{i}", "matmul", f"%x, {w}", [text.type((3, 8)), text.type((8, 5))], t)
    text.add("y", "mul", "%p0, %p1", [t, t], t)
    x = rng.standard_normal((3, 8)).astype(np.float32)
    check(text.module([("y", (3, 5))]), x, {"matmul": 2})


def test_the_saved_share_falls_with_the_work():
    small, large = (costs.merged_share(3, work, 8, 1) for work in (10**4, 10**8))
    assert large < TIMINGS.least_merged_share < small < 1
    assert costs.merged_share(3, 10**8, 8, 2) > large
    assert costs.merged_share(1, 10**4, 8, 2) == 0


def test_compiled_programs_compute_the_same(rng: Generator):
    module = quantized(rng, 3, 17, (40, 24, 9))
    x = rng.integers(0, 200, (3, 17)).astype(np.float32)
    want = list(interpret(module, [x]).values())
    found = glow.compile(module, threads=2, cache=False)(x)
    for a, b in zip(want, found, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)
