"""
The public interface: a network in, something one can call out.

```python
import glow

model = glow.compile("resnet50.onnx")
(probabilities,) = model(image)
```
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .compilation import Compilation
from .compilation_request import CompilationRequest
from .errors import (
    CutNeededError,
    GlowError,
    LoopNeededError,
    PartsNeededError,
    UnsupportedError,
    ValuesNeededError,
)
from .interface.backend import Backend, find_backend, given_options
from .interface.symbols import checked_ranges
from .model_forms import Model, Values
from .models.cached_model import CachedModel
from .models.compiled_model import CompiledModel
from .models.cut_model import CutModel
from .models.looped_model import LoopedModel
from .models.nested_model import NestedModel
from .models.one_program_model import BatchLoopModel, OneProgramModel, RowsModel
from .models.specialization import SpecializationRules, SymbolicModel
from .models.states import have_rows, matched_states, with_states
from .runtime.buckets import BucketSizes
from .runtime.object_cache import expect_cache
from .runtime.options import at_least_one, expect_verify

if TYPE_CHECKING:
    from .runtime.stages import Progress


def compile(
    model: Model,
    backend: str | Backend = "cpu",
    threads: int = 1,
    symbols: Mapping[str, int | tuple[int, int]] | None = None,
    cache: bool | str | Path = True,
    verify: bool | None = None,
    *,
    states: Mapping[str, str] | None = None,
    max_elements: int | None = None,
    max_specializations: int = 8,
    max_specialization_bytes: int | None = None,
    buckets: BucketSizes | Mapping[str, BucketSizes] | None = None,
    batch_loop: str | None = None,
    rows: str | None = None,
    progress: Callable[[Progress], None] | None = None,
    **options: Any,
) -> CompiledModel:
    """
    Compiles a network for a backend.

    - `model`: the path of an ONNX file, of a file of the graph dialect (`.mlir`, `.glow`), or of a
      stage (`CompiledModel.dump_stages`), after which compilation continues; the bytes of an ONNX
      file; an `onnx.ModelProto`; or a module, which is not modified. A model with symbolic
      dimensions, or with inputs whose values decide shapes, is compiled when it is called
      (`CompiledModel.specialize` compiles it before); an `onnx.ModelProto` must not change until
      then. `glow.models.cut_model` explains shapes from computed values, and
      `glow.models.nested_model` sequences.
    - `backend`: its name (`cpu`, `interpreter`, or an installed one), or an instance with its own
      options. `threads` is the number of threads that run the network together. The other `options`
      are those of the backend, such as the fields of `glow.runtime.cpu_options.CpuOptions`.
    - `symbols`: sizes of symbolic dimensions of a model (`{"batch": 4}`), or the ranges that
      inputs may have (`{"batch": (1, 64)}`). Other sizes are those of the inputs of each call.
    - `max_specializations`: the largest number of programs for such sizes and values that are kept:
      those that were used last, with at most `max_specialization_bytes` of activations.
    - `buckets`: sizes that inputs are padded to with zeros: `"pow2"` or a list, for all symbols or
      by symbol (`{"sequence": "pow2"}`). The network needs masks for that; a call checks this.
    - `batch_loop`, `rows`: a symbol whose sizes, up to the largest that `symbols` names, have one
      program. It computes one image of a batch after the other, or its loops end with the rows of a
      call, such as the words of a text. Nodes that do not permit it are a CompileError.
    - `cache`: whether compiled code and packed weights are kept on disk: True for the default
      directory (`$GLOW_CACHE_DIR`, else `glow` in the user's cache directory), False, or a
      directory. An ONNX file, or its bytes, that was compiled before starts from there at once.
    - `verify`: the IR that is checked after each pass: True for all, None for all but kernels.
    - `states`: inputs that keep their values between calls of a session, with the outputs that are
      their next values, such as `{"past_*": "present_*"}` (see `glow.models.states`).
    - `max_elements`: no tensor of an ONNX model may have more elements; by default 2**31.
    - `progress`: called with a `glow.runtime.stages.Progress` by the thread that compiles, when a
      stage begins and when kernels are finished. An exception ends the compilation.

    Raises ModelError for a model that cannot be read, UnsupportedError for one that needs operators
    or types that are missing (all are listed), CompileError if a pass fails, and GlowError for
    wrong options.
    """
    sizes, ranges = checked_ranges(symbols)
    limits = _limits(max_specializations, max_specialization_bytes)
    target = _backend(backend, at_least_one("threads", threads), cache, options)
    job = Compilation(_request(model, target, max_elements, verify, progress))
    rules = SpecializationRules(*limits, ranges, buckets, batch_loop, rows)
    return _any_model(job, target, sizes, rules, states)


def _limits(count: int, size: int | None) -> tuple[int, int | None]:
    """Returns the largest number and size of programs. Raises GlowError for wrong ones."""
    return (
        at_least_one("max_specializations", count),
        _at_least_one("max_specialization_bytes", size),
    )


def _request(
    model: Model,
    target: Backend,
    max_elements: int | None,
    verify: bool | None,
    progress: Callable[[Progress], None] | None,
) -> CompilationRequest:
    expect_verify(verify)
    most = _at_least_one("max_elements", max_elements)
    return CompilationRequest(model, target, most, verify, progress)


def _at_least_one(name: str, value: int | None) -> int | None:
    return None if value is None else at_least_one(name, value)


def _any_model(
    job: Compilation,
    target: Backend,
    sizes: Mapping[str, int],
    rules: SpecializationRules,
    states: Mapping[str, str] | None,
) -> CompiledModel:
    """
    Returns a model of tensors, sequences or optional values, or one with `states`. Raises GlowError
    if `rules` name symbols of one that has none.
    """
    if rules.batch_loop is not None or rules.rows is not None:
        return _one_program(job, target, sizes, rules, states)
    if states:
        return _with_states(job, target, sizes, rules, states)
    try:
        model = _compiled(job, target, sizes, rules)
    except UnsupportedError:
        nested = None if sizes else _nested(job, target, rules.limit)
        if nested is None:
            raise
        model = nested
    if rules.name_symbols and not isinstance(model, SymbolicModel):
        raise GlowError(
            "ranges of symbols and buckets are for models whose symbols get sizes at calls; "
            "this model has none"
        )
    return model


def _one_program(
    job: Compilation,
    target: Backend,
    sizes: Mapping[str, int],
    rules: SpecializationRules,
    states: Mapping[str, str] | None,
) -> OneProgramModel:
    """Returns a model with one program for all sizes of a symbol. Raises GlowError for others."""
    option = "rows" if rules.batch_loop is None else "batch_loop"
    if rules.rows is not None and rules.batch_loop is not None:
        raise GlowError("expected batch_loop or rows, found both")
    if rules.rows is not None and not target.limits_rows:
        raise GlowError(
            f"rows: programs of the backend {target.name} cannot take the number of rows; "
            "use the backend cpu, or leave out rows"
        )
    if states:
        raise GlowError(f"{option}: states keep values between calls, and one program has none")
    signature = job.symbolic_signature(sizes)
    if signature is None:
        raise GlowError(f"{option}: expected a model with a symbol of that name, found none")
    signature = job.with_output_symbols(signature, sizes, rules.ranges)
    if rules.rows is None:
        assert rules.batch_loop is not None
        batch = rules.batch_loop
        return BatchLoopModel(target, signature, sizes, job.with_batch_loop, rules, batch)
    symbol = rules.rows

    def limited(
        sizes: Mapping[str, int], fewer: Sequence[int], dimensions: Sequence[str]
    ) -> tuple[CompiledModel, Sequence[Sequence[int]]]:
        return job.with_rows(sizes, symbol, fewer, dimensions)

    return RowsModel(target, signature, sizes, limited, rules, symbol)


def _with_states(
    job: Compilation,
    target: Backend,
    sizes: Mapping[str, int],
    rules: SpecializationRules,
    states: Mapping[str, str],
) -> CompiledModel:
    """Returns a model whose inputs `states` keep their values between calls of a session."""
    declared = job.declared_signature(sizes)
    if declared is None:
        raise GlowError("states need an ONNX model that declares its inputs and outputs")
    pairs = matched_states(states, declared)
    signature = job.symbolic_signature(sizes)
    if signature is not None and have_rows(signature, pairs):
        # only decoders need xDSL before anything is compiled
        from .models.cache_programs import CachePrograms

        programs = CachePrograms(signature, pairs, job, sizes)
        return CachedModel(target, signature, sizes, job.specialized, rules, programs)
    stateful = job.with_states(pairs)
    if signature is None:
        return stateful.specialized(sizes)
    kept = with_states(signature, pairs)
    return SymbolicModel(target, kept, sizes, stateful.specialized, rules)


def _nested(job: Compilation, target: Backend, limit: int) -> NestedModel | None:
    """Returns a model with sequences or optional values; None if it has none."""
    found = job.nested()
    if found is None:
        return None

    def flat(values: Mapping[str, Any], known: Values) -> CompiledModel:
        return job.flattened(values).specialized({}, known)

    return NestedModel(target, found.signature, found.part_name, flat, limit)


def _compiled(
    job: Compilation, target: Backend, sizes: Mapping[str, int], rules: SpecializationRules
) -> CompiledModel:
    if (found := job.restored(sizes)) is not None:
        return found

    def specialized(sizes: Mapping[str, int], values: Values) -> CompiledModel:
        return _specialized(job, target, sizes, values, rules.limit)

    signature = job.symbolic_signature(sizes)
    if signature is None:
        try:
            return job.compiled(sizes)
        except ValuesNeededError:
            signature = job.declared_signature(sizes)
            if signature is None:
                raise
        except PartsNeededError as needed:
            return _in_parts(job, target, sizes, {}, rules.limit, needed)
    if rules.buckets is not None:
        signature = job.with_output_symbols(signature, sizes, rules.ranges)
    return SymbolicModel(target, signature, sizes, specialized, rules)


def _specialized(
    job: Compilation, target: Backend, sizes: Mapping[str, int], values: Values, limit: int
) -> CompiledModel:
    """Returns the model for sizes of all symbols and for values, if need be in parts."""
    try:
        return job.specialized(sizes, values)
    except PartsNeededError as needed:
        return _in_parts(job, target, sizes, values, limit, needed)


def _in_parts(
    job: Compilation,
    target: Backend,
    sizes: Mapping[str, int],
    values: Values,
    limit: int,
    needed: PartsNeededError,
) -> CompiledModel:
    """Returns the model of several programs. Raises the error if its parts are not known enough."""
    match needed:
        case CutNeededError():
            first = _specialized(job.part(needed.first), target, sizes, values, limit)
            rest = _compiled(job.part(needed.rest), target, {}, SpecializationRules(limit))
            known = {info.name: info for info in (*first.get_outputs(), *rest.get_outputs())}
            return CutModel(first, rest, [known[name] for name in job.output_names()])
        case LoopNeededError():
            loop: Any = needed.loop
            signature = job.declared_signature(sizes)
            if signature is None:
                raise needed

            def compiled(part: object, known: Values) -> CompiledModel:
                return _specialized(job.part(part), target, {}, known, limit)

            return LoopedModel(target, signature, loop, compiled, limit, sizes)
        case _:
            raise needed


def _backend(
    backend: str | Backend, threads: int, cache: bool | str | Path, options: Mapping[str, object]
) -> Backend:
    expect_cache(cache)
    if not isinstance(backend, Backend):
        return find_backend(backend, cache=cache, threads=threads, **options)
    if given_options(options):
        raise GlowError("a backend that is given as an object has its own target and options")
    return backend
