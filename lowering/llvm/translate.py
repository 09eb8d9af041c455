"""
The `llvm` dialect as LLVM IR text.

Blocks become labels and their arguments phis; constants are written where they are used. Values are
numbered, not named, so that equal functions give equal text. Functions never unwind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import IO

from xdsl.context import Context
from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, ModuleOp, StringAttr
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.target import Target

from ...errors import CompileError
from .instructions import TRANSLATORS, Names
from .text import constant_text, parameter_attributes, type_text
from .types import BRANCH_WEIGHTS, WRITTEN_OUT

_LITERALS = {"llvm.mlir.poison": "poison", "llvm.mlir.zero": "zeroinitializer"}


@dataclass(frozen=True)
class LLVMIRTarget(Target):
    """Prints a module of the `llvm` dialect as LLVM IR, without target triple and data layout."""

    name = "glow-llvm-ir"

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(translate_module(module))


def translate_module(module: ModuleOp) -> str:
    """
    Returns one LLVM IR module for all functions. Raises CompileError, naming the operation, for
    anything that is not of the `llvm` dialect.
    """
    functions: list[llvm.FuncOp] = []
    for op in module.body.block.ops:
        if not isinstance(op, llvm.FuncOp):
            raise CompileError(f"cannot translate '{op.name}' to LLVM IR: expected llvm.func")
        if op.body.blocks:
            functions.append(op)
    return translate_functions(functions)


def translate_functions(functions: Sequence[llvm.FuncOp]) -> str:
    """
    Returns an LLVM IR module with these functions and declarations of their other callees, so that
    it can be compiled and cached alone. Raises CompileError like `translate_module`.
    """
    names, defined = Names(), {f.sym_name.data for f in functions}
    bodies = [_definition(f, names) for f in functions]
    declared = [text for name, text in sorted(names.declarations.items()) if name not in defined]
    weights = [
        f'!{number} = !{{!"branch_weights", {", ".join(f"i32 {n}" for n in each)}}}'
        for each, number in names.weights.items()
    ]
    parts = [*bodies, *("\n".join(lines) for lines in (declared, weights) if lines)]
    return "\n\n".join(parts) + "\n"


def _definition(function: llvm.FuncOp, names: Names) -> str:
    """Returns a function with its body."""
    blocks = list(function.body.blocks)
    _name_values(blocks, names)
    name, t = function.sym_name.data, function.function_type
    attributes = [dict(a.data) for a in function.arg_attrs] if function.arg_attrs else []
    parameters = ", ".join(
        f"{type_text(a.type)} {parameter_attributes(attributes[i]) if attributes else ''}"
        f"{names.of[a]}"
        for i, a in enumerate(blocks[0].args)
    )
    linkage = function.linkage.linkage.data
    word = "" if linkage == "external" else f"{linkage} "
    passed = [a.data for a in function.passthrough or () if isinstance(a, StringAttr)]
    properties = " ".join(["nounwind", *passed])
    lines = [f"define {word}{type_text(t.output)} @{name}({parameters}) {properties} {{"]
    labels = {block: f"b{i}" for i, block in enumerate(blocks)}
    incoming: _Incoming = {block: [] for block in blocks}
    texts = [_lines(b, names, labels, incoming, name) for b in blocks]
    for block, text in zip(blocks, texts, strict=True):
        lines += [f"{labels[block]}:", *_phis(block, incoming[block], names), *text]
    return "\n".join([*lines, "}"])


def _name_values(blocks: Sequence[Block], names: Names) -> None:
    """Numbers all values first, because a phi may mention a later one."""
    number, name_of = 0, names.of
    for block in blocks:
        for argument in block.args:
            name_of[argument] = f"%v{number}"
            number += 1
        for op in block.ops:
            literal = _literal(op)
            for result in op.results:
                name_of[result] = literal if literal is not None else f"%v{number}"
                number += literal is None


def _literal(op: Operation) -> str | None:
    """Returns the text of an operation that is a constant."""
    if not op.name.startswith("llvm.mlir."):  # which spares most operations the other questions
        return None
    if isinstance(op, llvm.ConstantOp):
        return constant_text(op.value, op.result.type)
    if op.name == "llvm.mlir.zero" and isinstance(op.results[0].type, llvm.LLVMPointerType):
        return "null"
    return _LITERALS.get(op.name)


_Incoming = dict[Block, list[tuple[str, Sequence[SSAValue]]]]


def _phis(
    block: Block, incoming: Sequence[tuple[str, Sequence[SSAValue]]], names: Names
) -> Iterator[str]:
    """Yields the phis of a block that others jump to; the first one has parameters instead."""
    if not incoming:
        return
    for i, argument in enumerate(block.args):
        sources = ", ".join(f"[ {names.of[values[i]]}, %{label} ]" for label, values in incoming)
        yield f"  {names.of[argument]} = phi {type_text(argument.type)} {sources}"


_COPY, _VALUE = "\0", "\1"
_MARK = re.compile(f"{_COPY}|{_VALUE}(\\d+)")
"""
In the text of a loop: the place of the number of an iteration in a name, or the number of a value
that the iteration before hands on.
"""


def _lines(
    block: Block, names: Names, labels: dict[Block, str], incoming: _Incoming, function: str
) -> list[str]:
    """Returns the instructions of a block; those of all iterations, if it is written out."""
    branch = block.last_op
    loop = None if branch is None else branch.attributes.get(WRITTEN_OUT)
    if not isinstance(branch, llvm.CondBrOp) or not isinstance(loop, DenseArrayBase):
        return _block_lines(block, names, labels, incoming, function)
    ((_, initial),) = incoming[block]
    values = [names.of[value] for value in initial]
    incoming[block] = []
    results = {r: names.of[r] for op in block.ops for r in op.results if names.of[r][0] == "%"}
    names.of.update({result: name + _COPY for result, name in results.items()})
    names.of.update({a: f"{_VALUE}{i}" for i, a in enumerate(block.args)})
    leaving: _Incoming = {block: [], branch.else_block: incoming[branch.else_block]}
    *lines, _ = _block_lines(block, names, labels, leaving, function)
    text, following = "\n".join(lines), [names.of[v] for v in branch.then_arguments]
    first, step, count = loop.get_values()
    copies: list[str] = []
    for number in range(count):
        values[0], suffix = str(first + number * step), f".{number}"
        # what follows the loop has the names of the last iteration
        names.of.update(zip(block.args, values, strict=True))
        names.of.update({result: name + suffix for result, name in results.items()})
        named = partial(_named, suffix, values)
        copies.append(_MARK.sub(named, text))
        values = [_MARK.sub(named, name) for name in following]
    return [*copies, f"  br label %{labels[branch.else_block]}"]


def _named(suffix: str, values: Sequence[str], mark: re.Match[str]) -> str:
    """Returns what stands for a mark in the text of an iteration."""
    return suffix if mark[1] is None else values[int(mark[1])]


def _block_lines(
    block: Block, names: Names, labels: dict[Block, str], incoming: _Incoming, function: str
) -> list[str]:
    """
    Returns the instructions of a block. Adds the values that it passes to its successors to
    `incoming`.
    """
    lines: list[str] = []
    for op in block.ops:
        name = next(map(names.of.__getitem__, op.results), None)
        if name is not None and name[0] != "%":
            continue
        translator = TRANSLATORS.get(op.name)
        if translator is None:
            if isinstance(op, llvm.BrOp | llvm.CondBrOp):
                lines += _branch_lines(op, block, names, labels, incoming)
                continue
            raise CompileError(
                f"cannot translate '{op.name}' in @{function} to LLVM IR: no translation is known"
            )
        text = translator(op, names)
        lines.append(f"  {text}" if name is None else f"  {name} = {text}")
    return lines


def _branch_lines(
    op: llvm.BrOp | llvm.CondBrOp,
    block: Block,
    names: Names,
    labels: dict[Block, str],
    incoming: _Incoming,
) -> list[str]:
    label = labels[block]
    if isinstance(op, llvm.BrOp):
        incoming[op.successor].append((label, op.arguments))
        return [f"  br label %{labels[op.successor]}"]
    then, otherwise = labels[op.then_block], labels[op.else_block]
    weights = op.attributes.get(BRANCH_WEIGHTS)
    profile = names.profile(weights.get_values()) if isinstance(weights, DenseArrayBase) else ""
    edge, further = label, []
    if then == otherwise:
        # a phi has one value per predecessor, so the second edge gets a block of its own
        edge = f"{label}.else"
        otherwise, further = edge, [f"{edge}:", f"  br label %{then}"]
    incoming[op.then_block].append((label, op.then_arguments))
    incoming[op.else_block].append((edge, op.else_arguments))
    choice = f"  br i1 {names.of[op.cond]}, label %{then}, label %{otherwise}{profile}"
    return [choice, *further]
