"""Memory of a caller, into which a network writes its outputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

import numpy as np

from ..errors import InputError
from ..wording import counted
from .dlpack import from_dlpack
from .signature import Signature, TensorInfo, name_list

Outputs: TypeAlias = "Mapping[str, object] | Sequence[object]"
"""Memory for outputs, by name or in order."""


def destinations(signature: Signature, outputs: Outputs) -> list[np.ndarray]:
    """
    Returns the memory of a caller for all outputs, in order. Raises InputError for a missing or
    unknown name, a wrong number, and memory that cannot hold the output.
    """
    names = [info.name for info in signature.outputs]
    if isinstance(outputs, Mapping):
        if unknown := [name for name in outputs if name not in names]:
            raise InputError(
                f"no output is called {name_list(unknown)}; the outputs are {name_list(names)}"
            )
        if missing := [name for name in names if name not in outputs]:
            raise InputError(f"missing memory for output {name_list(missing)}")
        given = [outputs[name] for name in names]
    elif isinstance(outputs, Iterable):
        given = list(outputs)
    else:
        found = type(outputs).__name__
        raise InputError(f"expected a list or a mapping of arrays for the outputs, found {found}")
    if len(given) != len(names):
        raise InputError(f"expected memory for {counted(len(names), 'output')}, found {len(given)}")
    return [_destination(v, info) for v, info in zip(given, signature.outputs, strict=True)]


def expect_own_memory(
    signature: Signature, memory: Sequence[np.ndarray], inputs: Sequence[np.ndarray]
) -> None:
    """
    Raises InputError if memory for an output is also that of an input or other output. That of
    a state may be the array of its input.
    """
    if _are_apart(signature, memory, inputs):
        return
    for o, array in enumerate(memory):
        for other, info in (
            *zip(inputs, signature.inputs, strict=False),
            *zip(memory[:o], signature.outputs, strict=False),
        ):
            stays = other is array and info.state == o
            if not stays and np.may_share_memory(array, other):
                raise InputError(
                    f"output {signature.outputs[o].name!r}: expected memory of its own, found that "
                    f"of {info.name!r}"
                )


def _are_apart(
    signature: Signature, memory: Sequence[np.ndarray], inputs: Sequence[np.ndarray]
) -> bool:
    """Returns whether no output has memory of another array, but for states in their place."""
    arrays = [(array, True) for array in memory]
    for array, info in zip(inputs, signature.inputs, strict=False):
        if info.state is None or memory[info.state] is not array:
            arrays.append((array, False))
    places = sorted((*_bounds(array), is_output) for array, is_output in arrays if array.size)
    end, end_of_outputs = 0, 0
    for start, stop, is_output in places:
        if start < (end if is_output else end_of_outputs):
            return False
        end = max(end, stop)
        if is_output:
            end_of_outputs = max(end_of_outputs, stop)
    return True


def _bounds(array: np.ndarray) -> tuple[int, int]:
    """Returns the addresses of the first byte of an array, and behind the last one."""
    if not array.flags.c_contiguous:
        return np.lib.array_utils.byte_bounds(array)
    start: int = array.__array_interface__["data"][0]
    return start, start + array.nbytes


def copy_results(
    signature: Signature, found: Sequence[np.ndarray], memory: Sequence[np.ndarray]
) -> None:
    """Copies outputs to memory of a caller. Raises InputError if a shape is another one."""
    for array, dest, info in zip(found, memory, signature.outputs, strict=True):
        if array.shape != dest.shape:
            raise InputError(
                f"output {info.name!r}: expected memory of shape {array.shape}, which the data "
                f"decides, found {dest.shape}"
            )
    for array, dest in zip(found, memory, strict=True):
        np.copyto(dest, array)


def _destination(value: object, info: TensorInfo) -> np.ndarray:
    """Returns memory of a caller for an output as an array. Raises InputError."""
    try:
        array = value if isinstance(value, np.ndarray) else from_dlpack(value)
    except (ValueError, TypeError, RuntimeError, BufferError, AttributeError) as error:
        raise InputError(
            f"output {info.name!r}: expected writable memory {info}, found "
            f"{type(value).__name__}: {error}"
        ) from None
    flags = array.flags
    if not (flags.c_contiguous and flags.writeable and flags.aligned):
        raise InputError(
            f"output {info.name!r}: expected C-contiguous, aligned and writable memory, found an "
            f"array with strides {array.strides}, writable: {flags.writeable}"
        )
    if array.dtype != info.dtype or not _may_be(array.shape, info):
        order = "" if array.dtype.isnative else " in the byte order of another machine"
        found = f"{array.dtype.name}[{', '.join(map(str, array.shape))}]{order}"
        raise InputError(f"output {info.name!r}: expected memory {info}, found {found}")
    return array


def _may_be(shape: Sequence[int], info: TensorInfo) -> bool:
    """Returns whether an output may have a shape; None is a size that data decides."""
    if len(shape) != len(info.shape):
        return False
    return all(type(b) is not int or a == b for a, b in zip(shape, info.shape, strict=True))
