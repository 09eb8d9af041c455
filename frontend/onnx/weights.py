"""
Constants from ONNX tensors, by reference.

Data in the model file, or in files of external data beside it, become references into these files.
Data of a model in memory become references that read the tensor when asked. Only data in ONNX's
type-specific fields (`int32_data` and so on) are converted, and then held in memory.
"""

from __future__ import annotations

import os
from math import prod
from pathlib import Path, PureWindowsPath

import numpy as np
from onnx import TensorProto, numpy_helper
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from ...errors import ModelError
from ...glow_dialects.blob import BlobAttr
from ...glow_dialects.elements import element_bytes
from ...glow_dialects.glow.constant import ConstantOp
from ...semantics.arrays import INLINE_ELEMENTS, lazy_constant, make_constant, numpy_dtype
from ...wording import counted
from .element_types import check_shape, element_of_onnx, shared_bits, type_name
from .load import Model
from .problems import Unsupported
from .strings import Strings
from .wire import MARKER, payload_of


class WeightReader:
    """Turns the tensors of one model into constants."""

    def __init__(self, model: Model, max_elements: int):
        self.external: set[str] = set()
        """The files of external data that tensors came from."""
        self.source = model.source
        self.folder = model.folder
        self.max_elements = max_elements
        self.strings = Strings()

    def constant(self, tensor: TensorProto, what: str) -> ConstantOp:
        """
        Returns the constant for `tensor`, detached.

        A tensor of strings has their numbers. Raises ModelError if the tensor is malformed or its
        external data are missing or unsafe, and Unsupported if its element type has no counterpart.
        `what` names the tensor in messages.
        """
        if tensor.data_type == TensorProto.STRING:
            return self._of_strings(tensor, what)
        element = element_of_onnx(tensor.data_type, what)
        shape = list(tensor.dims)
        check_shape(shape, what, self.max_elements)
        if tensor.HasField("segment"):
            raise Unsupported(f"{what} is split into segments")
        if bits := shared_bits(element):
            return self._unpacked(tensor, element, bits, what)
        size = prod(shape) * element_bytes(element)
        if tensor.data_location == TensorProto.EXTERNAL:
            return _by_reference(self._external(tensor, size, what), element, shape)
        if (place := payload_of(tensor)) is not None:
            _expect_bytes(tensor, place[1], size, what)
            return _by_reference(self._embedded(tensor, place, what), element, shape)
        if tensor.HasField("raw_data"):
            return _from_raw(tensor, size, element, what)
        return make_constant(_typed_array(tensor, what, element), tensor.name or what, element)

    def _of_strings(self, tensor: TensorProto, what: str) -> ConstantOp:
        check_shape(list(tensor.dims), what, self.max_elements)
        if len(tensor.string_data) != prod(tensor.dims):
            raise ModelError(
                f"{what}: expected {counted(prod(tensor.dims), 'string')}, "
                f"found {len(tensor.string_data)}"
            )
        numbers = self.strings.numbers(tensor.string_data).reshape(tensor.dims)
        node = make_constant(numbers, tensor.name or what)
        self.strings.note(node.result)
        return node

    def _unpacked(
        self, tensor: TensorProto, element: Attribute, bits: int, what: str
    ) -> ConstantOp:
        """
        Returns a constant whose elements share bytes in ONNX; each has a byte here. Those that are
        in a file are unpacked each time that they are read.
        """
        size, hint = -(-prod(tensor.dims) * bits // 8), tensor.name or what
        if tensor.data_location == TensorProto.EXTERNAL:
            packed = self._external(tensor, size, what)
        elif (place := payload_of(tensor)) is not None:
            _expect_bytes(tensor, place[1], size, what)
            packed = self._embedded(tensor, place, what)
        else:
            if tensor.HasField("raw_data"):
                _expect_bytes(tensor, len(tensor.raw_data), size, what)
            return make_constant(_typed_array(tensor, what, element), hint, element)
        alone = TensorProto(data_type=tensor.data_type, dims=tensor.dims)

        def unpack() -> np.ndarray:
            whole = TensorProto(raw_data=bytes(packed.data.read()))
            whole.MergeFrom(alone)
            return _typed_array(whole, what, element)

        return lazy_constant(list(tensor.dims), element, hint, unpack)

    def _embedded(self, tensor: TensorProto, place: tuple[int, int], what: str) -> BlobAttr:
        """Returns data inside the model itself, at a place that `wire.strip_payloads` found."""
        offset, size = place
        match self.source:
            case Path():
                return BlobAttr.in_file(self.source, offset, size)
            case memoryview():
                data = self.source[offset : offset + size]
                return BlobAttr.in_memory(tensor.name or what, size, lambda: data)
            case None:
                raise ModelError(f"{what}: external data under the reserved key {MARKER!r}")

    def _external(self, tensor: TensorProto, size: int, what: str) -> BlobAttr:
        entries = {e.key: e.value for e in tensor.external_data}
        path = self._external_path(entries.get("location", ""), what)
        offset = _number(entries.get("offset", "0"), "offset", what)
        if "length" in entries:
            _expect_bytes(tensor, _number(entries["length"], "length", what), size, what)
        available = path.stat().st_size
        if offset + size > available:
            raise ModelError(
                f"{what}: external data {path} is too short: expected "
                f"{counted(size, 'byte')} at offset {offset}, the file has {available}"
            )
        self.external.add(str(path))
        return BlobAttr.in_file(path, offset, size)

    def _external_path(self, location: str, what: str) -> Path:
        """
        Returns the file that `location` names, which must lie in the model's folder, links
        followed.
        """
        if self.folder is None:
            raise ModelError(
                f"{what}: has external data in {location!r}, but the model is not a file; "
                "give the path of the model, or load it together with its external data"
            )
        parts = PureWindowsPath(location)  # knows both separators, drives and shares
        absolute = os.path.isabs(location) or parts.drive or parts.root
        if not location or absolute or ".." in parts.parts:
            raise ModelError(
                f"{what}: external data {location!r} refused: expected a relative path without "
                "'..' in the model's folder"
            )
        path = self.folder / location
        try:
            resolved = Path(os.path.realpath(path))
            is_file = resolved.is_file()
        except (OSError, ValueError) as error:  # a NUL character, or too long a name
            raise ModelError(
                f"{what}: external data {location[:200]!r} cannot be found: {error}"
            ) from error
        if not resolved.is_relative_to(os.path.realpath(self.folder)):
            raise ModelError(
                f"{what}: external data {location!r} refused: it links to {resolved}, "
                f"outside of the model's folder"
            )
        if not is_file:
            raise ModelError(f"{what}: external data {path} does not exist or is not a file")
        return resolved


def _number(text: str, key: str, what: str) -> int:
    if not text.isdecimal():
        raise ModelError(
            f"{what}: expected an {key} of at least 0 for external data, found {text!r}"
        )
    return int(text)


def _expect_bytes(tensor: TensorProto, found: int, expected: int, what: str) -> None:
    if found != expected:
        raise ModelError(
            f"{what}: expected {counted(expected, 'byte')} for {type_name(tensor.data_type)} "
            f"{list(tensor.dims)}, found {found}"
        )


def _by_reference(blob: BlobAttr, element: Attribute, shape: list[int]) -> ConstantOp:
    return ConstantOp.of(result_types=[TensorType(element, shape)], value=blob)


def _from_raw(tensor: TensorProto, size: int, element: Attribute, what: str) -> ConstantOp:
    _expect_bytes(tensor, len(tensor.raw_data), size, what)
    if prod(tensor.dims) <= INLINE_ELEMENTS:
        array = np.frombuffer(tensor.raw_data, numpy_dtype(element)).reshape(tensor.dims)
        return make_constant(array, tensor.name or what, element)
    blob = BlobAttr.in_memory(tensor.name or what, size, lambda: memoryview(tensor.raw_data))
    return _by_reference(blob, element, list(tensor.dims))


def _typed_array(tensor: TensorProto, what: str, element: Attribute) -> np.ndarray:
    """Returns the array in a type-specific field, checked for its number of elements."""
    try:
        array = numpy_helper.to_array(tensor)
    except (ValueError, TypeError) as error:
        raise ModelError(
            f"{what}: expected {prod(tensor.dims)} elements of {type_name(tensor.data_type)} for "
            f"shape {list(tensor.dims)}, found something else: {error}"
        ) from error
    return array.astype(numpy_dtype(element), copy=False)
