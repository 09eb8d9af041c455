"""Sums of products in index notation, as diagonals, transposes and products of matrices."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from string import ascii_letters

from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.generic import GenericOp
from ....glow_dialects.glow.matrix import MatMulOp
from ....glow_dialects.glow.reduction import ReduceSumOp
from ..builder import GraphBuilder, rank, shape
from ..node import OnnxNode, converter


@dataclass(frozen=True)
class Term:
    """A tensor whose dimensions have letters."""

    value: SSAValue
    letters: str


@converter("Einsum")
def einsum(node: OnnxNode) -> SSAValue:
    """The terms are multiplied from left to right; what only one of them has is summed before."""
    build = node.build
    terms, result = _parsed(node)
    sizes: dict[str, int] = {}
    for term in terms:
        for letter, size in zip(term.letters, shape(term.value), strict=True):
            if sizes.setdefault(letter, size) != size and 1 in (size, sizes[letter]):
                sizes[letter] = max(size, sizes[letter])
            elif sizes[letter] != size:
                raise ModelError(f"expected one size of {letter!r}, found {sizes[letter]}, {size}")
    if unknown := [letter for letter in result if letter not in sizes]:
        raise ModelError(f"no term of the equation has the letter {unknown[0]!r} of its result")
    left, *others = terms
    for i, right in enumerate(others):
        wanted = {*result, *(letter for term in others[i + 1 :] for letter in term.letters)}
        left = _product(build, left, right, wanted, sizes)
    left = _summed(build, left, set(result))
    return _arranged(build, left, result, sizes)


def _parsed(node: OnnxNode) -> tuple[list[Term], str]:
    """The terms, and the letters of the result; an ellipsis has become letters."""
    equation = re.sub(r"\s", "", node.attr("equation"))
    left, arrow, result = equation.partition("->")
    parts = left.split(",")
    if len(parts) != len(node.values):
        raise ModelError(f"expected {len(node.values)} terms in the equation, found {equation!r}")
    spare = [letter for letter in ascii_letters if letter not in equation]
    # enough for the largest ellipsis; a shorter one has the last of them
    most = max(rank(x) - len(p.replace("...", "")) for p, x in zip(parts, node.values, strict=True))
    dots = "".join(spare[: max(0, most)])
    terms: list[Term] = []
    for part, x in zip(parts, node.values, strict=True):
        own = rank(x) - len(part.replace("...", ""))
        letters = part.replace("...", dots[len(dots) - own :] if own > 0 else "")
        if len(letters) != rank(x) or not set(letters) <= set(ascii_letters):
            raise ModelError(f"expected a letter for each dimension of {x.type}, found {part!r}")
        terms.append(Term(x, letters))
    if arrow:
        return terms, result.replace("...", dots)
    every = left.replace(".", "").replace(",", "")
    return terms, dots + "".join(sorted(a for a in set(every) if every.count(a) == 1))


def _summed(build: GraphBuilder, term: Term, wanted: set[str]) -> Term:
    """Without letters that nothing needs, and with each letter once."""
    once = "".join(dict.fromkeys(term.letters))
    if once != term.letters:
        target = ", ".join(once)
        formula = f"y[{target}] = x[{', '.join(term.letters)}]"
        term = Term(build.op(GenericOp, term.value, formula=formula), once)
    axes = [d for d, letter in enumerate(once) if letter not in wanted]
    if not axes:
        return term
    total = build.op(ReduceSumOp, term.value, axes=axes, keep_dims=False)
    return Term(total, "".join(letter for letter in once if letter in wanted))


def _product(
    build: GraphBuilder, left: Term, right: Term, wanted: set[str], sizes: Mapping[str, int]
) -> Term:
    """One product of matrices: over letters of both that nothing else needs."""
    left = _summed(build, left, wanted | set(right.letters))
    right = _summed(build, right, wanted | set(left.letters))
    both = [letter for letter in left.letters if letter in right.letters]
    batch = "".join(letter for letter in both if letter in wanted)
    inner = "".join(letter for letter in both if letter not in wanted)
    rows = "".join(letter for letter in left.letters if letter not in both)
    columns = "".join(letter for letter in right.letters if letter not in both)
    factors = (
        _matrix(build, left, (batch, rows, inner), sizes),
        _matrix(build, right, (batch, inner, columns), sizes),
    )
    letters = batch + rows + columns
    found = build.op(MatMulOp, *factors)
    return Term(build.reshape(found, [sizes[letter] for letter in letters]), letters)


def _matrix(
    build: GraphBuilder, term: Term, groups: Sequence[str], sizes: Mapping[str, int]
) -> SSAValue:
    """A tensor with one dimension for each group of letters."""
    whole = _arranged(build, term, "".join(groups), sizes)
    return build.reshape(whole, [prod(sizes[letter] for letter in group) for group in groups])


def _arranged(build: GraphBuilder, term: Term, letters: str, sizes: Mapping[str, int]) -> SSAValue:
    """The dimensions in the order of letters, in their full sizes."""
    turned = build.transpose(term.value, [term.letters.index(letter) for letter in letters])
    return build.broadcast(turned, [sizes[letter] for letter in letters])
