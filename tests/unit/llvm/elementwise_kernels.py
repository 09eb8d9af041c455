"""Kernels of one operation on scalars and vectors."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LANES = 8
VECTOR_COMPARE = re.compile(r"arith\.cmp[if] (\w+), (.*)")


@dataclass(frozen=True)
class Case:
    """`op` in a form with {0}, {1}, ... for its operands and {t}, {r} for its types."""

    form: str
    oracle: Callable[..., np.ndarray]
    operands: tuple[str, ...]
    result: str | None = None
    low: float = -8
    high: float = 8

    @property
    def result_type(self) -> str:
        return self.result or self.operands[-1]


def kernel(case: Case, *, vector: bool, name: str = "k") -> str:
    """Returns a function that applies the operation to eight elements, at once or one by one."""
    n = len(case.operands)
    types = [*case.operands, case.result_type]
    parameters = ", ".join(f"%m{i}: memref<{LANES}x{t}>" for i, t in enumerate(types))
    spelled = [f"vector<{LANES}x{t}>" for t in types] if vector else types
    form = case.form.format(*(f"%x{i}" for i in range(n)), t=spelled[-2], r=spelled[-1])
    if vector:
        form = VECTOR_COMPARE.sub(rf"glow_vec.cmp \1 \2, {spelled[-1]}", form)
    dialect = "vector" if vector else "memref"

    def suffix(i: int) -> str:
        return f"memref<{LANES}x{types[i]}>" + (f", {spelled[i]}" if vector else "")

    loads = "".join(f"%x{i} = {dialect}.load %m{i}[%i] : {suffix(i)}\n" for i in range(n))
    body = f"{loads} %r = {form}\n {dialect}.store %r, %m{n}[%i] : {suffix(n)}\n"
    step = "%n" if vector else "%one"
    return f"""
    func.func @{name}({parameters}) {{
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %n = arith.constant {LANES} : index
      scf.for %i = %zero to %n step {step} {{
        {body}
      }}
      return
    }}"""
