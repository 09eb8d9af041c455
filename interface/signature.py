"""The inputs and outputs of a network, and the check of a caller's arguments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import InputError, LimitError
from ..lazy import lazy_property
from ..wording import counted
from .dlpack import from_dlpack
from .index_range import IndexRange
from .python_numbers import of_numbers

_ORT_NAMES = {
    "float32": "float",
    "float64": "double",
    "float4_e2m1fn": "float4e2m1",
    "float8_e8m0fnu": "float8e8m0",
}
_IN_BYTES = {name: np.dtype(np.int8) for name in ("int2", "int4")}
_IN_BYTES |= {name: np.dtype(np.uint8) for name in ("uint2", "uint4")}
"""The types in which programs hold the integers of ml_dtypes, which only have the used bits."""


@dataclass(frozen=True)
class Count:
    """The part of an output that is used, where data decides that."""

    axis: int
    """The dimension whose size in the program is the largest possible one."""
    output: int
    """The output of the program that has the number of used elements along it."""


@dataclass(frozen=True)
class TensorInfo:
    """An input or output, described as onnxruntime does."""

    name: str
    shape: list[Any]
    """
    Sizes. Of a model that is compiled when it is called, a string for a symbolic dimension, and
    None for one of an output that has no name, or whose size data decides.
    """
    dtype: np.dtype
    """
    The dtype, in the machine's byte order. bfloat16, floats of up to 8 bits, and integers of fewer
    are those of the `ml_dtypes` package.
    """
    ranges: tuple[IndexRange, ...] = ()
    """
    Of indices in an input, for each operator that takes them as they are; or of indices that the
    network computes, whose extremes (`IndexRange.expect_extremes`) an output of its program is.
    """
    count: Count | None = None
    """The part of an output of a program that is used, if that is not all of it."""
    is_random: bool = False
    """
    Whether this is the input of a program that random numbers follow from, u32[3]: a key of two
    words, and the number of the call.
    """

    state: int | None = None
    """The number of the output that is this input's value at the next call, of a state."""

    limit: str | None = None
    """
    Of an output of a program that says, as a truth value, that a loop had too many steps: which.
    """

    is_sequence: bool = False
    """Whether the value is a list of arrays."""
    is_optional: bool = False
    """Whether the value may be None."""

    @property
    def type(self) -> str:
        """The type as onnxruntime spells it, for example `tensor(float)`."""
        name = self.dtype.name
        found = f"tensor({_ORT_NAMES.get(name, name.replace('_', ''))})"
        found = f"seq({found})" if self.is_sequence else found
        return f"optional({found})" if self.is_optional else found

    @property
    def memory_dtype(self) -> np.dtype:
        """The dtype in which programs hold the elements."""
        return _IN_BYTES.get(self.dtype.name, self.dtype)

    def fits(self, shape: Sequence[int]) -> bool:
        """Returns whether an array may have this shape."""
        if len(shape) != len(self.shape):
            return False
        for size, declared in zip(shape, self.shape, strict=True):
            if size != declared and not isinstance(declared, str):
                return False
        return True

    def __str__(self) -> str:
        return f"{self.dtype.name}[{self.shape_text}]"

    @property
    def shape_text(self) -> str:
        """`4, 3`, with the names of symbolic dimensions."""
        return ", ".join("?" if size is None else str(size) for size in self.shape)

    def __repr__(self) -> str:
        return f"TensorInfo({self.name!r}, {self})"


@dataclass(frozen=True)
class Signature:
    """All inputs and outputs of a network, in order."""

    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]

    def bind(self, args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, object]:
        """
        Returns inputs by name, from positional and keyword arguments. Raises InputError as a call
        would.
        """
        _expect_no_dictionary(args)
        if len(args) > len(self.inputs):
            raise InputError(
                f"expected at most {counted(len(self.inputs), 'input')}, found {len(args)}"
            )
        feed = dict(zip(self._input_names, args, strict=False))
        if not kwargs:
            return feed
        if twice := [name for name in kwargs if name in feed]:
            raise InputError(f"input {name_list(twice)} was given both by position and by name")
        return {**feed, **kwargs}

    def arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> list[np.ndarray]:
        """Returns positional and keyword arguments as `arrays` does. Raises InputError."""
        if kwargs or len(args) != len(self.inputs):
            return self.arrays(self.bind(args, kwargs))
        _expect_no_dictionary(args)
        return self._arrays(args)

    def arrays(self, feed: Mapping[str, object]) -> list[np.ndarray]:
        """
        Returns C-contiguous arrays in the machine's byte order, in the order of the inputs, as
        programs take them. It copies only arrays that are not so already.

        Raises InputError for an unknown or missing name, a wrong shape, a wrong dtype, or an index
        out of range.
        """
        if type(feed) is not dict or feed.keys() != self._names:
            self.expect_names(feed)
        return self._arrays([feed[name] for name in self._input_names])

    def _arrays(self, values: Sequence[object]) -> list[np.ndarray]:
        """Returns the arrays of `arrays` for values in the order of the inputs."""
        arrays = list(map(_checked, values, self.inputs))
        self.expect_indices(arrays)
        for i in self._narrow_inputs:
            arrays[i] = arrays[i].astype(self.inputs[i].memory_dtype)
        return arrays

    @lazy_property
    def visible(self) -> Signature:
        """
        The signature that a caller sees: without random state, counts of used elements, extremes of
        indices, and limits of loops.
        """
        if not self._hidden and not self.is_random:
            return self
        outputs = [self.outputs[i] for i in self.shown]
        inputs = tuple(info for info in self.inputs if not info.is_random)
        return Signature(inputs, tuple(map(_open_ended, outputs)))

    @lazy_property
    def shown(self) -> list[int]:
        """
        The numbers of the outputs that a caller sees. Passes add results behind those that an
        import hides, so they need not be the first ones.
        """
        return [i for i in range(len(self.outputs)) if i not in self._hidden]

    @lazy_property
    def states(self) -> dict[int, int]:
        """The numbers of the inputs that are states, with those of their outputs."""
        return {i: info.state for i, info in enumerate(self.inputs) if info.state is not None}

    @lazy_property
    def is_random(self) -> bool:
        """Whether the network has random numbers; then the last input is what they follow from."""
        return any(info.is_random for info in self.inputs)

    def used(self, outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """
        Returns the visible ones of a program's outputs, cut to the part of each that is used.
        Raises IndexRangeError, and LimitError if a loop had too many steps.
        """
        if not self._hidden:
            return list(outputs)
        self.expect_valid(outputs)
        found: list[np.ndarray] = []
        for i, (info, array) in enumerate(zip(self.outputs, outputs, strict=True)):
            if info.count is not None:
                part = [slice(None)] * info.count.axis + [slice(int(outputs[info.count.output]))]
                found.append(np.ascontiguousarray(array[tuple(part)]))
            elif i not in self._hidden:
                found.append(array)
        return found

    def expect_valid(self, outputs: Sequence[np.ndarray]) -> None:
        """
        Raises IndexRangeError if, by all outputs of a program, an index that it computes is out of
        range, and LimitError if a loop had too many steps.
        """
        for i in self._judging:
            info = self.outputs[i]
            for each in info.ranges:
                each.expect_extremes(outputs[i])
            if info.limit is not None and outputs[i]:
                raise LimitError(info.limit)

    def with_hidden(self, memory: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Returns memory for all outputs of a program, given that for the visible ones."""
        if not self._judging:
            return memory
        given = iter(memory)
        return [
            np.empty(info.shape, info.dtype) if i in self._judging else next(given)
            for i, info in enumerate(self.outputs)
        ]

    @lazy_property
    def _counts(self) -> frozenset[int]:
        """The outputs that are counts."""
        return frozenset(info.count.output for info in self.outputs if info.count is not None)

    @lazy_property
    def _judging(self) -> list[int]:
        """The outputs that say whether the others are valid."""
        return [i for i, o in enumerate(self.outputs) if o.ranges or o.limit is not None]

    @lazy_property
    def _hidden(self) -> frozenset[int]:
        """The outputs that callers do not see."""
        return self._counts.union(self._judging)

    def results(self, arrays: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Returns the outputs of a program in the dtypes that are declared."""
        if not self._narrow_outputs:
            return arrays
        return [a.astype(o.dtype, copy=False) for a, o in zip(arrays, self.outputs, strict=True)]

    @lazy_property
    def is_direct(self) -> bool:
        """Whether a program computes the visible outputs exactly as a caller sees them."""
        return not self._counts and not self._narrow_outputs

    def expect_indices(self, arrays: Sequence[np.ndarray]) -> None:
        """Raises InputError if an index in the inputs is out of range."""
        for place, ranges in self._ranges:
            for each in ranges:
                each.expect(arrays[place], self.inputs[place].name)

    @lazy_property
    def _ranges(self) -> list[tuple[int, tuple[IndexRange, ...]]]:
        return [(i, info.ranges) for i, info in enumerate(self.inputs) if info.ranges]

    @lazy_property
    def _narrow_inputs(self) -> list[int]:
        return _narrow(self.inputs)

    @lazy_property
    def _narrow_outputs(self) -> list[int]:
        return _narrow(self.outputs)

    @lazy_property
    def _input_names(self) -> tuple[str, ...]:
        return tuple(info.name for info in self.inputs)

    @lazy_property
    def _names(self) -> frozenset[str]:
        return frozenset(self._input_names)

    def expect_names(self, feed: object) -> None:
        """Raises InputError unless there is a value for each input, and no other."""
        if not isinstance(feed, Mapping):
            raise InputError(
                f"expected a dictionary of arrays by input name, found {type(feed).__name__}"
            )
        known = [info.name for info in self.inputs]
        if unknown := [name for name in feed if name not in known]:
            raise InputError(
                f"no input is called {name_list(unknown)}; the inputs are {name_list(known)} "
                "(those with an initializer in the model are constants)"
            )
        if missing := [name for name in known if name not in feed]:
            raise InputError(f"missing input {name_list(missing)}")

    def select(self, names: Sequence[str] | None) -> list[int]:
        """
        Returns the indices of the outputs called `names`, all of them for None. Raises InputError.
        """
        if names is None:
            return list(range(len(self.outputs)))
        known = [info.name for info in self.outputs]
        if isinstance(names, str) or not isinstance(names, Iterable):
            raise InputError(f"expected a list of output names, found {names!r}")
        names = list(names)  # an iterator can be read once
        if unknown := [name for name in names if name not in known]:
            raise InputError(
                f"no output is called {name_list(unknown)}; the outputs are {name_list(known)}"
            )
        return [known.index(name) for name in names]


def _open_ended(info: TensorInfo) -> TensorInfo:
    """Returns an output without the size that data decides."""
    if info.count is None:
        return info
    axis = info.count.axis
    return replace(info, shape=[*info.shape[:axis], None, *info.shape[axis + 1 :]], count=None)


def _narrow(infos: Sequence[TensorInfo]) -> list[int]:
    return [i for i, info in enumerate(infos) if info.dtype != info.memory_dtype]


def _expect_no_dictionary(args: Sequence[object]) -> None:
    for value in args:
        if type(value) is not np.ndarray and isinstance(value, Mapping):
            raise InputError(
                "expected arrays, found a dictionary: give inputs by name as model(**feed), or as "
                "model.run(None, feed)"
            )


def _checked(value: object, info: TensorInfo) -> np.ndarray:
    if (
        # the usual case in little Python, because its code and data are rarely in a near cache
        type(value) is np.ndarray
        and value.dtype == info.dtype
        and (list(value.shape) == info.shape or info.fits(value.shape))
        and value.flags.c_contiguous
    ):
        return value
    try:
        array = of_numbers(value, as_array(value), info.name, info.dtype)
    except (ValueError, TypeError, RuntimeError, BufferError, OverflowError) as error:
        raise InputError(f"input {info.name!r}: expected {info}, found no array: {error}") from None
    if array.dtype.kind in "OSU":
        what = "None" if value is None else f"{type(value).__name__} without numbers"
        raise InputError(f"input {info.name!r}: expected an array {info}, found {what}")
    if array.dtype.newbyteorder("=") != info.dtype:
        raise InputError(
            f"input {info.name!r}: expected dtype {info.dtype.name}, found {array.dtype.name}; "
            f"convert it with .astype({info.dtype.name!r})"
        )
    if not info.fits(array.shape):
        comma = "," if len(info.shape) == 1 else ""
        raise InputError(
            f"input {info.name!r}: expected shape ({info.shape_text}{comma}), found {array.shape}"
        )
    return np.asarray(array, dtype=info.dtype, order="C")


def as_array(value: object) -> np.ndarray:
    """
    Returns a value as an array. What exports its memory by DLPack, such as a tensor of PyTorch, is
    not copied. Raises what numpy raises.
    """
    if hasattr(value, "__dlpack__") and not isinstance(value, np.ndarray):
        return from_dlpack(value)
    return np.asarray(value)


def name_list(names: Sequence[object]) -> str:
    return ", ".join(map(repr, names)) if names else "none"
