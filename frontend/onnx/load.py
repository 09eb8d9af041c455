"""Reads a model from a file, from bytes or from memory, and checks its outermost structure."""

from __future__ import annotations

import mmap
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ...errors import ModelError, UnsupportedError
from .text import check_text
from .wire import WireError, strip_payloads

OLDEST_OPSET = 7
NEWEST_OPSET = onnx.defs.onnx_opset_version()
DEFAULT_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class Model:
    """A parsed model whose weights stay where they are."""

    proto: onnx.ModelProto
    source: Path | memoryview | None
    """The bytes that places of `wire.payload_of` refer to; None if nothing was cut out."""
    folder: Path | None
    """The folder of external data; None for a model that does not come from a file."""
    opsets: dict[str, int]
    """Opset version by domain; the default domain is the empty string."""
    heavy: Mapping[str, onnx.TensorProto] = field(default_factory=dict)
    """The initializers whose data is not in `proto`, by name."""
    flattened: bool = False
    """Whether the elements of sequences are inputs and outputs of their own."""

    @property
    def initializers(self) -> list[onnx.TensorProto]:
        """The initializers of the graph, with their data."""
        return [self.heavy.get(t.name, t) for t in self.proto.graph.initializer]


def load_model(model: str | os.PathLike[str] | bytes | onnx.ModelProto | Model) -> Model:
    """
    Parses `model` and checks that it has a graph and opsets that the installed onnx package knows.
    A model that was loaded before is returned as it is.

    Raises ModelError if it cannot be read, UnsupportedError if its opset is too new. Warns of one
    that is to be converted (`old_opsets`).
    """
    match model:
        case Model():
            return model
        case onnx.ModelProto():
            return _checked(model, None, None, "the model")
        case bytes() | bytearray() | memoryview():
            data = memoryview(model).cast("B")
            return _checked(_parse(data, "the model"), data, None, "the model")
        case str() | os.PathLike():
            # absolute, so that references survive a change of the working directory
            path = Path(os.path.abspath(model))
            return _checked(_parse_file(path), path, path.parent, str(model))
        case _:
            raise ModelError(
                f"expected a path, bytes or onnx.ModelProto, found {type(model).__name__}"
            )


def _parse_file(path: Path) -> onnx.ModelProto:
    try:
        if path.is_dir():
            raise ModelError(f"{path}: is a directory, expected an ONNX file")
        if path.exists() and not path.is_file():
            # a pipe gives its content once, and would be waited for the next time
            raise ModelError(f"{path}: is a pipe or a device, expected an ONNX file")
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise ModelError(f"{path}: is empty, expected an ONNX file")
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(f"{path}: cannot be read: {reason}") from error
    return _parse(memoryview(mapped), str(path))


def _parse(data: memoryview, name: str) -> onnx.ModelProto:
    if not len(data):
        raise ModelError(f"{name}: is empty, expected an ONNX model")
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(strip_payloads(data))
    except (WireError, DecodeError) as error:
        reason = str(error) or "malformed message"
        raise ModelError(f"{name}: is not an ONNX model, or it is truncated: {reason}") from error
    return proto


def _checked(
    proto: onnx.ModelProto, source: Path | memoryview | None, folder: Path | None, name: str
) -> Model:
    if not proto.HasField("graph"):
        raise ModelError(f"{name}: is not an ONNX model: it has no graph")
    check_text(proto, name)
    if not proto.opset_import:
        raise ModelError(f"{name}: is not a valid ONNX model: it does not say which opset it uses")
    opsets = opset_versions(proto.opset_import)
    version = opsets.get("")
    if version is not None and not 1 <= version <= NEWEST_OPSET:
        raise UnsupportedError(
            f"{name}: uses opset {version}; opsets 1 to {NEWEST_OPSET} are supported "
            f"(onnx.version_converter converts models between opsets)"
        )
    if version is not None and version < OLDEST_OPSET:
        warnings.warn(
            f"{name}: uses opset {version}, which onnx's version converter brings to opset "
            f"{OLDEST_OPSET}",
            stacklevel=2,
        )
    return Model(proto, source, folder, opsets)


def opset_versions(imports) -> dict[str, int]:
    """Returns the opset version by domain, with the default domain under its empty name."""
    return {"" if o.domain in DEFAULT_DOMAINS else o.domain: o.version for o in imports}
