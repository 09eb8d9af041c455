"""Kernels in upstream dialects, converted, translated, compiled and called on numpy arrays."""

from __future__ import annotations

import ctypes
from functools import cache
from io import StringIO

import llvmlite.binding as binding
import numpy as np
from glow.context import make_context
from glow.lowering.llvm.convert import ConvertToLLVMPass
from glow.lowering.llvm.translate import translate_module
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

CONTEXT = make_context()


def parse(text: str) -> ModuleOp:
    module = Parser(CONTEXT, text).parse_module()
    module.verify()
    return module


def reparse(module: ModuleOp) -> ModuleOp:
    """The module from its own text, after checking that it prints the same."""
    text = str(module)
    again = parse(text)
    assert str(again) == text
    return again


def generic_text(module: ModuleOp) -> str:
    """The module in MLIR's generic syntax."""
    text = StringIO()
    Printer(text, print_generic_format=True).print_op(module)
    return text.getvalue()


def convert(text: str, *, contract: bool = True) -> ModuleOp:
    """A module of kernels in the `llvm` dialect, which has been through its text."""
    module = parse(text)
    ConvertToLLVMPass(contract=contract).apply(CONTEXT, module)
    module.verify()
    return reparse(module)


@cache
def target_machine() -> binding.TargetMachine:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=2,
        reloc="pic",
    )


@cache
def _jit() -> binding.LLJIT:
    return binding.create_lljit_compiler(target_machine())


class Kernels:
    """
    Compiled functions of a module of kernels or, with `llvm=True`, of the `llvm` dialect.

    `kernels.name(*arrays)` calls a function with pointers to arrays, which must be dense or views
    whose data pointer is the memref's.
    """

    _count = 0

    def __init__(self, text: str, *, llvm: bool = False, contract: bool = True):
        module = reparse(parse(text)) if llvm else convert(text, contract=contract)
        self.ir = translate_module(module)
        parsed = binding.parse_assembly(self.ir)
        parsed.verify()
        Kernels._count += 1
        builder = binding.JITLibraryBuilder().add_ir(parsed).add_current_process()
        names = [f.name for f in parsed.functions if not f.is_declaration]
        for name in names:
            builder.export_symbol(name)
        self._library = builder.link(_jit(), f"kernels{Kernels._count}")

    def __getattr__(self, name: str):
        def call(*arrays: np.ndarray) -> None:
            prototype = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(arrays))
            # through self, which keeps the code alive
            function = prototype(self._library[name])
            function(*[a.ctypes.data for a in arrays])

        return call
