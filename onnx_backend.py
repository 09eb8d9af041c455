"""
ONNX's Backend interface: `prepare` a model once and run it often, or run a model or node at once.

```python
import glow.onnx_backend

prepared = glow.onnx_backend.prepare(onnx.load("resnet50.onnx"))
(probabilities,) = prepared.run([image])
```

See https://onnx.ai/onnx/api/backend.html. Tools that expect a backend get the class, as in
`onnx.backend.test.BackendTest(glow.onnx_backend.GlowBackend, __name__)`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from .compiler import compile
from .errors import (
    CutNeededError,
    InputError,
    LoopNeededError,
    UnsupportedError,
    ValuesNeededError,
)
from .frontend.onnx import NEWEST_OPSET, load_onnx, model_symbols
from .loading import load_model
from .wording import counted


class GlowBackendRep(BackendRep):
    """A prepared model. Its symbolic dimensions have the sizes of each run's inputs."""

    def __init__(self, model: ModelProto, **options: Any):
        self._model = model
        self._compiled = compile(model, **options)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """
        Returns the outputs for `inputs`, as a tuple whose fields have the names of the outputs.

        `inputs` is a sequence of arrays in the order of the model's inputs, a mapping from their
        names, or one array. Raises InputError if shapes or dtypes are not those of the model.
        """
        feed = self._feed(inputs)
        results = self._compiled.run(None, feed)
        names = [o.name for o in self._model.graph.output]
        return namedtupledict("Outputs", names)(*results)

    def _feed(self, inputs: Any) -> dict[str, Any]:
        if isinstance(inputs, Mapping):
            return {name: _value(value) for name, value in inputs.items()}
        values = list(inputs) if isinstance(inputs, Sequence) else [inputs]
        names = [info.name for info in self._compiled.get_inputs()]
        if len(values) != len(names):
            raise InputError(
                f"expected {counted(len(names), 'input')} ({names}), found {len(values)}"
            )
        return {name: _value(value) for name, value in zip(names, values, strict=True)}


class GlowBackend(Backend):
    """
    ONNX's view of the compiler. The only device is `CPU`.

    The options of `glow.compile` (`backend`, `symbols` and so on) are taken as further arguments.
    """

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """
        Returns whether all operators of a model are supported. Symbolic dimensions without a size
        count as 1.
        """
        supported = _is_supported(load_onnx(model), kwargs.get("symbols", {}))
        return supported and cls.supports_device(device)

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> GlowBackendRep:
        """
        Compiles a model.

        Raises InputError for another device, and the errors of `glow.compile`.
        """
        if not cls.supports_device(device):
            raise InputError(f"expected the device CPU, found {device!r}")
        return GlowBackendRep(model, **kwargs)

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any
    ) -> tuple[Any, ...]:
        """Compiles a model and runs it once; see `GlowBackendRep.run`."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """
        Runs one node on arrays, in the newest opset of the default domain or `opset_version`.

        If the node needs to know shapes, axes and the like, all inputs but the first are taken as
        constants; if that does not suffice, all are.
        """
        version = kwargs.pop("opset_version", NEWEST_OPSET)
        arrays = _named(node, inputs)
        names = list(arrays)
        unsupported: UnsupportedError | None = None
        for variable in (names, names[:1], []):
            model = _node_model(node, arrays, variable, version)
            try:
                prepared = cls.prepare(model, device, **kwargs)
            except UnsupportedError as error:
                unsupported = unsupported or error
            else:
                return prepared.run([arrays[name] for name in variable])
        assert unsupported is not None
        raise unsupported

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Returns whether programs can run on `device`, written as ONNX does: `CPU`, or `CPU:0`."""
        return device.split(":")[0] == "CPU"


def _is_supported(model: Any, symbols: Mapping[str, int]) -> bool:
    try:
        sizes = {**dict.fromkeys(model_symbols(model), 1), **symbols}
        load_model(model, sizes)
    except ValuesNeededError:
        return True  # they come with a call
    except CutNeededError as error:
        return _is_supported(error.rest, {})
    except LoopNeededError:
        return True  # so do the shapes of its steps
    except UnsupportedError:
        return False
    return True


def _value(value: Any) -> Any:
    """Returns an array, a list of arrays, or None."""
    if isinstance(value, list):
        return [_array(part) for part in value]
    return None if value is None else _array(value)


def _array(value: Any) -> np.ndarray:
    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value)


def _named(node: NodeProto, inputs: Any) -> dict[str, np.ndarray]:
    if isinstance(inputs, Mapping):
        return {name: _array(value) for name, value in inputs.items()}
    given = [name for name in node.input if name]
    if len(given) != len(inputs):
        raise InputError(f"expected {counted(len(given), 'input')} ({given}), found {len(inputs)}")
    return {name: _array(value) for name, value in zip(given, inputs, strict=True)}


def _node_model(
    node: NodeProto, arrays: Mapping[str, np.ndarray], variable: Sequence[str], opset: int
) -> ModelProto:
    """Returns a model of one node. Its inputs are `variable`; the other arrays are constants."""
    tensors = {name: numpy_helper.from_array(array, name) for name, array in arrays.items()}
    inputs = [
        helper.make_tensor_value_info(name, tensors[name].data_type, tensors[name].dims)
        for name in variable
    ]
    constants = [tensor for name, tensor in tensors.items() if name not in variable]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output if name]
    graph = helper.make_graph([node], "node", inputs, outputs, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


is_compatible = GlowBackend.is_compatible
prepare = GlowBackend.prepare
run_model = GlowBackend.run_model
run_node = GlowBackend.run_node
supports_device = GlowBackend.supports_device
