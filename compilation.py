"""The way of a model from its source to programs, from the cache or compiled."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .compilation_request import CompilationRequest
from .errors import GlowError, ModelError
from .interface.output_symbols import named_dimensions, trial_sizes, unnamed_dimensions
from .interface.signature import Signature, TensorInfo
from .interface.symbols import Binding, DerivedSize, SizeRange
from .lazy import lazy_property
from .model_forms import NO_VALUES, Values
from .models.compiled_model import CompiledModel
from .passes.collector import settle, without_garbage_collection
from .runtime.environment import verifies
from .runtime.model_source import ModelFiles, OnnxSource
from .runtime.saved_facts import Facts, find_facts, kept_facts, store_facts
from .runtime.saved_program import find_signature, store_signature

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from .cold_compilation import ColdCompilation, NestedInterface
    from .runtime.stages import Stages


class Compilation:
    """The restoration or compilation of a model for any sizes of its symbols."""

    def __init__(self, request: CompilationRequest):
        self._request = request
        model = request.model
        is_file = request.is_onnx and isinstance(model, str | Path)
        if is_file and "\0" in str(model):
            raise ModelError(f"expected a path without a NUL character, found {model!r}")
        self._files = ModelFiles(Path(model) if is_file else None)  # pyright: ignore
        self._external: set[str] = set()
        """The files other than the model's with its weights, as far as graphs were asked for."""

    @lazy_property
    def _cold(self) -> ColdCompilation:
        """The part of the way that begins with the model itself."""
        with without_garbage_collection():
            # xDSL and the compiler take most of the start; a program in the cache needs neither
            from .cold_compilation import ColdCompilation

            settle()
        return ColdCompilation(self._request, self._files)

    def part(self, model: object) -> Compilation:
        """Returns a part of the model, as the frontend loads models, with the same options."""
        part: Any = model
        return Compilation(replace(self._request, model=part))

    def with_states(self, states: Mapping[str, str]) -> Compilation:
        """Returns the same model with inputs that are states, with the outputs of each."""
        return Compilation(replace(self._request, states=states))

    def graph(self, sizes: Mapping[str, int]) -> ModuleOp:
        """Returns the graph for sizes of all symbols."""
        (module,) = self.graphs([sizes])
        return module

    def graphs(self, several: Sequence[Mapping[str, int]]) -> list[ModuleOp]:
        """Returns the graphs for several sizes of all symbols, which can be compared."""
        modules, external = self._cold.imported_alike(several)
        self._external |= external
        return modules

    def cached_facts(self, about: str, make: Callable[[], object]) -> Any:
        """
        Returns what `make` finds out about an ONNX model, from the cache if it was asked before. It
        is data for JSON that does not depend on weights in other files; `about` names the question.
        """
        cache, source = self._request.target.cache, self._source({}, form=about)
        return make() if cache is None or source is None else kept_facts(cache, source, make)

    def compiled_form(
        self,
        sizes: Mapping[str, int],
        form: str,
        make: Callable[[], tuple[ModuleOp, Facts]],
    ) -> tuple[CompiledModel, Facts]:
        """
        Returns a graph that is made of the graphs of an ONNX model, compiled with the same options,
        and what `make` found out beside it; both from the cache if it has them. `form` names what
        is made, with all that it depends on but the model and `sizes`.
        """
        cache, source = self._request.target.cache, self._source(sizes, form=form)
        if cache is not None and source is not None and not self._verifies():
            found = self._restored_from(
                source, lambda: self.part(make()[0])._cold.stages({}, {}), sizes
            )
            facts = None if found is None else find_facts(cache, source)
            if found is not None and facts is not None:
                return found, facts
            source = self._source(sizes, form=form)
        graph, facts = make()
        if source is not None:
            source.external |= self._external
        model = self.part(graph)._cold.compiled({}, NO_VALUES, source, sizes)
        if cache is not None and source is not None:
            self._files.expect_unchanged(source.external)
            store_facts(cache, source, facts)
        return model, facts

    def with_batch_loop(self, sizes: Mapping[str, int]) -> CompiledModel:
        """
        Returns the model for sizes of all symbols with a loop over the images of its batch, and an
        input more, the number of images. Raises CompileError for a node that joins images.
        """

        def looped() -> tuple[ModuleOp, Facts]:
            return self._cold.with_batch_loop(self.graph(sizes)), Facts(None)

        return self.compiled_form(sizes, "batch loop", looped)[0]

    def with_rows(
        self, sizes: Mapping[str, int], symbol: str, fewer: Sequence[int], dimensions: Sequence[str]
    ) -> tuple[CompiledModel, Sequence[Sequence[int]]]:
        """
        Returns the model for sizes of all symbols with the size of `symbol` as its last input, of
        which `sizes` has the largest, and the dimensions of each output that have the symbol.
        `fewer` are other sizes, for which the graph has to be the same, and `dimensions` those of
        inputs that have the symbol. Raises CompileError.
        """

        def limited() -> tuple[ModuleOp, Facts]:
            rows = (sizes[symbol], *fewer)
            graphs = self.graphs([{**sizes, symbol: n} for n in rows])
            by_size = dict(zip(rows, graphs, strict=True))
            module, of_outputs = self._cold.with_rows(by_size, symbol, dimensions)
            return module, Facts(of_outputs)

        model, facts = self.compiled_form(sizes, f"rows of {symbol}", limited)
        return model, facts.values

    def nested(self) -> NestedInterface | None:
        """
        Returns inputs and outputs of an ONNX model some of which are sequences or optional values;
        None if all are tensors.
        """
        return self._cold.nested() if self._request.is_onnx else None

    def flattened(self, values: Mapping[str, Any]) -> Compilation:
        """Returns the model of tensors for inputs like these values."""
        return self.part(self._cold.flattened(values))

    def output_names(self) -> list[str]:
        """Returns the names of the outputs of an ONNX model."""
        return self._cold.output_names()

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
        return self._restored_from(source, lambda: self._cold.stages(sizes, values), sizes)

    def _restored_from(
        self,
        source: OnnxSource,
        stages: Callable[[], Stages],
        sizes: Mapping[str, int] | None = None,
    ) -> CompiledModel | None:
        """Returns the program that the backend's cache has for a source; None if it has none."""
        start = time.perf_counter()
        try:
            found = self._request.target.restore(source)
        except OSError:
            return None  # the import will report the error of the file
        if found is None:
            return None
        self._files.expect_unchanged(source.external)
        times = {"load": time.perf_counter() - start}
        return CompiledModel(
            stages,
            self._request.target,
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
        return self._cold.compiled(sizes, values, self._source(sizes, values))

    def symbolic_signature(self, sizes: Mapping[str, int]) -> Signature | None:
        """
        Returns inputs and outputs with the symbols that are not among `sizes`; None if there are
        none.

        A network that cannot be compiled for any sizes raises UnsupportedError here already.
        """
        is_onnx = self._request.is_onnx
        declared = self._declared(sizes) if is_onnx else self._cold.signature_with_symbols()
        if declared is None:
            return None
        known = Binding(declared.inputs).symbols
        if not all(name in known for name in sizes):
            self._cold.imported(sizes)  # reports errors in them
        if all(name in sizes for name in known):
            return None
        return _sized(declared, sizes)

    def declared_signature(self, sizes: Mapping[str, int]) -> Signature | None:
        """
        Returns inputs and outputs as an ONNX model declares them; None if it leaves a type out that
        cannot be told.
        """
        source = self._source({}, form="declarations")
        declared = self._kept_signature(source, lambda: self._cold.typed_declarations())
        return None if declared is None else _sized(declared, sizes)

    def with_output_symbols(
        self, signature: Signature, sizes: Mapping[str, int], ranges: Mapping[str, SizeRange]
    ) -> Signature:
        """
        Returns a signature whose outputs name the symbols that their dimensions follow from, for a
        model that does not say so. Imports for two sizes of each symbol tell them; dimensions that
        these leave open stay as they are.
        """
        symbols = Binding(signature.inputs).symbols
        if not any(unnamed_dimensions(info.shape, symbols) for info in signature.outputs):
            return signature
        about = f"symbols of outputs for {sorted(sizes.items())} in {sorted(ranges.items())}"
        names = self.cached_facts(
            about, lambda: self._output_symbols(signature.outputs, symbols, sizes, ranges)
        )
        outputs = zip(signature.outputs, names, strict=True)
        return replace(signature, outputs=tuple(replace(o, shape=n) for o, n in outputs))

    def _output_symbols(
        self,
        outputs: Sequence[TensorInfo],
        symbols: Sequence[str],
        sizes: Mapping[str, int],
        ranges: Mapping[str, SizeRange],
    ) -> list[list[int | str | None]]:
        """Returns the dimensions of outputs, as far as possible with the names of symbols."""
        for trials in trial_sizes(symbols, ranges):
            try:
                found = [self._cold.output_shapes({**sizes, **trial}) for trial in trials]
            except GlowError:
                continue  # other sizes may suit the network
            return [
                named_dimensions(info.shape, symbols, trials, shapes)
                for info, *shapes in zip(outputs, *found, strict=True)
            ]
        return [list(info.shape) for info in outputs]

    def _declared(self, sizes: Mapping[str, int]) -> Signature | None:
        """
        Returns inputs and outputs with all symbols, None if there are none; from the cache if it
        can.
        """
        return self._kept_signature(self._source({}), lambda: self._cold.declared(sizes))

    def _kept_signature(
        self, source: OnnxSource | None, make: Callable[[], Signature | None]
    ) -> Signature | None:
        """Returns a signature from the cache, or else made, and stored there."""
        cache = self._request.target.cache
        if cache is None or source is None:
            return make()
        try:
            found = find_signature(cache, source)
        except OSError:
            found = None  # the import will report the error of the file
        if found is None:
            found = make()
            if found is not None:
                store_signature(cache, source, found)
        return found

    def _source(
        self, sizes: Mapping[str, int], values: Values = NO_VALUES, form: str = ""
    ) -> OnnxSource | None:
        """
        Returns the source by which a cache knows the model; None if it is neither an ONNX file nor
        its bytes.
        """
        model, most = self._request.model, self._request.max_elements
        if isinstance(model, bytes):
            return OnnxSource(model, sizes, most, values, self._request.states, form)
        if self._request.is_onnx and isinstance(model, str | Path):
            return OnnxSource(Path(model), sizes, most, values, self._request.states, form)
        return None

    def _verifies(self) -> bool:
        """Returns whether all IR is to be verified, so that all of it must be made."""
        return verifies() if self._request.verify is None else self._request.verify


def _sized(signature: Signature, sizes: Mapping[str, int]) -> Signature:
    """Returns a signature with these symbols replaced."""
    return Signature(
        tuple(_with_sizes(info, sizes) for info in signature.inputs),
        tuple(_with_sizes(info, sizes) for info in signature.outputs),
    )


def _with_sizes(info: TensorInfo, sizes: Mapping[str, int]) -> TensorInfo:
    """Returns an input or output with these symbols replaced."""
    return replace(info, shape=[_with_size(d, sizes) for d in info.shape])


def _with_size(size: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(size, DerivedSize):
        return size.at(sizes)
    return sizes.get(size, size) if isinstance(size, str) else size
