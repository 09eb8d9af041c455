"""
The pass `glow-convert-to-llvm`: kernels in upstream dialects become `llvm` functions.

Each function is rebuilt in one walk. Memrefs become bare pointers
(`noalias`, because a written parameter aliases no other), `scf` becomes blocks, index arithmetic
becomes addresses. Then `main`, if its parameters are all pointers, the weights first and the arena
last (after the thread and its team if there are several), becomes `glow_program` and gets the
wrapper `glow_main`, whose signature does not depend on the network.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects import func, llvm
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    MemRefType,
    ModuleOp,
    StringAttr,
    SymbolRefAttr,
    UnitAttr,
)
from xdsl.ir import Attribute, Block, Region
from xdsl.passes import ModulePass

from ...glow_dialects.glow.machine import MACHINE
from ...passes.collector import without_garbage_collection
from ...passes.levels import KERNELS
from ...passes.visited_operation import each
from ..target import ALWAYS_INLINE
from ..threads import BARRIER
from . import arithmetic, control, conversions, lookups, memory, products, vectors
from .function import Buffer, FunctionConverter
from .types import PTR, VOID, convert_type, failure, i8, i64, int_attr

FAMILIES = (arithmetic, control, conversions, lookups, memory, products, vectors)
"""The modules whose import registers the conversions."""
ENTRY = "glow_main"
PROGRAM = "glow_program"
"""The name of `main` from here on, because a C program has a `main` of its own."""
_EXTERNAL, _INTERNAL = llvm.LinkageAttr("external"), llvm.LinkageAttr("internal")
_ALWAYS_INLINE = ArrayAttr([StringAttr(ALWAYS_INLINE)])
INLINED: Mapping[str, Attribute] = {"llvm.linkage": _INTERNAL, "passthrough": _ALWAYS_INLINE}
"""The attributes of a `func.func` that LLVM inlines, as upstream's conversion has them."""


@dataclass(frozen=True)
class ConvertToLLVMPass(ModulePass):
    """
    Converts every function of a module to the `llvm` dialect.

    Raises CompileError, naming the operation, for anything that has no conversion.
    """

    name = "glow-convert-to-llvm"
    level = KERNELS

    contract: bool = True
    """Whether a product may be fused with the sum that it feeds."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        with without_garbage_collection():
            convert_module(op, contract=self.contract)
        # LLVM's tools do not know the attribute, and the code has all that follows from it
        op.attributes.pop(MACHINE, None)


def convert_module(module: ModuleOp, *, contract: bool = True) -> None:
    """Converts the functions of a module in place and adds the entry function."""
    libraries: dict[str, llvm.LLVMFunctionType] = {}
    converted: list[llvm.FuncOp] = []
    for op in each(module.body.block.ops):
        if not isinstance(op, func.FuncOp):
            raise failure(op, "expected only functions in the module")
        converted.append(convert_function(op, libraries, contract=contract))
    names = {op.sym_name.data: op for op in converted}
    for name, t in libraries.items():
        if name not in names:
            converted.append(make_function(name, t, Region()))
    if "main" in names and _is_program(names["main"]):
        names["main"].sym_name = StringAttr(PROGRAM)
        converted.append(make_entry(names["main"]))
    for op in list(module.body.block.ops):
        op.detach()  # to erase it would take each of its operations apart
    module.body.block.add_ops(converted)


def convert_function(
    function: func.FuncOp, libraries: dict[str, llvm.LLVMFunctionType], *, contract: bool = True
) -> llvm.FuncOp:
    """
    Returns the converted function; a declaration stays one. Library functions that it calls are
    added to `libraries`.
    """
    inputs, outputs = function.function_type.inputs.data, function.function_type.outputs.data
    if len(outputs) > 1:
        raise failure(function, f"expected at most one result, found {len(outputs)}")
    t = llvm.LLVMFunctionType(
        [convert_type(i) for i in inputs], convert_type(outputs[0]) if outputs else VOID
    )
    name = function.sym_name.data
    if not function.body.blocks:
        return make_function(name, t, Region())
    if len(function.body.blocks) > 1:
        raise failure(function, "expected structured control flow, found several blocks")
    source = function.body.block
    entry = Block(arg_types=t.inputs.data)
    region = Region(entry)
    converter = FunctionConverter(region, libraries, contract=contract)
    for old, new in zip(source.args, entry.args, strict=True):
        new.name_hint = old.name_hint
        if isinstance(old.type, MemRefType):
            converter.buffers[old] = Buffer(new, *memory.layout_of(old.type, function))
        else:
            converter.define(old, new)
    converter.convert_ops(source)
    converter.finish()
    # behind a barrier, other threads also wrote this memory, so it is not the function's alone
    alone = BARRIER not in converter.callees
    made = make_function(name, t, region, [_argument_attributes(i, alone) for i in inputs])
    if INLINED.items() <= function.attributes.items():
        made.linkage, made.passthrough = _INTERNAL, _ALWAYS_INLINE
    return made


def _argument_attributes(t: Attribute, alone: bool) -> DictionaryAttr:
    """
    Returns the attributes of a memory argument: `noalias` if `alone`. A segment of bytes, such as
    the arena of `main`, also has its size as `dereferenceable`, from which the caller learns how
    much to allocate.
    """
    attributes: dict[str, Attribute] = {}
    if isinstance(t, MemRefType):
        if alone:
            attributes["llvm.noalias"] = UnitAttr()
        if t.element_type == i8 and len(t.get_shape()) == 1 and t.get_shape()[0] > 0:
            attributes["llvm.dereferenceable"] = int_attr(t.get_shape()[0])
    return DictionaryAttr(attributes)


def make_function(
    name: str,
    function_type: llvm.LLVMFunctionType,
    body: Region,
    argument_attributes: Sequence[DictionaryAttr] = (),
) -> llvm.FuncOp:
    """Returns a function that other modules can link to."""
    properties: dict[str, Attribute | None] = {}
    if any(a.data for a in argument_attributes):
        properties["arg_attrs"] = ArrayAttr(argument_attributes)
    return llvm.FuncOp(name, function_type, _EXTERNAL, body=body, other_props=properties)


def _is_program(main: llvm.FuncOp) -> bool:
    """Returns whether all parameters are memory, apart from the thread and its team."""
    inputs = list(main.function_type.inputs.data)
    memories = inputs[1:] if is_shared(main) else inputs
    return len(memories) >= 2 and all(i == PTR for i in memories)


def is_shared(main: llvm.FuncOp) -> bool:
    """Returns whether threads run a program together: then the first parameter is the thread."""
    return main.function_type.inputs.data[:1] == (i64,)


def make_entry(main: llvm.FuncOp) -> llvm.FuncOp:
    """
    Makes the entry `glow_main(weights, io, arena)`. It calls the program with the pointers that the
    array `io` holds, inputs first, then outputs. If several threads run `main`, the entry is
    `glow_main(weights, io, arena, team, thread)`, and `main` gets `thread` and `team` first.
    """
    shared = is_shared(main)
    types = [PTR, PTR, PTR, *((PTR, i64) if shared else ())]
    block = Block(arg_types=types)
    hints = ("weights", "io", "arena", "team", "thread")
    for argument, hint in zip(block.args, hints, strict=False):
        argument.name_hint = hint
    weights, io, arena, *threading = block.args
    converter = FunctionConverter(Region(block), {})
    count = len(main.function_type.inputs.data) - 2 - len(threading)
    pointers = [memory.load_pointer(converter, io, i) for i in range(count)]
    arguments = [*reversed(threading), weights, *pointers, arena]
    converter.call(SymbolRefAttr(main.sym_name), arguments)
    converter.add(llvm.ReturnOp.create())
    converter.finish()
    return make_function(ENTRY, llvm.LLVMFunctionType(types, VOID), converter.region)
