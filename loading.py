"""Models in all the forms that one can give them, as modules of the graph dialect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Attribute, Block, SSAValue

from .glow_dialects.elements import is_float
from .glow_dialects.glow.constant import ConstantOp
from .glow_dialects.glow_inst.memory import NAME
from .glow_dialects.operator import element_of, shape_of
from .interface.symbols import checked_sizes
from .model_forms import Model, is_text
from .parsing import read_module
from .passes.graph.bind_symbols import bind_symbols
from .passes.partition.inline_partitions import inline_partitions
from .passes.partition.partitions import is_partitioned
from .runtime.gil_switch import python_lock
from .runtime.host.options import quantized_graph
from .runtime.options import at_least_one, pipeline_text
from .runtime.signature import signature_of

if TYPE_CHECKING:
    import numpy as np

    from .frontend.onnx import LoadedModel


def load_model(
    model: Model | LoadedModel,
    symbols: Mapping[str, int] | None = None,
    max_elements: int | None = None,
    external: set[str] | None = None,
    keep_partitions: bool = False,
    values: Mapping[str, np.ndarray] | None = None,
) -> ModuleOp:
    """
    Returns a model in any form that `compile` accepts, as a module of the graph dialect that the
    caller owns. The paths of the files of external data that an ONNX model has are added to
    `external`. A network that is split over devices becomes whole, except with `keep_partitions`.
    `values` are those of inputs of an ONNX model that become constants.

    Raises ModelError and UnsupportedError as `compile` does.
    """
    if isinstance(model, ModuleOp):
        module = _bound(model.clone(), symbols)
        return module if keep_partitions else _whole(module)
    if isinstance(model, str | Path) and is_text(model):
        module = _bound(read_module(Path(model)), symbols)
        return module if keep_partitions else _whole(module)
    frontend = onnx_frontend()
    limit = frontend.MAX_ELEMENTS if max_elements is None else max_elements
    return frontend.import_onnx(
        model, symbols, limit, external, values, differentiate=gradient_nodes
    )


Dims: TypeAlias = "list[tuple[str, Sequence[int | str | None]]]"
"""The names and dimensions of inputs. A symbolic dimension is the name of a symbol."""


def load_parameters(
    model: Model, symbols: Mapping[str, int] | None = None
) -> tuple[ModuleOp, Dims]:
    """
    Returns a model as a graph whose parameters are constants with the attribute `glow.name`, and
    its inputs. The size of a symbol is 1 if `symbols` has none.

    Parameters are the initializers of floats of an ONNX model that have a dimension, and such
    constants of a graph that have a name. Raises what `load_model` raises.
    """
    if isinstance(model, ModuleOp) or (isinstance(model, str | Path) and is_text(model)):
        module = load_model(model, symbols)
        for op in module.walk():
            if isinstance(op, ConstantOp) and op.result.name_hint and _has_floats(op.result.type):
                op.attributes.setdefault(NAME, StringAttr(op.result.name_hint))
        infos = signature_of(module).inputs
        return module, [(info.name, info.shape) for info in infos]
    frontend = onnx_frontend()
    loaded = frontend.load_onnx(model)
    sizes = {**dict.fromkeys(frontend.model_symbols(loaded), 1), **(symbols or {})}
    module = frontend.import_onnx(loaded, sizes, parameters=True, differentiate=gradient_nodes)
    return module, _declared(loaded)


def declared_parameters(model: Model) -> tuple[dict[str, np.ndarray], set[str], Dims] | None:
    """
    Returns the parameters of an ONNX model with symbols by name, without a graph, the names of
    those that are more than statistics of batch normalisations, and the model's inputs; None for
    other models.
    """
    if isinstance(model, ModuleOp) or (isinstance(model, str | Path) and is_text(model)):
        return None
    frontend = onnx_frontend()
    loaded = frontend.load_onnx(model)
    if not frontend.model_symbols(loaded):
        return None
    return *frontend.float_initializers(loaded), _declared(loaded)


def _declared(loaded: LoadedModel) -> Dims:
    return [(each.name, each.shape or ()) for each in onnx_frontend().declared_inputs(loaded)]


def _has_floats(t: Attribute) -> bool:
    return bool(shape_of(t)) and is_float(element_of(t))


def gradient_nodes(block: Block, value: SSAValue, wrt: Sequence[SSAValue]) -> Sequence[SSAValue]:
    """Appends nodes that compute gradients, as `add_gradient_nodes` does."""
    # few models ask for gradients, and their rules take time to load
    from .passes.graph.differentiate import add_gradient_nodes

    return add_gradient_nodes(block, value, wrt)


def onnx_frontend():
    """Returns the package `frontend.onnx`."""
    # the text of a graph needs no ONNX, whose import takes long
    from .frontend import onnx

    return onnx


class Loading:
    """A model that is to be loaded in the background, with how. Wrong options raise GlowError."""

    def __init__(
        self,
        model: Model,
        symbols: Mapping[str, int] | None,
        max_elements: int | None,
        quantize: object,
    ):
        # the caller may change it later
        self._model = model.clone() if isinstance(model, ModuleOp) else model
        self._sizes = checked_sizes(symbols)
        if max_elements is not None:
            max_elements = at_least_one("max_elements", max_elements)
        self._max_elements = max_elements
        self._pipeline = pipeline_text(quantize)

    def module(self) -> ModuleOp:
        """Returns the graph, which keeps its partitions. Raises what `glow.compile` does."""
        with python_lock:
            module = load_model(self._model, self._sizes, self._max_elements, keep_partitions=True)
        return module if self._pipeline is None else quantized_graph(module, self._pipeline)


def _whole(module: ModuleOp) -> ModuleOp:
    """Returns the graph of a network that was split over devices; other modules as they are."""
    if is_partitioned(module):
        inline_partitions(module)
    return module


def _bound(module: ModuleOp, symbols: Mapping[str, int] | None) -> ModuleOp:
    """Returns the graph with sizes of symbols. Raises GlowError for symbols that it has not."""
    if symbols:
        bind_symbols(module, symbols)
    return module
