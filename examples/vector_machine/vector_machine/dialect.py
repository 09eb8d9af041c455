"""The instructions of the machine: a dialect whose operations are made from Python functions."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from glow.glow_dialects.python_values import to_attribute, to_python
from xdsl.ir import Attribute, Dialect
from xdsl.irdl import IRDLOperation, ParsePropInAttrDict, irdl_op_definition, prop_def

LANES, WORDS = 16, 1 << 14
"""Floats in each of the two vector registers, and in memory."""
FUNCTIONS = {"add": np.add, "mul": np.multiply, "max": np.maximum}


class VectorInstruction(IRDLOperation):
    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "attr-dict"

    @classmethod
    def of(cls, **fields: Any):
        return cls.create(properties={name: to_attribute(v) for name, v in fields.items()})

    def run(self, memory: np.ndarray, registers: np.ndarray) -> None:
        fields = {name: to_python(value) for name, value in self.properties.items()}
        type(self).effect(memory, registers, **fields)  # pyright: ignore


def instruction(effect: Callable[..., None]) -> type[VectorInstruction]:
    """
    Returns the operation whose fields are the parameters of `effect` after memory and registers.
    """
    fields = {field: prop_def(Attribute) for field in [*signature(effect).parameters][2:]}
    name, doc = f"vector_machine.{effect.__name__}", effect.__doc__
    members = {"name": name, "__doc__": doc, "effect": staticmethod(effect), **fields}
    return irdl_op_definition(type(effect.__name__, (VectorInstruction,), members))


def words(address: int, stride: int, count: int) -> np.ndarray:
    return address + stride * np.arange(count)


@instruction
def load(memory, registers, register, address, stride, count):
    """Loads words that are `stride` apart into the first `count` lanes of a register."""
    registers[register, :count] = memory[words(address, stride, count)]


@instruction
def store(memory, registers, address, stride, count):
    """Stores the first `count` lanes of register 0 to words that are `stride` apart."""
    memory[words(address, stride, count)] = registers[0, :count]


@instruction
def fill(memory, registers, value):
    """Returns the same number in all lanes of register 0."""
    registers[0] = value


@instruction
def compute(memory, registers, function):
    """Sets register 0 to `function` (add, mul or max) of both registers."""
    registers[0] = FUNCTIONS[function](*registers)


@instruction
def matmul_row(memory, registers, inner, row_stride, address, stride, count):
    """Adds `inner` lanes of register 1 times a matrix in memory to lanes of register 0."""
    rows = words(0, row_stride, inner)[:, None]
    registers[0, :count] += registers[1, :inner] @ memory[rows + words(address, stride, count)]


VECTOR_MACHINE = Dialect("vector_machine", [load, store, fill, compute, matmul_row])
