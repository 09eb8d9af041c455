"""Networks that can be trained: built in Python, or imported from models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import onnx
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ..errors import GlowError, ModelError, UnsupportedError
from ..frontend.onnx.export import export_onnx
from ..glow_dialects.glow.constant import ConstantOp
from ..glow_dialects.glow.normalization import BatchNormOp
from ..glow_dialects.interface_attributes import RANGES, VERDICTS
from ..glow_dialects.operator import text_of
from ..loading import Dims, declared_parameters, load_parameters
from ..model_forms import Model
from ..nn.arguments import Described
from ..nn.indices import expect_ranges
from ..nn.modules import Module, names_of, output_of
from ..nn.parameters import Parameter
from ..nn.tensor import NAME, Graph, Tensor
from ..runtime.signature import main_function
from ..semantics.arrays import constant_of
from ..wording import counted
from .calls import called


class Network(Protocol):
    """A network whose parameters are changed."""

    values: dict[str, np.ndarray]
    """All parameters by name."""
    trainable: set[str]
    """The names of those that have gradients."""
    updated: set[str]
    """The names of those that the network itself changes in training."""
    names: Mapping[Parameter, str]
    """The names of the parameters of modules."""

    def input_names(self, count: int) -> list[str]:
        """Returns the names of `count` inputs."""
        ...

    def outputs(self, graph: Graph, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """Appends the network to a graph, which knows the values of parameters by name."""
        ...

    def final_outputs(self, graph: Graph, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        """Appends the network as it is used after training, to a graph of constant parameters."""
        return self.outputs(graph, inputs)

    def keep(self, values: Mapping[str, np.ndarray]) -> None:
        """Takes new values of parameters."""
        ...


class BuiltNetwork(Network):
    """A module of `glow.nn`."""

    def __init__(self, module: Callable[..., Any]):
        self._module = module
        self.names: Mapping[Parameter, str] = names_of(module)
        self.values = {name: parameter.array for parameter, name in self.names.items()}
        self.trainable = {name for p, name in self.names.items() if p.trainable}
        self.updated = set(self.values) - self.trainable

    def input_names(self, count: int) -> list[str]:
        return ["input"] if count == 1 else [f"input{i}" for i in range(count)]

    def outputs(self, graph: Graph, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        what = f"a network of as many tensors as a batch has inputs, {len(inputs)}"
        return {"output": output_of(called(self._module, inputs, what))}

    def keep(self, values: Mapping[str, np.ndarray]) -> None:
        for parameter, name in self.names.items():
            parameter.array = values[name].copy()
            self.values[name] = parameter.array


class ImportedNetwork(Network):
    """
    A model in any form that `glow.compile` takes. Its parameters are the constants of floats of at
    least one dimension that have names; means and variances of batch normalisations have no
    gradients.
    """

    names: Mapping[Parameter, str] = {}

    def __init__(self, model: Model):
        self._model = model
        self._modules: dict[tuple[tuple[int, ...], ...], ModuleOp] = {}
        try:
            module, self._inputs = _loaded(model)
        except ModelError:
            # it has symbols, and no graph where all of them are 1
            declared = declared_parameters(model)
            if declared is None:
                raise
            self.values, self.trainable, self._inputs = declared
        else:
            found = _parameters(module)
            self.values = {name: _array(value) for name, value in found.items()}
            statistics = {op.operands[i] for op, i in _statistics(module)}
            self.trainable = {name for name, value in found.items() if value not in statistics}
        self.updated = set()

    def input_names(self, count: int) -> list[str]:
        names = [name for name, _ in self._inputs]
        if count != len(names):
            raise GlowError(
                f"expected {counted(len(names), 'input')} ({', '.join(names)}), found {count}"
            )
        return names

    def outputs(self, graph: Graph, inputs: Sequence[Tensor]) -> dict[str, Tensor]:
        self.input_names(len(inputs))
        main = main_function(self._module([t.shape for t in inputs]))
        block = main.body.block
        known: dict[SSAValue, SSAValue] = {}
        for argument, tensor, (name, _) in zip(block.args, inputs, self._inputs, strict=True):
            if argument.type != tensor.value.type:
                raise GlowError(
                    f"input {name!r}: expected {argument.type}, found {tensor.value.type}"
                )
            known[argument] = tensor.value
        for tensor, about in zip(inputs, main.arg_attrs or (), strict=False):
            if RANGES in about.data:
                expect_ranges(tensor, about.data[RANGES])
        for name, value in _parameters(main).items():
            if name in self.values:
                known[value] = graph.parameters[name].value
        for op in block.ops:
            if isinstance(op, func.ReturnOp):
                return self._results(graph, [known[v] for v in op.operands], main)
            if not all(r in known for r in op.results):
                graph.block.add_op(op.clone(known))
        raise GlowError("expected a function that returns")

    @staticmethod
    def _results(graph: Graph, values: Sequence[SSAValue], main: func.FuncOp) -> dict[str, Tensor]:
        """Returns the model's outputs by name, and gives the graph those that judge the others."""
        outputs: dict[str, Tensor] = {}
        for value, about in zip(values, main.res_attrs or (), strict=True):
            tensor = Tensor(graph, value)
            if any(name in about.data for name in VERDICTS):
                graph.verdicts.append((tensor, about))
            else:
                outputs[text_of(about.data.get(NAME)) or ""] = tensor
        return outputs

    def keep(self, values: Mapping[str, np.ndarray]) -> None:
        self.values = {name: values[name].copy() for name in self.values}

    def _module(self, shapes: Sequence[tuple[int, ...]]) -> ModuleOp:
        key = tuple(shapes)
        if key not in self._modules:
            symbols: dict[str, int] = {}
            for (_, declared), shape in zip(self._inputs, shapes, strict=True):
                if len(declared) == len(shape):
                    pairs = zip(declared, shape, strict=True)
                    symbols |= {d: n for d, n in pairs if isinstance(d, str)}
            self._modules[key], _ = _loaded(self._model, symbols)
        return self._modules[key]


def _loaded(model: Model, symbols: Mapping[str, int] | None = None) -> tuple[ModuleOp, Dims]:
    """
    Returns what `load_parameters` does. A parameter that is both a statistic of a batch
    normalisation and something else, because exporters keep one of several equal initializers, is a
    statistic of its own there, which stays as it is.
    """
    module, inputs = load_parameters(model, symbols)
    if len(main_function(module).body.block.args) > len(inputs):
        raise UnsupportedError(
            "the model draws random numbers, as Dropout does in training mode: a trainer takes "
            "models as they are after training; export it for inference, or build it with glow.nn, "
            "whose dropout is one in training alone"
        )
    statistics = _statistics(module)
    for op, i in statistics:
        node = op.operands[i].owner
        uses = ((use.operation, use.index) for use in op.operands[i].uses)
        if isinstance(node, ConstantOp) and any(use not in statistics for use in uses):
            own = node.clone()
            own.attributes.pop(NAME, None)
            Rewriter.insert_op(own, InsertPoint.after(node))
            op.operands[i] = own.result
    return module, inputs


def _statistics(module: ModuleOp) -> list[tuple[Operation, int]]:
    """Returns the operands that are means and variances of batch normalisations."""
    normalizations = (op for op in module.walk() if isinstance(op, BatchNormOp))
    return [(op, i) for op in normalizations for i in range(3, len(op.operands))]


def _array(value: SSAValue) -> np.ndarray:
    array = constant_of(value)
    assert array is not None
    return array


def _parameters(module: ModuleOp | func.FuncOp) -> dict[str, SSAValue]:
    found: dict[str, SSAValue] = {}
    for op in module.walk():
        if isinstance(op, ConstantOp) and op.result.first_use is not None:
            name = text_of(op.attributes.get(NAME))
            if name is not None:
                found.setdefault(name, op.result)
    return found


def network_of(model: Any) -> Network:
    """Returns what a trainer needs of a module, a function of tensors, or a model."""
    if isinstance(model, Module) or callable(model):
        return BuiltNetwork(model)
    return ImportedNetwork(model)


def trained_graph(
    network: Network, inputs: Mapping[str, Described], then: Callable[..., Tensor] | None
) -> ModuleOp:
    """Returns the graph of a network with the values of its parameters, for inference."""
    graph = Graph(names=network.names)
    given = [graph.input(name, described) for name, described in inputs.items()]
    for name, array in network.values.items():
        graph.parameters[name] = graph.array(array, name)
    outputs = network.final_outputs(graph, given)
    if then is None:
        return graph.finish(outputs)
    what = f"a function of {counted(len(outputs), 'output')} that is computed then"
    return graph.finish({"output": called(then, list(outputs.values()), what)})


def write_model(path: str | Path, module: ModuleOp) -> None:
    """Writes a graph as an ONNX model. Raises GlowError if the file cannot be written."""
    model = export_onnx(module)
    try:
        onnx.save(model, path)
    except OSError as error:
        raise GlowError(f"cannot write the model {path}: {error.strerror or error}") from error


def frozen(names: set[str], patterns: Sequence[str]) -> set[str]:
    """
    Returns the names that match any of some patterns, such as `features.*`. Raises GlowError for a
    pattern that matches none.
    """
    if isinstance(patterns, str):
        raise GlowError(f"expected a list of patterns of names, found the string {patterns!r}")
    found: set[str] = set()
    for pattern in patterns:
        matches = {name for name in names if fnmatchcase(name, pattern)}
        if not matches:
            raise GlowError(
                f"no parameter that can be trained matches {pattern!r}; there are "
                f"{', '.join(sorted(names)) or 'none'}"
            )
        found |= matches
    return found
