"""The way of a model from its source to programs, from the cache or compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from .compiled_model import CompiledModel
from .errors import GlowError, ModelError, ValuesNeededError
from .interface.backend import Backend
from .interface.signature import Signature, TensorInfo
from .loading import Model, is_text, load_model
from .runtime.environment import verifies
from .runtime.model_source import ModelFiles, OnnxSource
from .runtime.saved_program import find_signature, store_signature
from .runtime.signature import signature_of
from .runtime.symbols import Binding

# modules for compilation are imported where they are used: a program in the cache needs none of
# them
if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp

    from .frontend.onnx import Declaration, LoadedModel
    from .runtime.stages import Progress, Stages


Values: TypeAlias = "Mapping[str, np.ndarray]"
"""Values of inputs by name."""
NO_VALUES: Values = {}


class Compilation:
    """A model with the options of its compilation, for any sizes of its symbols."""

    def __init__(
        self,
        model: Model,
        target: Backend,
        max_elements: int | None,
        verify: bool | None,
        progress: Callable[[Progress], None] | None,
    ):
        self._model = model
        self._target = target
        self._max_elements = max_elements
        self._verify = verify
        self._progress = progress
        self._is_onnx = not (is_text(model) or _is_module(model))
        is_file = self._is_onnx and isinstance(model, str | Path)
        if is_file and "\0" in str(model):
            raise ModelError(f"expected a path without a NUL character, found {model!r}")
        self._files = ModelFiles(Path(model) if is_file else None)  # pyright: ignore
        self._loaded: LoadedModel | None = None
        self._trial: tuple[Mapping[str, int], ModuleOp, set[str]] | None = None
        """An import that was tried and not used yet: its sizes, the graph, files with weights."""

    def specialized(self, sizes: Mapping[str, int], values: Values = NO_VALUES) -> CompiledModel:
        """Returns the model for sizes of all symbols and for values, from the cache or compiled."""
        return self.restored(sizes, values) or self.compiled(sizes, values)

    def restored(
        self, sizes: Mapping[str, int], values: Values = NO_VALUES
    ) -> CompiledModel | None:
        """
        Returns the model for sizes of all symbols as the backend's cache has it, with `values` of
        inputs as constants.
        """
        source = self._source(sizes, values)
        if source is None or self._verifies():
            return None
        start = time.perf_counter()
        try:
            found = self._target.restore(source)
        except OSError:
            return None  # the import will report the error of the file
        if found is None:
            return None
        self._files.expect_unchanged(source.external)
        times = {"load": time.perf_counter() - start}
        return CompiledModel(
            lambda: self._stages(sizes, values),
            self._target,
            found.program,
            found.signature,
            times,
            found.memory,
            sizes,
        )

    def compiled(self, sizes: Mapping[str, int], values: Values = NO_VALUES) -> CompiledModel:
        """
        Returns the model for sizes of all symbols, compiled with `values` of inputs as constants.
        Raises ValuesNeededError if it takes those of others.
        """
        from .passes.collector import without_garbage_collection
        from .runtime.stages import Progress

        if self._progress is not None:
            self._progress(Progress("import"))
        source = self._source(sizes, values)
        start = time.perf_counter()
        with without_garbage_collection():
            module, external = self._imported(sizes, values)
            imported = time.perf_counter()
            stages = self._stages_from(module)
            signature = signature_of(module)
            if stages.verify:
                _compute_all(stages)
            program = self._target.compile(stages)
            self._files.expect_unchanged(external)
            if source is not None:
                source.external |= external
                self._target.remember(source, stages, program)
        total = time.perf_counter() - imported
        times = {"import": imported - start, "load": total - sum(stages.times.values())}
        return CompiledModel(stages, self._target, program, signature, times, sizes=sizes)

    def symbolic_signature(self, sizes: Mapping[str, int]) -> Signature | None:
        """
        Returns inputs and outputs with the symbols that are not among `sizes`; None if there are
        none.

        A network that cannot be compiled for any sizes raises UnsupportedError here already.
        """
        if not self._is_onnx:
            return None
        declared = self._declared(sizes)
        if declared is None:
            return None
        known = Binding(declared.inputs).symbols
        if not all(name in known for name in sizes):
            self._imported(sizes)  # reports errors in them
        if all(name in sizes for name in known):
            return None
        return _sized(declared, sizes)

    def declared_signature(self, sizes: Mapping[str, int]) -> Signature | None:
        """
        Returns inputs and outputs as an ONNX model declares them; None if it leaves a type out.
        """
        from .frontend.onnx import declared_inputs, declared_outputs

        model = self._loaded_model()
        try:
            inputs = _completed(declared_inputs(model), None)
            return _sized(Signature(inputs, _completed(declared_outputs(model), None)), sizes)
        except KeyError:
            return None

    def _declared(self, sizes: Mapping[str, int]) -> Signature | None:
        """
        Returns inputs and outputs with all symbols, None if there are none; from the cache if it
        can.
        """
        cache = self._target.cache
        source = self._source({})
        if cache is None or source is None:
            return self._read_declared(sizes)
        try:
            found = find_signature(cache, source)
        except OSError:
            found = None  # the import will report the error of the file
        if found is None:
            found = self._read_declared(sizes)
            if found is not None:
                store_signature(cache, source, found)
        return found

    def _read_declared(self, sizes: Mapping[str, int]) -> Signature | None:
        from .frontend.onnx import declared_inputs, declared_outputs, model_symbols

        model = self._loaded_model()
        symbols = model_symbols(model)
        if all(name in sizes for name in symbols):
            return None
        trial: Signature | None = None
        problem: GlowError = ModelError("the model does not declare its inputs and outputs")
        try:
            tried = {**dict.fromkeys(symbols, 1), **sizes}
            module, external = self._imported(tried)
            self._trial = tried, module, external
            trial = signature_of(module)
        except (ModelError, ValuesNeededError) as error:
            problem = error  # perhaps only with these sizes
        inputs = declared_inputs(model), None if trial is None else trial.inputs
        outputs = declared_outputs(model), None if trial is None else trial.outputs
        try:
            return Signature(_completed(*inputs), _completed(*outputs))
        except KeyError:
            raise problem from None

    def _imported(
        self, sizes: Mapping[str, int], values: Values = NO_VALUES
    ) -> tuple[ModuleOp, set[str]]:
        """Returns the graph, and the files other than the model's with its weights."""
        trial, self._trial = self._trial, None
        if trial is not None and trial[0] == sizes and not values:
            return trial[1:]
        external: set[str] = set()
        model = self._loaded_model() if self._is_onnx else self._model
        module = load_model(model, sizes, self._max_elements, external, values=values)
        return module, external

    def _loaded_model(self) -> LoadedModel:
        from .frontend.onnx import load_onnx

        if self._loaded is None:
            self._loaded = load_onnx(self._model)  # pyright: ignore[reportArgumentType]
        return self._loaded

    def _stages(self, sizes: Mapping[str, int], values: Values) -> Stages:
        """Returns the stages of a model whose program was found in the cache."""
        module, external = self._imported(sizes, values)
        self._files.expect_unchanged(external)
        return self._stages_from(module)

    def _stages_from(self, module: ModuleOp) -> Stages:
        """Returns the stages that follow those which the module has been through."""
        from .runtime.resume import remaining_stages
        from .runtime.stages import Stages

        done, remaining = remaining_stages(module, self._target)
        return Stages(module, remaining, self._verify, done, self._progress)

    def _source(self, sizes: Mapping[str, int], values: Values = NO_VALUES) -> OnnxSource | None:
        """
        Returns the source by which a cache knows the model; None if it is neither an ONNX file nor
        its bytes.
        """
        if isinstance(self._model, bytes):
            return OnnxSource(self._model, sizes, self._max_elements, values)
        if self._is_onnx and isinstance(self._model, str | Path):
            return OnnxSource(Path(self._model), sizes, self._max_elements, values)
        return None

    def _verifies(self) -> bool:
        """Returns whether all IR is to be verified, so that all of it must be made."""
        return verifies() if self._verify is None else self._verify


def _is_module(model: object) -> bool:
    # without an import of xDSL: whoever made a module has done that
    return type(model).__name__ == "ModuleOp"


def _sized(signature: Signature, sizes: Mapping[str, int]) -> Signature:
    """Returns a signature with these symbols replaced."""
    return Signature(
        tuple(_with_sizes(info, sizes) for info in signature.inputs),
        tuple(_with_sizes(info, sizes) for info in signature.outputs),
    )


def _with_sizes(info: TensorInfo, sizes: Mapping[str, int]) -> TensorInfo:
    """Returns an input or output with these symbols replaced."""
    return replace(info, shape=[sizes.get(d, d) if isinstance(d, str) else d for d in info.shape])


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
    """Runs and thereby verify every stage, whether or not the backend needs it."""
    for _ in stages.walk():
        pass
