"""
Modules: functions of tensors with parameters.

A module is a class whose attributes are parameters, other modules, and lists of modules. The name
of a parameter is its path, such as `encoder.0.weight`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from math import prod
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ..errors import GlowError
from ..glow_dialects.glow.arithmetic import MulOp, SubOp
from ..glow_dialects.glow.normalization import BatchNormOp, LayerNormOp
from . import functions as f
from .arguments import Described
from .parameters import Initializer, Parameter, glorot_uniform, he_normal, normal, ones, zeros
from .tensor import Graph, Tensor, elementwise

Layer: TypeAlias = "Callable[[Tensor], Tensor]"


class Module:
    """
    A function of tensors with parameters in its attributes. A class that derives from this one
    defines `__call__`, which appends nodes to the graph of its inputs.
    """

    __call__: Callable[..., Tensor]

    def children(self) -> Iterable[tuple[str, object]]:
        """Returns what may have parameters, with its name in theirs."""
        return vars(self).items()

    def parameters(self) -> dict[str, Parameter]:
        """Returns all parameters by name. One that has several places has the first name."""
        found: dict[Parameter, str] = {}
        for name, parameter in _walk("", self):
            found.setdefault(parameter, name)
        return {name: parameter for parameter, name in found.items()}

    def initialize(self, seed: int) -> None:
        """Draws all parameters from generators that depend on the seed and their names."""
        for name, parameter in self.parameters().items():
            parameter.initialize(seed, name)


def _walk(name: str, value: object) -> Iterator[tuple[str, Parameter]]:
    prefix = f"{name}." if name else ""
    match value:
        case Parameter():
            yield name, value
        case Module():
            for key, inner in value.children():
                yield from _walk(f"{prefix}{key}", inner)
        case list() | tuple():
            for key, inner in enumerate(value):
                yield from _walk(f"{prefix}{key}", inner)


def build(
    network: Callable[..., Tensor],
    inputs: Mapping[str, Described],
    training: bool = False,
    output: str = "output",
) -> ModuleOp:
    """
    Returns the graph of a network, which `glow.compile` takes. Parameters are constants.

    - `network`: a module, or a function of tensors that has no parameters.
    - `inputs`: the shape of each input by name, in the order of the network's arguments; a `Spec`
      or an array says the dtype as well.
    - `training`: whether normalisations and dropout do what they do in training.
    - `output`: the name of the output.

    Raises GlowError for tensors that do not fit together.
    """
    graph = Graph(training=training, names=names_of(network))
    tensors = [graph.input(name, described) for name, described in inputs.items()]
    return graph.finish({output: output_of(network(*tensors))})


def output_of(found: object) -> Tensor:
    """Returns what a network returned. Raises GlowError if it is no tensor."""
    if not isinstance(found, Tensor):
        raise GlowError(
            f"expected a network that returns one tensor, found {type(found).__name__}; "
            "`nn.concat` joins several, and a loss can take them apart by `slice`"
        )
    return found


def names_of(network: object) -> dict[Parameter, str]:
    """Returns the names of the parameters of a module; functions have none."""
    if not isinstance(network, Module):
        return {}
    return {parameter: name for name, parameter in network.parameters().items()}


class Sequential(Module):
    """Modules and functions of one tensor, one after the other."""

    def __init__(self, *layers: Layer):
        self.layers = layers

    def __call__(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x

    def children(self) -> Iterable[tuple[str, object]]:
        return ((str(i), layer) for i, layer in enumerate(self.layers))


class Linear(Module):
    """
    `x @ weight^T + bias` for x [..., `inputs`]: weight [`outputs`, `inputs`], bias [`outputs`].
    """

    def __init__(self, inputs: int, outputs: int, initializer: Initializer = glorot_uniform):
        self.weight = Parameter((outputs, inputs), initializer)
        self.bias = Parameter((outputs,), zeros)

    def __call__(self, x: Tensor) -> Tensor:
        return f.linear(x, x.graph.parameter(self.weight), x.graph.parameter(self.bias))


class Conv2d(Module):
    """
    A convolution of x [N, `inputs`, H, W]: weight [`outputs`, `inputs` / group, kernel, kernel],
    bias [`outputs`], or none.
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        group: int = 1,
        bias: bool = True,
        initializer: Initializer = he_normal,
    ):
        if group < 1:
            raise GlowError(f"expected a group of at least 1, found {group}")
        self.weight = Parameter((outputs, inputs // group, kernel, kernel), initializer)
        self.bias = Parameter((outputs,), zeros) if bias else None
        self.window = {"stride": stride, "padding": padding, "group": group}

    def __call__(self, x: Tensor) -> Tensor:
        weight = x.graph.parameter(self.weight)
        if self.bias is None:
            bias = x.graph.number(0.0, x, [weight.shape[0]])
        else:
            bias = x.graph.parameter(self.bias)
        return f.convolution(x, weight, bias, **self.window)


class ConvTranspose2d(Module):
    """
    A transposed convolution of x [N, `inputs`, H, W]: weight [`inputs`, `outputs`, kernel, kernel],
    bias [`outputs`].
    """

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        stride: int = 1,
        padding: int = 0,
        initializer: Initializer = he_normal,
    ):
        self.weight = Parameter((inputs, outputs, kernel, kernel), initializer)
        self.bias = Parameter((outputs,), zeros)
        self.stride, self.padding = stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        weight, bias = (x.graph.parameter(p) for p in (self.weight, self.bias))
        return f.transposed_convolution(x, weight, bias, self.stride, self.padding)


class MaxPool2d(Module):
    """The largest element of each window of x [N, C, H, W]."""

    def __init__(self, kernel: int, stride: int | None = None, padding: int = 0):
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def __call__(self, x: Tensor) -> Tensor:
        return f.max_pool(x, self.kernel, self.stride, self.padding)


class BatchNorm(Module):
    """
    Normalisation of each channel of x [N, C, ...] (Ioffe and Szegedy 2015): in training by the mean
    and variance of the batch, else by running ones. These move by `momentum` towards those of each
    batch, the variance towards the unbiased one.
    """

    def __init__(self, channels: int, momentum: float = 0.1, epsilon: float = 1e-5):
        self.weight = Parameter((channels,), ones)
        self.bias = Parameter((channels,), zeros)
        self.running_mean = Parameter((channels,), zeros, trainable=False)
        self.running_var = Parameter((channels,), ones, trainable=False)
        self.momentum, self.epsilon = momentum, epsilon

    def __call__(self, x: Tensor) -> Tensor:
        graph = x.graph
        mean, variance = (graph.parameter(p) for p in (self.running_mean, self.running_var))
        if graph.training:
            with graph.for_training():
                mean, variance = self._of_batch(x, mean, variance)
        weight, bias = (graph.parameter(p) for p in (self.weight, self.bias))
        return graph.node(BatchNormOp, x, weight, bias, mean, variance, epsilon=self.epsilon)

    def _of_batch(self, x: Tensor, mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
        """Returns mean and variance of a batch; the running ones are updated."""
        axes = [0, *range(2, x.rank)]
        channels = x.shape[1]
        count = prod(x.shape) // channels
        found = x.mean(axes)
        spread = found.reshape(channels, *[1] * (x.rank - 2)).broadcast(x.shape)
        centered = elementwise(SubOp, x, spread)
        square = elementwise(MulOp, centered, centered).mean(axes)
        unbiased = square * (count / max(count - 1, 1))
        for name, old, new in (
            (self.running_mean, mean, found),
            (self.running_var, variance, unbiased),
        ):
            x.graph.update(name, old * (1 - self.momentum) + new * self.momentum)
        return found, square


class LayerNorm(Module):
    """
    Normalisation of the last dimension, of `size` elements (Ba et al. 2016): weight [`size`], bias
    [`size`].
    """

    def __init__(self, size: int, epsilon: float = 1e-5):
        self.weight = Parameter((size,), ones)
        self.bias = Parameter((size,), zeros)
        self.epsilon = epsilon

    def __call__(self, x: Tensor) -> Tensor:
        weight, bias = (x.graph.parameter(p) for p in (self.weight, self.bias))
        axis = x.rank - 1
        return x.graph.node(LayerNormOp, x, weight, bias, axis=axis, epsilon=self.epsilon)


class Embedding(Module):
    """Rows of a table: indices [...] of integers give [..., `width`]; weight [`count`, `width`]."""

    def __init__(self, count: int, width: int, initializer: Initializer = normal(1.0)):
        self.weight = Parameter((count, width), initializer)

    def __call__(self, indices: Tensor) -> Tensor:
        return f.embedding(indices, indices.graph.parameter(self.weight))


class Dropout(Module):
    """Sets elements to 0 with probability `rate` in training, and does nothing else."""

    def __init__(self, rate: float):
        if not 0 <= rate < 1:
            raise GlowError(f"expected a rate of dropout of at least 0 and below 1, found {rate}")
        self.rate = rate

    def __call__(self, x: Tensor) -> Tensor:
        if not (x.graph.training and self.rate):
            return x
        with x.graph.for_training():
            return f.dropout(x, self.rate)


class MultiHeadAttention(Module):
    """
    Attention of x [N, positions, `width`] to itself with `heads` heads (Vaswani et al. 2017): one
    product makes queries, keys and values, and `out` joins the heads.
    """

    def __init__(self, width: int, heads: int):
        if heads < 1 or width % heads:
            raise GlowError(f"expected heads that divide a width of {width}, found {heads}")
        self.project = Linear(width, 3 * width)
        self.out = Linear(width, width)
        self.heads = heads

    def __call__(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        if x.rank != 3:
            raise GlowError(f"expected x [N, positions, width], found {list(x.shape)}")
        n, positions, width = x.shape
        parts = self.project(x).reshape(n, positions, 3, self.heads, width // self.heads)
        size = [n, positions, 1, self.heads, width // self.heads]
        q, k, v = (
            parts.slice([0, 0, i, 0, 0], size).reshape(n, positions, self.heads, size[-1])
            for i in range(3)
        )
        return self.out(f.attention(q, k, v, mask).reshape(n, positions, width))
