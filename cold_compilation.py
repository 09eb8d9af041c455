"""The way of a model from its source to programs, if the cache has none."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from .compilation_request import CompilationRequest
from .errors import (
    CompileError,
    GlowError,
    ModelError,
    PartsNeededError,
    UnsupportedError,
    ValuesNeededError,
)
from .interface.backend import Stage
from .interface.signature import Signature, TensorInfo
from .loading import load_model, onnx_frontend
from .model_forms import NO_VALUES, Values
from .models.compiled_model import CompiledModel
from .passes.collector import without_garbage_collection
from .passes.graph.row_means import divide_by_rows
from .passes.graph.same_for_rows import expect_same_for_rows, rows_of_results
from .passes.graph.states import set_named_states
from .runtime.backend_results import program_of
from .runtime.model_source import ModelFiles, OnnxSource
from .runtime.resume import remaining_stages
from .runtime.signature import is_symbolic_graph, main_function, signature_of
from .runtime.stages import Progress, Stages

if TYPE_CHECKING:
    from .frontend.onnx import Declaration, Form, LoadedModel
    from .graph_with_symbols import SharedImports


_BATCH_LOOP = (
    "glow-fold-constants{keep-quantized=true},canonicalize,cse,dce,glow-simplify-shapes,"
    'glow-loop-batch{count="number of images"}'
)
"""Before the loop is made, what shapes alone decide disappears: it may join images."""
_SIMPLE = "glow-fold-constants{keep-quantized=true},canonicalize,cse,dce,glow-simplify-shapes"
_COMPARED = f"glow-lower-nodes{{backend=none}},{_SIMPLE}"
"""In a graph of simple operators, numbers that follow from sizes are constants."""
_ROWS_COUNT = "number of rows"


@dataclass(frozen=True)
class NestedInterface:
    """Inputs and outputs, some of which are sequences or optional values."""

    signature: Signature
    part_name: Callable[[str, int], str]
    """The name of an element of a sequence."""


class ColdCompilation:
    """The compilation of a model, whose files are `files`, for any sizes of its symbols."""

    def __init__(self, request: CompilationRequest, files: ModelFiles):
        self._request = request
        self._files = files
        self._loaded: LoadedModel | None = None
        self._trial: tuple[Mapping[str, int], ModuleOp, set[str]] | None = None
        """An import that was tried and not used yet: its sizes, the graph, files with weights."""
        self._imports: SharedImports | None = None
        """The imports of an ONNX model with symbols that serve several sizes."""
        self._graph_with_symbols: ModuleOp | None = None
        """A graph, once its text was read, of which each specialization binds the symbols."""

    def compiled(
        self,
        sizes: Mapping[str, int],
        values: Values,
        source: OnnxSource | None,
        bound: Mapping[str, int] | None = None,
    ) -> CompiledModel:
        """
        Returns the model for sizes of all symbols, compiled with `values` of inputs as constants.
        `bound` are sizes of symbols that the graph has no longer.
        The backend's cache keeps it if the model has a `source`. Raises ValuesNeededError if it
        takes values of other inputs.
        """
        request = self._request
        if request.progress is not None:
            request.progress(Progress("import"))
        start = time.perf_counter()
        with without_garbage_collection():
            module, external = self.imported(sizes, values)
            imported = time.perf_counter()
            stages = self._stages_from(module)
            signature = signature_of(module)
            if stages.verify:
                _compute_all(stages)
            program = program_of(request.target, stages)
            self._files.expect_unchanged(external)
            if source is not None:
                source.external |= external
                request.target.remember(source, stages, program)
        total = time.perf_counter() - imported
        times = {"import": imported - start, "load": total - sum(stages.times.values())}
        known = {**(bound or {}), **sizes}
        return CompiledModel(stages, request.target, program, signature, times, sizes=known)

    def declared(self, sizes: Mapping[str, int]) -> Signature | None:
        """Returns inputs and outputs with all symbols; None if `sizes` has all of them."""
        frontend = onnx_frontend()
        model = self._loaded_model()
        symbols = frontend.model_symbols(model)
        if all(name in sizes for name in symbols):
            return None
        trial: Signature | None = None
        problem: GlowError = ModelError("the model does not declare its inputs and outputs")
        tried = {**dict.fromkeys(symbols, 1), **sizes}
        try:
            module, external = self.imported(tried)
            self._trial = tried, module, external
            trial = signature_of(module)
        except (ModelError, ValuesNeededError, PartsNeededError) as error:
            problem = error  # perhaps only with these sizes
            trial = self._with_ones(tried, error)
        inputs = frontend.declared_inputs(model), None if trial is None else trial.inputs
        outputs = frontend.declared_outputs(model), None if trial is None else trial.outputs
        try:
            return Signature(_completed(*inputs), _completed(*outputs))
        except KeyError:
            raise problem from None

    def _with_ones(self, sizes: Mapping[str, int], problem: GlowError) -> Signature | None:
        """
        Returns the signature of a graph for ones in the inputs whose values a problem says to be
        missing; None if that is no graph either. It tells the ranks of what is not declared.
        """
        inputs = {each.name: each for each in onnx_frontend().declared_inputs(self._loaded_model())}
        ones: dict[str, np.ndarray] = {}
        while isinstance(problem, ValuesNeededError) and not ones.keys() >= set(problem.inputs):
            for each in (inputs[name] for name in problem.inputs):
                known = (sizes.get(n, 1) if isinstance(n, str) else n for n in each.shape or ())
                ones[each.name] = np.ones([1 if n is None else n for n in known], each.dtype)
            try:
                return signature_of(self.imported(sizes, ones)[0])
            except GlowError as error:
                problem = error
        return None

    def nested(self) -> NestedInterface | None:
        """Returns inputs and outputs if not all are tensors. Raises UnsupportedError for types."""
        frontend, model = onnx_frontend(), self._loaded_model()
        found = frontend.nested_forms(model)
        if found is None:
            return None
        inputs, outputs = (tuple(map(_nested, forms)) for forms in found)
        return NestedInterface(Signature(inputs, outputs), frontend.part_name)

    def flattened(self, values: Mapping[str, Any]) -> LoadedModel:
        """Returns the model of tensors for inputs like these values."""
        return onnx_frontend().flattened(self._loaded_model(), values)

    def output_shapes(self, sizes: Mapping[str, int]) -> list[Sequence[int]]:
        """Returns the shapes of the outputs for sizes of all symbols. Raises what imports raise."""
        module, _ = self.imported(sizes)
        # behind them there may be results for checks
        outputs = signature_of(module).outputs[: len(self.output_names())]
        return [info.shape for info in outputs]

    def output_names(self) -> list[str]:
        """Returns the names of the outputs of an ONNX model."""
        return [each.name for each in onnx_frontend().declared_outputs(self._loaded_model())]

    def typed_declarations(self) -> Signature | None:
        """
        Returns inputs and outputs as the model declares them. If it leaves types of outputs out,
        they are those for ones in the inputs that decide, if that is a graph, and else there is no
        signature.
        """
        frontend, model = onnx_frontend(), self._loaded_model()
        outputs, trial = frontend.declared_outputs(model), None
        if any(each.shape is None or each.dtype is None for each in outputs):
            sizes = dict.fromkeys(frontend.model_symbols(model), 1)
            try:
                self.imported(sizes)
            except GlowError as error:
                trial = self._with_ones(sizes, error)
        try:
            inputs = _completed(frontend.declared_inputs(model), None)
            return Signature(inputs, _completed(outputs, trial and trial.outputs))
        except KeyError:
            return None

    def imported(
        self, sizes: Mapping[str, int], values: Values = NO_VALUES
    ) -> tuple[ModuleOp, set[str]]:
        """Returns the graph, and the files other than the model's with its weights."""
        (module,), external = self.imported_alike([sizes], values)
        return module, external

    def imported_alike(
        self, several: Sequence[Mapping[str, int]], values: Values = NO_VALUES
    ) -> tuple[list[ModuleOp], set[str]]:
        """
        Returns the graphs for several sizes, and the files. They come from one import, or each from
        its own, so that they differ only as far as the sizes make them differ.
        """
        trial, self._trial = self._trial, None
        if trial is not None and list(several) == [trial[0]] and not values:
            return [trial[1]], trial[2]
        external: set[str] = set()
        model = self._loaded_model() if self._request.is_onnx else self._request.model
        if self._graph_with_symbols is not None:
            model = self._graph_with_symbols
        shared = None if values or not self._request.is_onnx else self._shared(several)
        if shared is not None:
            modules, external = shared
        else:
            most = self._request.max_elements
            modules = [load_model(model, s, most, external, values=values) for s in several]
        if self._request.states:
            for module in modules:
                set_named_states(main_function(module), self._request.states)
        return modules, external

    def _shared(
        self, several: Sequence[Mapping[str, int]]
    ) -> tuple[list[ModuleOp], set[str]] | None:
        """Returns the graphs and files of an import that serves several sizes, if there is one."""
        frontend, model = onnx_frontend(), self._loaded_model()
        known = set(frontend.model_symbols(model))
        if not known or any(set(sizes) != known for sizes in several):
            return None  # there is nothing to share, or the import reports the error
        if self._imports is None:
            # it needs the package onnx
            from .graph_with_symbols import SharedImports

            limit = self._request.max_elements
            most = frontend.MAX_ELEMENTS if limit is None else limit
            self._imports = SharedImports(model, most)
        return self._imports.at(several)

    def signature_with_symbols(self) -> Signature | None:
        """Returns the signature of a graph with symbols; None if the graph has none."""
        module, external = self.imported({})
        if is_symbolic_graph(module):
            self._graph_with_symbols = module
            return signature_of(module)
        self._trial = {}, module, external
        return None

    def _loaded_model(self) -> LoadedModel:
        if self._loaded is None:
            self._loaded = onnx_frontend().load_onnx(self._request.model)  # pyright: ignore[reportArgumentType]
        return self._loaded

    def stages(self, sizes: Mapping[str, int], values: Values) -> Stages:
        """Returns the stages of a model whose program was found in the cache."""
        module, external = self.imported(sizes, values)
        self._files.expect_unchanged(external)
        return self._stages_from(module)

    def with_batch_loop(self, module: ModuleOp) -> ModuleOp:
        """
        Returns a graph with a loop over the images of its batch, and with their number as its last
        input. Raises CompileError for a node that does not compute each image by itself.
        """
        stage = Stage("looped", _BATCH_LOOP)
        looped = Stages(module, (stage,), self._request.verify)[stage.name]
        before, after = (len(main_function(m).function_type.inputs) for m in (module, looped))
        if before == after:
            raise CompileError(
                "batch_loop: expected inputs with a part for each image, and the network also has "
                "random numbers; leave out batch_loop"
            )
        return looped

    def with_rows(
        self, graphs: Mapping[int, ModuleOp], symbol: str, dimensions: Sequence[str]
    ) -> tuple[ModuleOp, Sequence[Sequence[int]]]:
        """
        Returns a graph for up to as many rows as the first of some `graphs`, by their rows, with
        the number of rows as its last input, and the dimensions of each result that are rows.
        `dimensions` are those of inputs, as `glow-limit-rows` takes them. Raises CompileError
        unless all graphs are the same but for the number, which is called `symbol`.
        """
        names = ",".join(f'"{d}"' for d in dimensions)
        limits = f'{_SIMPLE},glow-limit-rows{{rows={names} count="{_ROWS_COUNT}"}}'
        limited = {
            rows: Stages(module, (Stage("limited", limits),), self._request.verify)["limited"]
            for rows, module in graphs.items()
        }
        divide_by_rows({rows: main_function(module) for rows, module in limited.items()})
        compared = {
            rows: main_function(Stages(module, (Stage("compared", _COMPARED),), False)["compared"])
            for rows, module in limited.items()
        }
        (most, large), *others = compared.items()
        for rows, small in others:
            expect_same_for_rows(large, small, (most, rows), symbol)
        (rows, small), *_ = others
        return limited[most], rows_of_results(large, small, (most, rows), symbol)

    def _stages_from(self, module: ModuleOp) -> Stages:
        """Returns the stages that follow those which the module has been through."""
        request = self._request
        done, remaining = remaining_stages(module, request.target)
        return Stages(module, remaining, request.verify, done, request.progress)


def _nested(form: Form) -> TensorInfo:
    if form.dtype is None:
        raise UnsupportedError(f"{form.name!r} has elements of a type that is not supported")
    return TensorInfo(
        form.name,
        list(form.shape),
        form.dtype,
        is_sequence=form.is_sequence,
        is_optional=form.is_optional,
    )


def _completed(
    declared: Sequence[Declaration], trial: Sequence[TensorInfo] | None
) -> tuple[TensorInfo, ...]:
    """
    Returns declarations, with missing parts taken from a graph of certain sizes. Raises KeyError if
    something is missing.
    """
    found: list[TensorInfo] = []
    for i, each in enumerate(declared):
        shape, dtype = each.shape, each.dtype
        if shape is None or dtype is None:
            if trial is None:
                raise KeyError(each.name)
            dtype = trial[i].dtype
            shape = [None] * len(trial[i].shape) if shape is None else shape
        found.append(TensorInfo(each.name, list(shape), dtype))
    return tuple(found)


def _compute_all(stages: Stages) -> None:
    """Runs and thereby verifies every stage, whether or not the backend needs it."""
    for _ in stages.walk():
        pass
