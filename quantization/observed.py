"""
Runs a graph with all its values as results, at the speed of the backend.

Values have the names that `name_values` recorded, so that the values of two graphs can
be compared if passes made one graph from the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, NameLoc
from xdsl.ir import BlockArgument, OpResult, SSAValue

from ..errors import QuantizationError
from ..passes.graph.value_keys import profiled_values
from ..runtime.signature import main_function, signature_of
from .compare import Comparison
from .profiling import runnable

if TYPE_CHECKING:
    from ..interface.backend import Backend


class ObservedGraph:
    """
    A graph, compiled with all its float values as results. `backend` runs it; for `cpu` the
    interpreter stands in, with a warning, if that cannot.
    """

    def __init__(
        self,
        graph: ModuleOp,
        backend: str | Backend = "cpu",
        threads: int = 1,
        cache: bool | str | Path = True,
    ):
        """`graph` is not changed. Raises the errors of compilation."""
        copy = graph.clone()
        self._own = len(signature_of(graph).shown)
        self._arguments, numbers = _make_results(copy)
        places = {number: i for i, number in enumerate(signature_of(copy).shown)}
        self._program = runnable(copy, backend, threads, cache)
        self.inputs, outputs = self._program.get_inputs(), self._program.get_outputs()
        found = {name: places[number] for name, number in numbers.items()}
        self._results = {n: i for n, i in found.items() if None not in outputs[i].shape}
        self.outputs: list[np.ndarray] = []
        """The graph's own results in the last run."""

    def run(self, feed: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """
        Returns all float values by name, for inputs by name, except outputs whose sizes data
        decide: those of two runs may differ. Raises InputError for wrong inputs.
        """
        outputs = self._program.run(None, feed)
        self.outputs = outputs[: self._own]
        arguments = {
            name: np.asarray(feed[self.inputs[i].name]) for name, i in self._arguments.items()
        }
        return arguments | {name: outputs[i] for name, i in self._results.items()}


def _make_results(module: ModuleOp) -> tuple[dict[str, int], dict[str, int]]:
    """
    Makes all float values results. Returns the numbers of the arguments and of the results that
    they are, by name.
    """
    arguments, results = dict[str, int](), dict[str, int]()
    main = main_function(module)
    end = main.body.block.last_op
    assert end is not None
    returned: list[SSAValue] = list(end.operands)
    for value, key in profiled_values(main).items():
        if isinstance(value, BlockArgument):
            arguments[key.name] = value.index
        elif (name := _noted_name(value)) is not None:
            if value not in returned:
                returned.append(value)
            results[name] = returned.index(value)
    attributes = list(main.res_attrs.data) if main.res_attrs is not None else []
    attributes += [DictionaryAttr({})] * (len(returned) - len(attributes))
    end.operands = returned
    main.properties["function_type"] = FunctionType.from_lists(
        list(main.function_type.inputs), [v.type for v in returned]
    )
    main.properties["res_attrs"] = ArrayAttr(attributes)
    return arguments, results


def _noted_name(value: SSAValue) -> str | None:
    location = value.op.location if isinstance(value, OpResult) else None
    return location.desc.data if isinstance(location, NameLoc) else None


def compare_observed(
    reference: ObservedGraph, found: ObservedGraph, batches: Iterable[Mapping[str, np.ndarray]]
) -> Comparison:
    """Compares the values of the same names. Raises QuantizationError if there are no batches."""
    comparison = Comparison()
    for feed in batches:
        comparison.add(reference.run(feed), found.run(feed))
    if not comparison.values:
        raise QuantizationError("there are no data: a comparison needs at least one batch")
    return comparison
