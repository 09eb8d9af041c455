"""Kernels in upstream dialects, converted, translated, compiled and called on numpy arrays."""

from __future__ import annotations

import ctypes
from io import StringIO

import numpy as np
from glow.context import make_context
from glow.lowering.llvm.convert import ConvertToLLVMPass
from glow.lowering.llvm.translate import translate_module
from glow.lowering.target import find_target
from glow.runtime.jit import Executable, compile_object
from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

CONTEXT = make_context()


def parse(text: str) -> ModuleOp:
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    return module


def reparse(module: ModuleOp) -> ModuleOp:
    """Returns the module from its own text, after checking that it prints the same."""
    text = str(module)
    again = parse(text)
    assert str(again) == text
    return again


def generic_text(module: ModuleOp) -> str:
    """Returns the module in MLIR's generic syntax."""
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def convert(text: str, *, contract: bool = True) -> ModuleOp:
    """Returns a module of kernels in the `llvm` dialect, which has been through its text."""
    module = parse(text)
    ConvertToLLVMPass(contract=contract).apply(CONTEXT, module)
    module.verify()
    return reparse(module)


class Kernels:
    """
    Compiled functions of a module of kernels or, with `converted=True`, of the `llvm` dialect.

    `kernels.name(*arrays)` calls a function with pointers to arrays, which must be dense or views
    whose data pointer is the memref's.
    """

    def __init__(
        self,
        text: str,
        *,
        converted: bool = False,
        contract: bool = True,
        cpu: str | None = None,
    ):
        module = reparse(parse(text)) if converted else convert(text, contract=contract)
        self.ir = translate_module(module)
        functions = [op for op in module.ops if isinstance(op, llvm.FuncOp) and op.body.blocks]
        entry, *others = (function.sym_name.data for function in functions)
        target = find_target(cpu)
        objects = [compile_object(self.ir, target)]
        self._executable = Executable(objects, entry, target, others)

    def __getattr__(self, name: str):
        def call(*arrays: np.ndarray) -> None:
            prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
            # through self, which keeps the code alive
            function = prototype(self._executable.address_of(name))
            function(*[a.ctypes.data for a in arrays])

        return call
