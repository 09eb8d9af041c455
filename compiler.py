"""
The public interface: a network in, something one can call out.

```python
import glow

model = glow.compile("resnet50.onnx")
(probabilities,) = model(image)
```
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from .backend import Backend, Program, find_backend
from .errors import GlowError, ModelError
from .runtime.environment import verifies
from .runtime.memory_plan import MemoryPlan, plan_of
from .runtime.model_source import ModelSource
from .runtime.peak_memory import peak_resident_bytes
from .runtime.signature import Signature, TensorInfo, signature_of

# what only a compilation needs is imported where it is used: a program in the cache needs nothing
if TYPE_CHECKING:
    import numpy as np
    import onnx
    from xdsl.dialects.builtin import ModuleOp

    from .runtime.stages import Progress, Stages
    from .runtime.time_profile import TimeProfile

Model: TypeAlias = "str | Path | bytes | onnx.ModelProto | ModuleOp"

TEXT_SUFFIXES = (".mlir", ".glow")
"""Files with these suffixes hold the graph dialect as text; all others are ONNX."""


class CompiledModel:
    """
    A network that is ready to run. Calls from several threads at once are safe.

    Made by `glow.compile`. Running follows the conventions of onnxruntime's `InferenceSession`.
    """

    def __init__(
        self,
        stages: Stages | Callable[[], Stages],
        backend: Backend,
        program: Program,
        signature: Signature,
        times: Mapping[str, float],
        memory: MemoryPlan | None = None,
    ):
        """`stages` may be a function that makes them; then `memory` is the plan of the program."""
        self.backend = backend
        self._stages = stages
        self._stages_lock = threading.RLock()
        self._memory = memory
        self._program = program
        self._signature = signature
        self._times = dict(times)

    def __call__(self, *args: object, **kwargs: object) -> list[np.ndarray]:
        """
        Run the network on its inputs, by position or by name, and return all outputs in order.

        An input is a numpy array (or what `numpy.asarray` turns into one) of exactly the declared
        shape and dtype, in any memory layout and byte order. Outputs are fresh arrays.
        Raises InputError, saying what was expected and what was found.
        """
        return self.run(None, self._signature.bind(args, kwargs))

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, object]
    ) -> list[np.ndarray]:
        """
        Run the network and return the outputs called `output_names`, in that order, or all for
        None.

        `input_feed` has an array for each input by name, as in `__call__`. Raises InputError.
        """
        wanted = self._signature.select(output_names)
        outputs = self._program.run(self._signature.arrays(input_feed))
        return [outputs[i] for i in wanted]

    def profile(self, *args: object, repeat: int = 20, **kwargs: object) -> TimeProfile:
        """
        Run the network on inputs as for a call, `repeat` times and once before, and return the
        measured times of each of its instructions. The model must have been compiled with
        `timed=True` for the backend cpu; raises GlowError otherwise, and InputError. An input
        called `repeat` can only be given by its position.
        """
        inputs = self._signature.arrays(self._signature.bind(args, kwargs))
        return self.backend.profile(self._program, self.stages, inputs, repeat)

    def get_inputs(self) -> list[TensorInfo]:
        """Name, shape and type of each input, in order."""
        return list(self._signature.inputs)

    def get_outputs(self) -> list[TensorInfo]:
        """Name, shape and type of each output, in order."""
        return list(self._signature.outputs)

    @property
    def stages(self) -> Stages:
        """
        The module after each stage of compilation, by name and in order: `imported`, then the
        stages of the backend. Large ones are computed when asked for, and all of them if the
        program was found in the cache. Clone a module before changing it.
        """
        with self._stages_lock:
            if callable(self._stages):
                self._stages = self._stages()
            return self._stages

    @property
    def memory(self) -> MemoryPlan | None:
        """Where activations and weights lie; None for a backend that plans no memory."""
        if self._memory is not None:
            return self._memory
        return plan_of(self.stages["allocated"]) if "allocated" in self.stages else None

    @property
    def peak_memory(self) -> int:
        """
        The largest amount of physical memory that this process had so far, in bytes: compilation,
        runs, and all else. Mapped files count, also where other processes share them.
        """
        return peak_resident_bytes()

    @property
    def from_cache(self) -> bool:
        """Whether the program was found in the cache, so that nothing was compiled."""
        return "import" not in self._times

    @property
    def times(self) -> dict[str, float]:
        """
        Seconds of compilation by step: `import`, each stage that was computed, and `load`, which
        makes the last stage runnable (machine code, linking, weights). A program that was found in
        the cache has `load` only, and those stages that were looked at.
        """
        stages = {} if callable(self._stages) else self._stages.times
        before = {name: seconds for name, seconds in self._times.items() if name != "load"}
        return {**before, **stages, "load": self._times["load"]}

    def dump_stages(self, directory: str | Path) -> list[Path]:
        """
        Write each stage as `NN-name.mlir`, and what else the backend has to show (LLVM IR), to
        `directory`, which is made if need be, and the constants of all stages to
        `weights.safetensors`, to which the stages refer. Returns the files. `glow.compile` takes
        each file of a stage that has weights, and continues after that stage.
        """
        from .runtime.stage_files import write_stages

        return write_stages(self.stages, self.backend, Path(directory))


def compile(
    model: Model,
    backend: str | Backend = "cpu",
    threads: int = 1,
    symbols: Mapping[str, int] | None = None,
    cache: bool | str | Path = True,
    verify: bool | None = None,
    target_cpu: str | None = None,
    target_features: str | None = None,
    conv_algorithm: str | None = None,
    precision: str | None = None,
    quantize: object = None,
    max_elements: int | None = None,
    pin: bool = False,
    timed: bool = False,
    progress: Callable[[Progress], None] | None = None,
) -> CompiledModel:
    """
    Compile a network for a backend.

    - `model`: path of an ONNX file, of a file of the graph dialect (`.mlir`, `.glow`), or of a file
      of a stage (see `CompiledModel.dump_stages`), after which compilation continues; the bytes of
      an ONNX file; an `onnx.ModelProto`; or a module of the graph dialect, which is not modified.
      All shapes must be static, or made so by `symbols`.
    - `backend`: its name (`cpu`, `interpreter`, or an installed one), or an instance with options
      of its own.
    - `threads`: how many threads run the network together, the calling one included. The others
      sleep between runs. Calls from several Python threads take turns once all processors are used.
    - `pin`: whether each of the other threads stays on a processor of its own, which helps where
      nothing else runs on these. The calling thread goes where the system puts it.
    - `timed`: whether the program records when each of its kernels begins and ends, for
      `CompiledModel.profile`.
    - `symbols`: sizes of the symbolic dimensions of an ONNX model, such as `{"batch": 4}`.
    - `cache`: whether compiled code and packed weights are kept on disk: True for the default
      directory (`$GLOW_CACHE_DIR`, else `glow` in the user's cache directory), False, or a
      directory. A network that is given as an ONNX file or its bytes and was compiled before, by
      the same compiler with the same options, starts from there at once.
    - `verify`: what is checked after each pass: True for all IR (slow), False for none, None for
      all but generated kernels.
    - `target_cpu`, `target_features`: generate code as for this CPU, with these changes, in the
      names of LLVM (`"haswell"`, `"+avx2,-fma"`); by default as for the CPU that the environment
      variable GLOW_TARGET_CPU names, or that of this machine, which must be able to run it.
    - `conv_algorithm`: how convolutions are computed: `auto` (the default) for what is estimated to
      be fastest, `direct` by the definition, `winograd` wherever it applies. Winograd convolution
      rounds differently: its results are within 2e-5 of the root mean square of the exact ones.
    - `precision`: `f32` (the default), or `bf16` to round the operands of convolutions and matrix
      products to bf16, with sums in f32, which needs a CPU with AVX512-BF16. Expect differences
      of about 1 % of the root mean square of results.
    - `quantize`: quantize the network: a `glow.quantization.Quantization`, or as text the pass
      with its options, such as `glow-quantize{profile="profile.json" schema=symmetric}`.
    - `max_elements`: no tensor of an ONNX model may have more elements; by default 2**31.
    - `progress`: called by this thread with a `glow.runtime.stages.Progress` when a stage of
      compilation begins and when kernels are finished. An exception in it ends the compilation.

    Raises ModelError for a model that cannot be read, UnsupportedError for one that needs
    operators or types that are missing (it lists all of them), CompileError if a pass fails, and
    GlowError for wrong options.
    """
    names = {
        "cpu": target_cpu,
        "features": target_features,
        "conv_algorithm": conv_algorithm,
        "precision": precision,
        "quantize": None if quantize is None else str(quantize),
    }
    options: dict[str, object] = {k: value for k, value in names.items() if value is not None}
    options |= {name: True for name, given in (("pin", pin), ("timed", timed)) if given}
    target = _backend(backend, threads, cache, options)
    source = _source(model, symbols, max_elements)
    if source is not None and not _verifies(verify):
        found = _restore(source, target, lambda: _stages(source, model, target, verify))
        if found is not None:
            return found
    from .passes.collector import without_garbage_collection
    from .runtime.resume import remaining_stages
    from .runtime.stages import Progress, Stages

    if progress is not None:
        progress(Progress("import"))
    start = time.perf_counter()
    with without_garbage_collection():
        external = None if source is None else source.external
        module = load_model(model, symbols, max_elements, external)
        imported = time.perf_counter()
        done, remaining = remaining_stages(module, target)
        stages = Stages(module, remaining, verify, done, progress)
        signature = signature_of(module)
        if stages.verify:
            _compute_all(stages)
        program = target.compile(stages)
        if source is not None:
            target.remember(source, stages, program)
    total = time.perf_counter() - imported
    times = {"import": imported - start, "load": total - sum(stages.times.values())}
    return CompiledModel(stages, target, program, signature, times)


def _source(
    model: Model, symbols: Mapping[str, int] | None, max_elements: int | None
) -> ModelSource | None:
    """What a cache can know the model by; None if it is neither an ONNX file nor its bytes."""
    if isinstance(model, bytes):
        return ModelSource(model, symbols, max_elements)
    if not isinstance(model, str | Path) or Path(model).suffix in TEXT_SUFFIXES:
        return None
    return ModelSource(Path(model), symbols, max_elements)


def _verifies(verify: bool | None) -> bool:
    """Whether all IR is to be verified, so that all of it must be made."""
    return verifies() if verify is None else verify


def _stages(source: ModelSource, model: Model, target: Backend, verify: bool | None) -> Stages:
    """The stages of a model whose program was found in the cache."""
    from .runtime.stages import Stages

    module = load_model(model, source.symbols, source.max_elements)
    if not source.is_same():
        raise ModelError(f"{model} has changed since its program was loaded; compile it again")
    return Stages(module, target.stages(), verify)


def _restore(
    source: ModelSource, target: Backend, stages: Callable[[], Stages]
) -> CompiledModel | None:
    """The model as the backend's cache has it."""
    start = time.perf_counter()
    try:
        found = target.restore(source)
    except OSError:
        return None  # the import will say what is wrong with the file
    if found is None:
        return None
    times = {"load": time.perf_counter() - start}
    return CompiledModel(stages, target, found.program, found.signature, times, found.memory)


def _compute_all(stages: Stages) -> None:
    """Run and thereby verify every stage, whether or not the backend needs it."""
    for _ in stages.walk():
        pass


def load_model(
    model: Model,
    symbols: Mapping[str, int] | None = None,
    max_elements: int | None = None,
    external: set[str] | None = None,
    keep_partitions: bool = False,
) -> ModuleOp:
    """
    A model in any form that `compile` accepts, as a module of the graph dialect that the caller
    owns. The paths of the files of external data that an ONNX model has are added to `external`.
    A network that is split over devices becomes whole, except with `keep_partitions`.

    Raises ModelError and UnsupportedError as `compile` does.
    """
    from xdsl.dialects.builtin import ModuleOp

    if isinstance(model, ModuleOp):
        _refuse(symbols)
        return model.clone() if keep_partitions else _whole(model.clone())
    if isinstance(model, str | Path) and Path(model).suffix in TEXT_SUFFIXES:
        _refuse(symbols)
        from .parsing import read_module

        module = read_module(Path(model))
        return module if keep_partitions else _whole(module)
    from .frontend.onnx import MAX_ELEMENTS, import_onnx

    limit = MAX_ELEMENTS if max_elements is None else max_elements
    if limit < 1:
        raise GlowError(f"expected max_elements of at least 1, found {limit}")
    return import_onnx(model, symbols, limit, external)


def _whole(module: ModuleOp) -> ModuleOp:
    """The graph of a network that was split over devices; other modules as they are."""
    from .passes.inline_partitions import inline_partitions
    from .passes.partitions import is_partitioned

    if is_partitioned(module):
        inline_partitions(module)
    return module


def _refuse(symbols: Mapping[str, int] | None) -> None:
    if symbols:
        raise GlowError("symbols apply to ONNX models; the graph dialect has static shapes")


def _backend(
    backend: str | Backend, threads: int, cache: bool | str | Path, options: Mapping[str, object]
) -> Backend:
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise GlowError(f"expected threads to be an integer of at least 1, found {threads!r}")
    if isinstance(backend, Backend):
        if options:
            raise GlowError("a backend that is given as an object has its own target and options")
        return backend
    if options and backend != "cpu":
        raise GlowError(f"{', '.join(options)}: options of the backend cpu, found {backend!r}")
    return find_backend(backend, threads=threads, cache=cache, **options)
