"""Random expressions over floats and integers, compiled, against numpy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from glow.tests.support.kernels import Kernels
from hypothesis import given, settings
from hypothesis import strategies as st

LANES = 8
# the sign of zero, in which numpy's maximum is free, must not matter
FLOAT: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "arith.addf": (2, np.add),
    "arith.subf": (2, np.subtract),
    "arith.mulf": (2, np.multiply),
    "arith.maximumf": (2, np.maximum),
    "arith.minimumf": (2, np.minimum),
    "arith.negf": (1, np.negative),
    "math.absf": (1, np.abs),
    "math.floor": (1, np.floor),
    "math.roundeven": (1, np.round),
}
INTEGER: dict[str, tuple[int, Callable[..., np.ndarray]]] = {
    "arith.addi": (2, np.add),
    "arith.subi": (2, np.subtract),
    "arith.muli": (2, np.multiply),
    "arith.andi": (2, np.bitwise_and),
    "arith.ori": (2, np.bitwise_or),
    "arith.xori": (2, np.bitwise_xor),
    "arith.maxsi": (2, np.maximum),
    "arith.minsi": (2, np.minimum),
}
Step = tuple[str, tuple[int, ...]]


@st.composite
def programs(draw: st.DrawFn, operations: dict[str, tuple[int, Callable]]) -> list[Step]:
    """Returns steps that apply an operation to earlier values, which may be used several times."""
    steps: list[Step] = []
    for n in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from(sorted(operations)))
        arity = operations[name][0]
        steps.append((name, tuple(draw(st.integers(0, n + 1)) for _ in range(arity))))
    return steps


def kernel(steps: list[Step], element: str, *, vector: bool) -> str:
    t = f"vector<{LANES}x{element}>" if vector else element
    memory = f"memref<{LANES}x{element}>"
    dialect, suffix = ("vector", f"{memory}, {t}") if vector else ("memref", memory)
    lines = [f"%v{i} = {dialect}.load %m{i}[%i] : {suffix}" for i in range(2)]
    for n, (name, operands) in enumerate(steps):
        lines.append(f"%v{n + 2} = {name} {', '.join(f'%v{o}' for o in operands)} : {t}")
    lines.append(f"{dialect}.store %v{len(steps) + 1}, %out[%i] : {suffix}")
    return f"""
    func.func @f(%m0: {memory}, %m1: {memory}, %out: {memory}) {{
      %zero = arith.constant 0 : index
      %step = arith.constant {LANES if vector else 1} : index
      %n = arith.constant {LANES} : index
      scf.for %i = %zero to %n step %step {{
        {chr(10).join(lines)}
      }}
      return
    }}"""


def expected(
    steps: list[Step], operations: dict[str, tuple[int, Callable]], inputs: list[np.ndarray]
) -> np.ndarray:
    values = list(inputs)
    with np.errstate(all="ignore"):
        for name, operands in steps:
            values.append(operations[name][1](*(values[o] for o in operands)))
    return values[-1]


@settings(max_examples=20, deadline=None)
@given(programs(FLOAT), st.booleans(), st.integers(0, 2**32 - 1))
def test_float_expressions(steps: list[Step], vector: bool, seed: int):
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal(LANES).astype(np.float32) * 3 for _ in range(2)]
    out = np.zeros(LANES, np.float32)
    # fused products would round once where numpy rounds twice
    Kernels(kernel(steps, "f32", vector=vector), contract=False).f(*inputs, out)
    np.testing.assert_array_equal(out, expected(steps, FLOAT, inputs))


@settings(max_examples=20, deadline=None)
@given(programs(INTEGER), st.booleans(), st.sampled_from(["i8", "i16", "i32", "i64", "index"]),
       st.integers(0, 2**32 - 1))  # fmt: skip
def test_integer_expressions(steps: list[Step], vector: bool, element: str, seed: int):
    dtype = np.dtype(np.int64 if element == "index" else f"int{element[1:]}")
    rng = np.random.default_rng(seed)
    limits = np.iinfo(dtype)
    inputs = [rng.integers(limits.min, limits.max, LANES, dtype, endpoint=True) for _ in range(2)]
    out = np.zeros(LANES, dtype)
    Kernels(kernel(steps, element, vector=vector)).f(*inputs, out)
    np.testing.assert_array_equal(out, expected(steps, INTEGER, inputs))


@st.composite
def accesses(draw: st.DrawFn) -> list[tuple[int, int, int, int]]:
    """Draws for each dimension a stride, and a, b, c of its index `a * i + b * j - c`."""
    small = st.integers(-2, 2)
    dimension = st.tuples(st.integers(-7, 7), small, small, st.integers(-3, 3))
    return draw(st.lists(dimension, min_size=1, max_size=3))


@settings(max_examples=20, deadline=None)
@given(accesses(), st.integers(0, 2**32 - 1))
def test_addresses(access: list[tuple[int, int, int, int]], seed: int):
    strides = [stride for stride, *_ in access]
    offset = 200
    layout = f"strided<[{', '.join(map(str, strides))}], offset: {offset}>"
    t = f"memref<{'x'.join(['9'] * len(strides))}xf32, {layout}>"
    lines, names = [], []
    for d, (_, a, b, c) in enumerate(access):
        lines += [
            f"%a{d} = arith.constant {a} : index",
            f"%b{d} = arith.constant {b} : index",
            f"%c{d} = arith.constant {c} : index",
            f"%p{d} = arith.muli %i, %a{d} : index",
            f"%q{d} = arith.muli %b{d}, %j : index",
            f"%r{d} = arith.addi %p{d}, %q{d} : index",
            f"%x{d} = arith.subi %r{d}, %c{d} : index",
        ]
        names.append(f"%x{d}")
    text = f"""
    func.func @f(%m: {t}, %out: memref<2x3xf32>) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %two = arith.constant 2 : index
      %three = arith.constant 3 : index
      scf.for %i = %zero to %two step %one {{
        scf.for %j = %zero to %three step %one {{
          {chr(10).join(lines)}
          %v = memref.load %m[{", ".join(names)}] : {t}
          memref.store %v, %out[%i, %j] : memref<2x3xf32>
        }}
      }}
      return
    }}"""
    data = np.random.default_rng(seed).standard_normal(400).astype(np.float32)
    out = np.zeros((2, 3), np.float32)
    Kernels(text).f(data, out)
    for i in range(2):
        for j in range(3):
            place = offset + sum(s * (a * i + b * j - c) for s, a, b, c in access)
            assert out[i, j] == data[place]
