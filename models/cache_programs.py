"""Programs of a decoder that keep its keys and values in place."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ..errors import GlowError, ModelError, UnsupportedError
from ..interface.cache_rows import Rows
from ..interface.signature import Signature
from ..lazy import lazy_property
from ..passes.graph.caches.in_place import VALID, Imports, PositionRows, caches_in_place
from ..runtime.saved_facts import Facts
from ..runtime.signature import signature_of

if TYPE_CHECKING:
    from .compiled_model import CompiledModel

_PAST, _NEW = 13, 2
"""Sizes of a trial, by which symbols are recognised."""


@dataclass(frozen=True)
class CacheSymbols:
    """The symbols of a decoder whose sizes change from call to call."""

    past: str
    """The number of rows of caches before a call."""
    new: str
    """The number of new tokens."""
    total: str | None
    """The sum of both, of a mask; None if no input has it."""

    def sizes(self, others: Mapping[str, int], past: int, new: int) -> dict[str, int]:
        """Returns sizes of all symbols, given those of the others."""
        total = {} if self.total is None else {self.total: past + new}
        return {**others, self.past: past, self.new: new, **total}


@dataclass(frozen=True)
class CacheProgram:
    """A program for a number of new tokens, and for caches of a number of rows."""

    model: CompiledModel
    rows: Rows
    positions: Mapping[str, PositionRows]

    @lazy_property
    def kept(self) -> dict[int, str]:
        """The caches by the numbers of the outputs that are their next values."""
        infos = self.model.get_inputs()
        return {info.state: info.name for info in infos if info.state is not None}

    def inputs_after(self, past: int) -> dict[str, np.ndarray]:
        """Returns the inputs that follow from the number of rows of the past."""
        valid = np.zeros(self.rows.total, np.float32)
        valid[past : self.rows.past] = -np.inf
        found = {VALID: valid}
        for name, of in self.positions.items():
            part = [slice(None)] * of.axis + [slice(past, past + self.rows.new)]
            found[name] = np.ascontiguousarray(of.table[tuple(part)])
        return found


class _Job(Protocol):
    """The part of `compilation.Compilation` that makes programs."""

    def graph(self, sizes: Mapping[str, int]) -> ModuleOp: ...

    def graphs(self, several: Sequence[Mapping[str, int]]) -> list[ModuleOp]: ...

    def cached_facts(self, about: str, make: Callable[[], object]) -> Any: ...

    def compiled_form(
        self, sizes: Mapping[str, int], form: str, make: Callable[[], tuple[ModuleOp, Facts]]
    ) -> tuple[CompiledModel, Facts]: ...


class CachePrograms:
    """Makes the programs of a decoder."""

    def __init__(
        self,
        signature: Signature,
        caches: Mapping[str, str],
        job: _Job,
        sizes: Mapping[str, int],
    ):
        """
        `signature` has the symbols; `caches` are inputs with the outputs that are their next
        values; `job` compiles the model, whose symbols that are in `sizes` have these sizes.
        """
        self.caches = dict(caches)
        self._job = job
        self._sizes = dict(sizes)
        names = json.dumps([sorted(sizes.items()), sorted(caches.items())])
        found = job.cached_facts(
            f"symbols of caches {names}", lambda: astuple(_symbols(signature, caches, self._load))
        )
        self.symbols = CacheSymbols(*found)
        self._form = f"caches in place {names}"

    def _load(self, sizes: Mapping[str, int]) -> ModuleOp:
        return self._job.graph({**self._sizes, **sizes})

    def make(self, others: Mapping[str, int], rows: Rows) -> CacheProgram:
        """
        Returns the program for numbers of rows, and for sizes of the other symbols, from the cache
        or compiled.
        """

        def sizes(past: int, new: int) -> Mapping[str, int]:
            return {**self._sizes, **self.symbols.sizes(others, past, new)}

        whole = sizes(rows.past, rows.new)

        def made() -> tuple[ModuleOp, Facts]:
            found = caches_in_place(self._imports(sizes, rows), rows, self.caches)
            axes = {name: of.axis for name, of in found.positions.items()}
            tables = {name: of.table for name, of in found.positions.items()}
            return found.module, Facts([axes], tables)

        model, facts = self._job.compiled_form(whole, self._form, made)
        (axes,) = facts.values
        positions = {n: PositionRows(table, axes[n]) for n, table in facts.arrays.items()}
        return CacheProgram(model, rows, positions)

    def _imports(self, sizes: Callable[[int, int], Mapping[str, int]], rows: Rows) -> Imports:
        """Returns the graphs that are compared. Raises ModelError for too many rows, and others."""
        several = [sizes(rows.past, rows.new), sizes(rows.past - 1, rows.new)]
        try:
            whole, smaller = self._job.graphs(several)
            return Imports(whole, smaller, self._job.graph(sizes(0, rows.total)))
        except ModelError as error:
            raise ModelError(
                f"caches of {rows.total} rows: {error}; if the network has positions for fewer "
                "tokens, give glow.compile buckets, of which the largest is their number"
            ) from error


def _symbols(
    signature: Signature,
    caches: Mapping[str, str],
    load: Callable[[Mapping[str, int]], ModuleOp],
) -> CacheSymbols:
    """Returns what symbols mean, from graphs of trial sizes. Raises UnsupportedError."""
    infos = {info.name: info for info in signature.inputs}
    names = _symbols_of([info.shape for info in signature.inputs])
    elsewhere = _symbols_of([i.shape for i in signature.inputs if i.name not in caches])
    own = [s for s in _symbols_of([infos[name].shape for name in caches]) if s not in elsewhere]
    if len(own) != 1:
        raise UnsupportedError(
            "expected one symbol that only the past inputs have, the number of their rows; found "
            f"{', '.join(own) or 'none'}"
        )
    (past,) = own
    others = [s for s in names if s != past]
    # a batch of caches has any size, so that of all tokens would fit as well
    free = [s for s in others if s not in _symbols_of([infos[name].shape for name in caches])]
    likely = sorted(free, key=lambda s: ("total" not in s and "+" not in s, "seq" not in s))
    for total in (*likely[:1], None, *likely[1:]):
        for new in sorted(free, key=lambda s: "seq" not in s):
            if new == total:
                continue
            found = CacheSymbols(past, new, total)
            if _fits(found, others, caches, load):
                return found
    raise UnsupportedError(
        "no two symbols of the inputs are the number of new tokens and that of all tokens, so that "
        f"each cache gets a row for each new token; the symbols are {', '.join(names)}"
    )


def _fits(
    symbols: CacheSymbols,
    others: Sequence[str],
    caches: Mapping[str, str],
    load: Callable[[Mapping[str, int]], ModuleOp],
) -> bool:
    """Returns whether every cache grows by the new tokens."""
    rest = {s: 1 for s in others if s not in (symbols.new, symbols.total)}
    try:
        signature = signature_of(load(symbols.sizes(rest, _PAST, _NEW)))
    except GlowError:
        return False
    inputs = {info.name: info.shape for info in signature.inputs}
    outputs = {info.name: info.shape for info in signature.outputs}
    return all(
        outputs[present] == [_PAST + _NEW if d == _PAST else d for d in inputs[past]]
        for past, present in caches.items()
    )


def _symbols_of(shapes: Sequence[Sequence[object]]) -> list[str]:
    return list(dict.fromkeys(d for shape in shapes for d in shape if isinstance(d, str)))
