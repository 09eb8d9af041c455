"""The text of each operation of the `llvm` dialect in LLVM IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType
from xdsl.dialects.llvm import FCmpPredicateFlag, ICmpPredicateFlag
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ...errors import CompileError
from ...glow_dialects import llvm_extended as lx
from ...glow_dialects.identity_cache import cached_by_identity
from ...table import Table
from .text import suffix, type_text

TRANSLATORS: Table[str, Callable[[Any, Names], str]] = Table("a translation")
"""The translations by operation name, so that xDSL's classes and our replacements share them."""
translates = TRANSLATORS.entry


class Names:
    """The names of the values of a function, and the declarations that the function needs."""

    def __init__(self) -> None:
        self.of: dict[SSAValue, str] = {}
        """A register such as `%v3`, or the text of a constant."""
        self.declarations: dict[str, str] = {}
        """Declarations by function name."""
        self.weights: dict[tuple[int, ...], int] = {}
        """The numbers of the metadata with the weights of branches."""

    def typed(self, value: SSAValue) -> str:
        return f"{type_text(value.type)} {self.of[value]}"

    def listed(self, values: Sequence[SSAValue]) -> str:
        return ", ".join([f"{type_text(v.type)} {self.of[v]}" for v in values])

    def profile(self, weights: tuple[int, ...]) -> str:
        """Returns what follows a branch with these weights."""
        return f", !prof !{self.weights.setdefault(weights, len(self.weights))}"


@cached_by_identity
def flags_text(flags: Attribute | None) -> str:
    """Returns fast-math flags, with a space after each."""
    if not isinstance(flags, llvm.FastMathAttr):
        return ""
    return "".join(f"{flag.value} " for flag in FastMathFlag if flag in flags.data)


def _flags(op: Operation) -> str:
    """
    Returns the flags by which an operation promises something of its operands and result, with a
    space behind each word.
    """
    fast, overflow = map(op.properties.get, ("fastmathFlags", "overflowFlags"))
    return flags_text(fast) + _overflow_text(overflow)


@cached_by_identity
def _overflow_text(flags: Attribute | None) -> str:
    if isinstance(flags, IntegerAttr):
        flags = llvm.OverflowAttr.from_int(flags.value.data)
    if not isinstance(flags, llvm.OverflowAttr):
        return ""
    return "".join(f"{flag.value} " for flag in llvm.OverflowFlag if flag in flags.data)


@translates(*(f"llvm.{name}" for name in ("fadd", "fsub", "fmul", "fdiv", "frem", "fneg")))
@translates(*(f"llvm.{name}" for name in ("add", "sub", "mul", "shl", "and", "or", "xor")))
@translates(*(f"llvm.{name}" for name in ("sdiv", "udiv", "srem", "urem", "lshr", "ashr")))
def arithmetic(op: Operation, names: Names) -> str:
    first, *rest = op.operands
    operands = ", ".join([names.of[o] for o in (first, *rest)])
    return f"{op.name[5:]} {_flags(op)}{type_text(first.type)} {operands}"


@translates(*(f"llvm.{name}" for name in ("sext", "zext", "trunc", "sitofp", "uitofp", "fptosi")))
@translates(*(f"llvm.{name}" for name in ("fptoui", "fpext", "fptrunc", "bitcast")))
def conversion(op: Operation, names: Names) -> str:
    result = type_text(op.results[0].type)
    return f"{op.name[5:]} {_flags(op)}{names.typed(op.operands[0])} to {result}"


@translates("llvm.icmp", "llvm.fcmp")
def comparison(op: llvm.ICmpOp | lx.FCmpOp, names: Names) -> str:
    kind = ICmpPredicateFlag if isinstance(op, llvm.ICmpOp) else FCmpPredicateFlag
    predicate = kind.from_int(op.predicate.value.data).value.lstrip("_")
    return f"{op.name[5:]} {_flags(op)}{predicate} {names.typed(op.lhs)}, {names.of[op.rhs]}"


@translates("llvm.select", "llvm.extractelement", "llvm.insertelement", "llvm.freeze")
def selection(op: Operation, names: Names) -> str:
    return f"{op.name[5:]} {_flags(op)}{names.listed(op.operands)}"


@translates("llvm.shufflevector")
def shuffling(op: llvm.ShuffleVectorOp, names: Names) -> str:
    lanes = op.mask.get_values()
    if not any(lanes):
        mask = "zeroinitializer"
    else:
        mask = "<" + ", ".join(f"i32 {m}" if m >= 0 else "i32 poison" for m in lanes) + ">"
    return f"shufflevector {names.listed(op.operands)}, <{len(lanes)} x i32> {mask}"


@translates("llvm.getelementptr")
def address(op: lx.GEPOp, names: Names) -> str:
    pointer, *rest = op.operands
    dynamic = iter(rest)
    indices = [
        names.typed(next(dynamic)) if index == lx.DYNAMIC else f"i64 {index}"
        for index in _numbers(op.rawConstantIndices)
    ]
    start = f"getelementptr {_wrap_text(op.noWrapFlags)}{type_text(op.elem_type)}"
    return f"{start}, {names.typed(pointer)}, {', '.join(indices)}"


@cached_by_identity
def _numbers(indices: DenseArrayBase[IntegerType]) -> Sequence[int]:
    return indices.get_values()


@cached_by_identity
def _wrap_text(flags: IntegerAttr) -> str:
    """Returns what an address says of overflow, with a space after it."""
    flag = lx.NoWrap(flags.value.data)
    return "" if flag is lx.NoWrap.NONE else f"{flag.name.lower()} "


def _alignment(op: Operation) -> str:
    return _alignment_text(op.properties.get("alignment"))


@cached_by_identity
def _alignment_text(alignment: Attribute | None) -> str:
    return f", align {alignment.value.data}" if isinstance(alignment, IntegerAttr) else ""


def _ordering(op: Operation) -> lx.Ordering:
    ordering = op.properties.get("ordering")
    return lx.Ordering(ordering.value.data if isinstance(ordering, IntegerAttr) else 0)


def _atomic(op: Operation) -> tuple[str, str]:
    """Returns, for an atomic access, the word after `load` or `store`, and the ordering."""
    ordering = _ordering(op)
    if ordering is lx.Ordering.NOT_ATOMIC:
        return "", ""
    if "alignment" not in op.properties:
        raise CompileError(f"atomic {op.name} needs an alignment to be translated to LLVM IR")
    return "atomic ", f" {ordering.name.lower()}"


@translates("llvm.load")
def loading(op: llvm.LoadOp, names: Names) -> str:
    atomic, ordering = _atomic(op)
    (result,), (pointer,) = op.results, op.operands
    address = names.typed(pointer)
    return f"load {atomic}{type_text(result.type)}, {address}{ordering}{_alignment(op)}"


@translates("llvm.store")
def storing(op: llvm.StoreOp, names: Names) -> str:
    atomic, ordering = _atomic(op)
    volatile = "volatile " if op.volatile_ is not None else ""
    return f"store {atomic}{volatile}{names.listed(op.operands)}{ordering}{_alignment(op)}"


@translates("llvm.atomicrmw")
def atomic_change(op: lx.AtomicRMWOp, names: Names) -> str:
    kind = op.kind.name.lower().lstrip("_")
    return f"atomicrmw {kind} {names.listed(op.operands)} {_ordering(op).name.lower()}"


@translates("llvm.alloca")
def stack_allocation(op: llvm.AllocaOp, names: Names) -> str:
    return f"alloca {type_text(op.elem_type)}, {names.typed(op.size)}{_alignment(op)}"


# control flow; phis are written by the blocks that have arguments


@translates("llvm.return")
def returning(op: llvm.ReturnOp, names: Names) -> str:
    return f"ret {names.typed(op.arg)}" if op.arg is not None else "ret void"


# calls


Argument: TypeAlias = tuple[str, str]
"""The type of an argument and its value, with its attributes before it."""


def _call(op: Operation, names: Names, callee: str, arguments: Sequence[Argument]) -> str:
    result, flags = _result(op), flags_text(op.properties.get("fastmathFlags"))
    types = ", ".join([t for t, _ in arguments])
    names.declarations.setdefault(callee, f"declare {result} @{callee}({types})")
    values = ", ".join([f"{t} {value}" for t, value in arguments])
    return f"call {flags}{result} @{callee}({values})"


def _arguments(names: Names, values: Sequence[SSAValue]) -> list[Argument]:
    return [(type_text(v.type), names.of[v]) for v in values]


def _result(op: Operation) -> str:
    return type_text(op.results[0].type) if op.results else "void"


@translates("llvm.call")
def function_call(op: llvm.CallOp, names: Names) -> str:
    if op.callee is None:
        pointer, *arguments = op.args
        return f"call {_result(op)} {names.of[pointer]}({names.listed(arguments)})"
    return _call(op, names, op.callee.string_value(), _arguments(names, op.args))


@translates("llvm.call_intrinsic")
def named_intrinsic(op: llvm.CallIntrinsicOp, names: Names) -> str:
    return _call(op, names, op.intrin.data, _arguments(names, op.args))


_OVERLOADED_BY_LAST = (
    *("fabs", "sqrt", "exp", "log", "sin", "cos", "tanh", "pow", "floor", "ceil", "rint", "fma"),
    *("maximum", "minimum", "smax", "smin", "umax", "umin", "vector.reduce.fadd"),
    *("vector.reduce.fmul", "vector.reduce.fmaximum", "vector.reduce.fminimum"),
)


def _overloaded(op: Operation, *by: SSAValue) -> str:
    """Returns the name of an intrinsic that is overloaded by the types of values."""
    return ".".join([f"llvm.{op.name[10:]}", *(suffix(v.type) for v in by)])


@translates(*(f"llvm.intr.{name}" for name in _OVERLOADED_BY_LAST))
def intrinsic(op: Operation, names: Names) -> str:
    return _call(op, names, _overloaded(op, op.operands[-1]), _arguments(names, op.operands))


@translates("llvm.intr.masked.gather", "llvm.intr.masked.store")
def masked_access(op: lx.MaskedGatherOp | lx.MaskedStoreOp, names: Names) -> str:
    """Returns a masked access; the alignment is an attribute of its pointer argument."""
    moved, pointer = (*op.results, *op.operands)[:2]
    arguments = _arguments(names, op.operands)
    place = op.operands.index(pointer)
    t, address = arguments[place]
    arguments[place] = t, f"align {op.alignment.value.data} {address}"
    return _call(op, names, _overloaded(op, moved, pointer), arguments)


@translates("llvm.intr.prefetch")
def prefetching(op: lx.PrefetchOp, names: Names) -> str:
    numbers = [("i32", str(p.value.data)) for p in (op.rw, op.hint, op.cache)]
    return _call(op, names, "llvm.prefetch.p0", [*_arguments(names, [op.addr]), *numbers])
