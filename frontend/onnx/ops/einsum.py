"""Sums of products in Einstein's notation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.arithmetic import MulOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ....glow_dialects.operator import is_narrow_integer
from ..builder import GraphBuilder, element, rank, shape
from ..node import OnnxNode, converter
from ..problems import Unsupported

_DOTS = "..."


@dataclass(frozen=True)
class Labelled:
    """A tensor with a label for each dimension. Those of an ellipsis are numbers from the last."""

    value: SSAValue
    labels: tuple[str, ...]

    def size(self, label: str) -> int:
        return shape(self.value)[self.labels.index(label)]


@converter("Einsum")
def einsum(node: OnnxNode) -> SSAValue:
    """
    Operands are multiplied from left to right, each time as a product of matrices, and sums are
    taken as soon as nothing else needs a label.
    """
    build, equation = node.build, node.attr("equation").replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(node.values):
        raise ModelError(f"expected an equation for {len(node.values)} operands, found {equation}")
    operands = [
        Labelled(v, _labels(t, rank(v), equation)) for t, v in zip(terms, node.values, strict=True)
    ]
    result = _result(operands, right if arrow else None, equation)
    sizes = _sizes(operands, equation)
    if not set(result) <= set(sizes):
        raise ModelError(f"expected labels of operands in the result, found {equation}")
    operands = [_diagonal(build, o) for o in operands]
    operands = [_without_ones(build, o, sizes) for o in operands]
    whole = operands[0]
    for i, operand in enumerate(operands[1:], 1):
        needed = {label for o in operands[i + 1 :] for label in o.labels} | set(result)
        whole = _product(build, whole, operand, needed)
    whole = _summed(build, whole, set(result))
    missing = tuple(label for label in result if label not in whole.labels)
    grown = build.reshape(whole.value, [*[1] * len(missing), *shape(whole.value)])
    order = [(*missing, *whole.labels).index(label) for label in result]
    turned = build.transpose(grown, order)
    return build.broadcast(turned, [sizes[label] for label in result])


def _labels(term: str, n: int, equation: str) -> tuple[str, ...]:
    before, dots, after = term.partition(_DOTS)
    letters = before + after
    if not all(c.isascii() and c.isalpha() for c in letters) or len(letters) > n:
        raise ModelError(f"expected letters for the dimensions of operands, found {equation}")
    if len(letters) < n and not dots:
        raise ModelError(f"expected a letter for each of {n} dimensions, found {equation}")
    covered = n - len(letters)
    return (*before, *(str(d) for d in reversed(range(covered))), *after)


def _result(operands: Sequence[Labelled], right: str | None, equation: str) -> tuple[str, ...]:
    """
    Returns the labels of the result: by default those of the ellipsis, then letters that occur
    once.
    """
    found = Counter(label for o in operands for label in o.labels)
    covered = sorted((label for label in found if label.isdigit()), key=int, reverse=True)
    if right is None:
        once = sorted(label for label, n in found.items() if n == 1 and not label.isdigit())
        return (*covered, *once)
    before, dots, after = right.partition(_DOTS)
    result = (*before, *(covered if dots else ()), *after)
    if len(set(result)) != len(result):
        raise ModelError(f"expected different labels in the result, found {equation}")
    return result


def _sizes(operands: Sequence[Labelled], equation: str) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for o in operands:
        for label, size in zip(o.labels, shape(o.value), strict=True):
            known = sizes.get(label, 1)
            if 1 not in (known, size) and known != size:
                raise ModelError(f"expected one size for {label!r}, found {known} and {size}")
            sizes[label] = size if known == 1 else known
    if len({element(o.value) for o in operands}) != 1:
        raise ModelError(f"expected operands of one element type in {equation}")
    return sizes


def _diagonal(build: GraphBuilder, x: Labelled) -> Labelled:
    """Returns `x` with each label once: where a label repeats, only equal indices count."""
    while (label := next((v for v, n in Counter(x.labels).items() if n > 1), None)) is not None:
        first, second = [d for d, v in enumerate(x.labels) if v == label][:2]
        others = [d for d in range(len(x.labels)) if d not in (first, second)]
        turned = build.transpose(x.value, [*others, first, second])
        *rest, n, m = shape(turned)
        if n != m:
            raise ModelError(f"expected one size for {label!r}, found {n} and {m}")
        flat = build.reshape(turned, [*rest, n * n])
        steps = [1] * len(rest) + [n + 1]
        value = build.slice(flat, [0] * (len(rest) + 1), [*rest, n], steps)
        x = Labelled(value, (*(x.labels[d] for d in others), label))
    return x


def _without_ones(build: GraphBuilder, x: Labelled, sizes: dict[str, int]) -> Labelled:
    """Returns `x` without dimensions of size 1 that broadcast to others."""
    kept = [
        (label, size)
        for label, size in zip(x.labels, shape(x.value), strict=True)
        if size != 1 or sizes[label] == 1
    ]
    value = build.reshape(x.value, [size for _, size in kept])
    return Labelled(value, tuple(label for label, _ in kept))


def _summed(build: GraphBuilder, x: Labelled, needed: set[str]) -> Labelled:
    """Returns `x` summed over all dimensions that nothing needs."""
    axes = [d for d, label in enumerate(x.labels) if label not in needed]
    if not axes:
        return x
    value = build.op(ReduceSumOp, x.value, axes=axes, keep_dims=False)
    return Labelled(value, tuple(label for label in x.labels if label in needed))


def _product(build: GraphBuilder, a: Labelled, b: Labelled, needed: set[str]) -> Labelled:
    """Returns the product of two tensors, summed over the labels that nothing else needs."""
    a = _summed(build, a, needed | set(b.labels))
    b = _summed(build, b, needed | set(a.labels))
    both = [label for label in a.labels if label in b.labels]
    batch, inner = [v for v in both if v in needed], [v for v in both if v not in needed]
    rows = [v for v in a.labels if v not in both]
    columns = [v for v in b.labels if v not in both]
    sizes = {**dict(zip(a.labels, shape(a.value), strict=True)),
             **dict(zip(b.labels, shape(b.value), strict=True))}  # fmt: skip

    def turned(x: Labelled, *groups: Sequence[str]) -> SSAValue:
        order = [x.labels.index(label) for group in groups for label in group]
        target = [*(sizes[v] for v in batch), *(prod(sizes[v] for v in g) for g in groups[1:])]
        return build.reshape(build.transpose(x.value, order), target)

    labels = (*batch, *rows, *columns)
    target = [sizes[v] for v in labels]
    if not inner:
        pair = turned(a, batch, rows, []), turned(b, batch, [], columns)
        return Labelled(build.reshape(build.elementwise(MulOp, *pair), target), labels)
    if is_narrow_integer(element(a.value)):
        raise Unsupported(f"products of {element(a.value)}")
    product = build.op(MatMulOp, turned(a, batch, rows, inner), turned(b, batch, inner, columns))
    return Labelled(build.reshape(product, target), labels)
