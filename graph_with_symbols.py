"""
Graphs that serve several sizes of their symbols: models that are imported once for all of these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from .errors import GlowError
from .fork_safe_lock import ForkSafeLock
from .frontend.onnx.symbolic import fold_bound, import_with_symbols
from .glow_dialects.size_decisions import Decisions, deciding
from .loading import gradient_nodes
from .passes.graph.bind_symbols import bind_symbols
from .runtime.signature import main_function

if TYPE_CHECKING:
    from .frontend.onnx import LoadedModel

_TRIES = 2
"""The number of graphs that may serve no other sizes, before no more are made."""


class GraphWithSymbols:
    """The graph of a model, imported for certain sizes of all symbols, from 1."""

    def __init__(self, model: LoadedModel, sizes: Mapping[str, int], max_elements: int):
        """
        Raises the errors of an import, and any error of code that takes numbers only as sizes.
        """
        self._import = import_with_symbols(model, sizes, max_elements, gradient_nodes)
        self.conditions = self._import.conditions
        """The conditions for other sizes that the graph serves."""
        self.external = set(self._import.external)
        """The files other than the model's with its weights."""

    def at(self, sizes: Mapping[str, int]) -> ModuleOp | None:
        """Returns the graph for sizes of all symbols; None if it is another one for these."""
        if not self._import.admits(sizes):
            return None
        places: dict[SSAValue, SSAValue] = {}
        module = self._import.module.clone(value_mapper=places)
        assert isinstance(module, ModuleOp)
        try:
            with deciding(Decisions(sizes)):
                bind_symbols(module, sizes)
            fold_bound(main_function(module), sizes, self._import, places)
        except (GlowError, VerifyException):
            return None  # an import for these sizes reports the error
        return module


class SharedImports:
    """
    The graphs of a model for any sizes of its symbols, as far as one import serves several. Any
    thread may use it.
    """

    def __init__(self, model: LoadedModel, max_elements: int):
        self._model = model
        self._max_elements = max_elements
        self._asked: set[tuple[tuple[str, int], ...]] = set()
        self._graphs: list[GraphWithSymbols] = []
        self._unshared = 0
        """The number of graphs that have served no other sizes."""
        self._lock = ForkSafeLock()

    def at(self, several: Sequence[Mapping[str, int]]) -> tuple[list[ModuleOp], set[str]] | None:
        """
        Returns the graphs of one import for several sizes of all symbols, and the files other than
        the model's with its weights. Returns None if the model has to be imported for these sizes:
        the first ones of all, or those whose graph serves no others.
        """
        with self._lock:
            self._asked.update(tuple(sorted(sizes.items())) for sizes in several)
            for graph in self._graphs:
                if (found := _each(graph, several)) is not None:
                    self._unshared = 0
                    return found, graph.external
            least = min(min(sizes.values()) for sizes in several)
            if len(self._asked) < 2 or self._unshared >= _TRIES or least < 1:
                return None
            self._unshared += 1
            try:
                graph = GraphWithSymbols(self._model, several[0], self._max_elements)
            except Exception:  # code may take numbers only, which an import for these sizes has
                return None
            self._graphs.append(graph)
            found = _each(graph, several)
            return None if found is None else (found, graph.external)


def _each(graph: GraphWithSymbols, several: Sequence[Mapping[str, int]]) -> list[ModuleOp] | None:
    """Returns a graph for each of several sizes; None if it is another one for some of these."""
    found: list[ModuleOp] = []
    for sizes in several:
        if (bound := graph.at(sizes)) is None:
            return None
        found.append(bound)
    return found
