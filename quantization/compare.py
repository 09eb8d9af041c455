"""
The differences between two runs of a network, value by value: a quantized run and a float run.

Values are compared by name. Passes make new values and may change names; `name_values` notes the
names of a graph as the locations of its operations, which rewrites hand on. Signal and noise are
summed over any number of batches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects.builtin import ModuleOp, NameLoc, NoneAttr, StringAttr, TensorType
from xdsl.ir import OpResult, SSAValue

from ..errors import QuantizationError
from ..glow_dialects.elements import is_float
from ..glow_dialects.operator import element_of
from ..glow_dialects.quant import QuantizedType
from ..passes.graph.value_keys import ValueKey, value_keys
from ..runtime.interpreter import interpret
from ..runtime.signature import main_function
from .schemas import dequantize_array


@dataclass
class ValueComparison:
    """One value in two runs: sums over all elements that were compared, in f64."""

    name: str
    signal: float = 0.0
    """Sum of squares of the reference."""
    noise: float = 0.0
    """Sum of squares of the differences; infinity if one run has NaN or infinity and the other
    does not have the same."""
    largest: float = 0.0
    """The largest absolute difference."""
    elements: int = 0
    rows: int = 0
    """The number of vectors along the last dimension whose size is not 1."""
    agreeing: int = 0
    """The number of these whose largest element is at the same place."""

    def add(self, reference: np.ndarray, found: np.ndarray) -> None:
        """Compares two arrays of one shape. Raises QuantizationError for different shapes."""
        if reference.shape != found.shape:
            raise QuantizationError(
                f"value {self.name!r}: expected shape {reference.shape}, found {found.shape}"
            )
        a, b = reference.astype(np.float64), found.astype(np.float64)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        with np.errstate(invalid="ignore", over="ignore"):
            apart = np.where(same, 0.0, np.abs(a - b))
        apart = np.nan_to_num(apart, nan=np.inf, posinf=np.inf)
        self.signal += float(np.square(a[np.isfinite(a)]).sum())
        self.noise += float(np.square(apart).sum())
        self.largest = max(self.largest, float(apart.max(initial=0.0)))
        self.elements += a.size
        if a.ndim and a.size:
            axis = _scores_axis(a.shape)
            agreeing = a.argmax(axis=axis) == b.argmax(axis=axis)
            self.rows += int(agreeing.size)
            self.agreeing += int(agreeing.sum())

    @property
    def snr_db(self) -> float:
        """
        The ratio of signal to noise in dB, `10 log10(signal / noise)`: infinity if all elements are
        equal, -infinity if there is noise and no signal.
        """
        if self.noise == 0:
            return math.inf
        if self.signal == 0 or math.isinf(self.noise):
            return -math.inf
        return 10 * (math.log10(self.signal) - math.log10(self.noise))

    @property
    def top1_agreement(self) -> float:
        """
        The share of the vectors along the last dimension whose largest element, the first among
        equals, is at the same place; 1 if there are none. Dimensions of size 1 after the scores of
        a classifier do not count as the last one.
        """
        return self.agreeing / self.rows if self.rows else 1.0


def _scores_axis(shape: Sequence[int]) -> int:
    """
    Returns the last dimension that is longer than 1, but for the first, which may be the batch.
    """
    longer = [axis for axis in range(1, len(shape)) if shape[axis] > 1]
    return longer[-1] if longer else len(shape) - 1


@dataclass
class Comparison:
    """Two runs, value by value in the order of the reference."""

    values: dict[str, ValueComparison] = field(default_factory=dict)

    def add(self, reference: Mapping[str, np.ndarray], found: Mapping[str, np.ndarray]) -> None:
        """
        Compares the values that both runs have; others are left out. Raises QuantizationError for
        different shapes, and if no name is in both.
        """
        common = [name for name in reference if name in found]
        if reference and not common:
            raise QuantizationError("no value is in both runs: are they of the same network?")
        for name in common:
            value = self.values.setdefault(name, ValueComparison(name))
            value.add(reference[name], found[name])

    @property
    def worst(self) -> ValueComparison | None:
        """
        The value with the least ratio of signal to noise, the first of several; None without
        values.
        """
        return min(self.values.values(), key=lambda v: v.snr_db, default=None)


def snr_db(reference: np.ndarray, found: np.ndarray) -> float:
    """Returns the ratio of signal to noise of two arrays in dB. See `ValueComparison.snr_db`."""
    value = ValueComparison("value")
    value.add(reference, found)
    return value.snr_db


def top1_agreement(reference: np.ndarray, found: np.ndarray) -> float:
    """Returns the share; see `ValueComparison.top1_agreement`."""
    value = ValueComparison("value")
    value.add(reference, found)
    return value.top1_agreement


def name_values(module: ModuleOp) -> None:
    """
    Notes the names of the values of a graph as the locations of their operations (of those with one
    result), for `values_of` to find after passes have changed the graph.
    """
    for value, key in value_keys(main_function(module)).items():
        if isinstance(value, OpResult) and len(value.op.results) == 1:
            value.op.location = NameLoc(StringAttr(key.name), NoneAttr())


def values_of(
    module: ModuleOp, feed: Mapping[str, np.ndarray], names: Iterable[str] | None = None
) -> dict[str, np.ndarray]:
    """
    Returns the values of a graph by name, as the interpreter computes them: floats, and quantized
    numbers as the real numbers that they represent. `names` limits the result to some values. If
    several operations have the location of one name, the last result is returned.

    Raises InputError for wrong inputs and CompileError for graphs that the interpreter cannot run.
    """
    wanted = set(names or ())
    reads = {
        value: (name, read)
        for value, key in value_keys(main_function(module)).items()
        if not key.constant and (read := _reader(value)) is not None
        if (name := _name(value, key)) in wanted or not wanted
    }
    found: dict[str, np.ndarray] = {}

    def observe(value: SSAValue, array: np.ndarray) -> None:
        if value in reads:
            name, read = reads[value]
            found[name] = read(array)

    interpret(module, feed, observe)
    return found


def _name(value: SSAValue, key: ValueKey) -> str:
    """Returns the name that `name_values` recorded, else the value's own name."""
    location = value.op.location if isinstance(value, OpResult) else None
    return location.desc.data if isinstance(location, NameLoc) else key.name


def _reader(value: SSAValue) -> Callable[[np.ndarray], np.ndarray] | None:
    """Returns a function that copies a value to an array of floats; None for integers."""
    if not isinstance(value.type, TensorType):
        return None
    element = element_of(value.type)
    if isinstance(element, QuantizedType):
        return lambda array: dequantize_array(array, element)
    return np.copy if is_float(element) else None


def compare_graphs(
    reference: ModuleOp, found: ModuleOp, batches: Iterable[Mapping[str, np.ndarray]]
) -> Comparison:
    """
    Runs two graphs with the interpreter and compares all values of the same name.

    For values to be found again, call `name_values` on the reference before a copy of it is
    quantized. Raises QuantizationError if there are no batches.
    """
    comparison = Comparison()
    for feed in batches:
        comparison.add(values_of(reference, feed), values_of(found, feed))
    if not comparison.values:
        raise QuantizationError("there are no data: a comparison needs at least one batch")
    return comparison
