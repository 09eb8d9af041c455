"""
The public interface: a network in, something one can call out.

```python
import glow

model = glow.compile("resnet50.onnx")
(probabilities,) = model(image)
```
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.utils.exceptions import ParseError

from .backend import Backend, Program, find_backend
from .context import make_context
from .errors import GlowError, ModelError
from .runtime.memory_plan import MemoryPlan, plan_of
from .runtime.signature import Signature, TensorInfo, signature_of
from .runtime.stages import Stages, without_garbage_collection

if TYPE_CHECKING:
    import numpy as np
    import onnx

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
        stages: Stages,
        backend: Backend,
        program: Program,
        signature: Signature,
        times: Mapping[str, float],
    ):
        self.backend = backend
        self.stages = stages
        """
        The module after each stage of compilation, by name and in order: `imported`, then the
        stages of the backend. Large ones are computed when asked for. Clone a module before
        changing it.
        """
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

    def get_inputs(self) -> list[TensorInfo]:
        """Name, shape and type of each input, in order."""
        return list(self._signature.inputs)

    def get_outputs(self) -> list[TensorInfo]:
        """Name, shape and type of each output, in order."""
        return list(self._signature.outputs)

    @property
    def memory(self) -> MemoryPlan | None:
        """Where activations and weights lie; None for a backend that plans no memory."""
        return plan_of(self.stages["allocated"]) if "allocated" in self.stages else None

    @property
    def times(self) -> dict[str, float]:
        """
        Seconds of compilation by step: `import`, each stage that was computed, and `load`, which
        makes the last stage runnable (machine code, linking, weights).
        """
        return {"import": self._times["import"], **self.stages.times, "load": self._times["load"]}

    def dump_stages(self, directory: str | Path) -> list[Path]:
        """
        Write each stage as `NN-name.mlir`, and what else the backend has to show (LLVM IR), to
        `directory`, which is made if need be. Weights are written as references. Returns the files.
        """
        folder = Path(directory)
        folder.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        for number, (name, module) in enumerate(self.stages.walk()):
            path = folder / f"{number:02}-{name}.mlir"
            path.write_text(f"{module!s}\n", encoding="utf-8")
            written.append(path)
        for name, text in self.backend.texts(self.stages).items():
            path = folder / f"{len(written):02}-{name}"
            path.write_text(text, encoding="utf-8")
            written.append(path)
        return written


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
) -> CompiledModel:
    """
    Compile a network for a backend.

    - `model`: path of an ONNX file, or of a file of the graph dialect (`.mlir`, `.glow`); the
      bytes of an ONNX file; an `onnx.ModelProto`; or a module of the graph dialect, which is not
      modified. All shapes must be static, or made so by `symbols`.
    - `backend`: its name (`cpu`, `interpreter`, or an installed one), or an instance with options
      of its own.
    - `threads`: how many threads run the network together, the calling one included. The others
      sleep between runs. Calls from several Python threads take turns once all processors are used.
    - `symbols`: sizes of the symbolic dimensions of an ONNX model, such as `{"batch": 4}`.
    - `cache`: whether compiled code is kept on disk: True for the default directory
      (`$GLOW_CACHE_DIR`, else `glow` in the user's cache directory), False, or a directory.
    - `verify`: what is checked after each pass: True for all IR (slow), False for none, None for
      all but generated kernels.
    - `target_cpu`, `target_features`: generate code as for this CPU, with these changes, in the
      names of LLVM (`"haswell"`, `"+avx2,-fma"`); by default as for the CPU of this machine, which
      must be able to run it.
    - `conv_algorithm`: how convolutions are computed: `auto` (the default) for what is estimated to
      be fastest, `direct` by the definition, `winograd` wherever it applies. Winograd convolution
      rounds differently: its results are within 2e-5 of the root mean square of the exact ones.

    Raises ModelError for a model that cannot be read, UnsupportedError for one that needs
    operators or types that are missing (it lists all of them), CompileError if a pass fails, and
    GlowError for wrong options.
    """
    names = {
        "cpu": target_cpu,
        "features": target_features,
        "conv_algorithm": conv_algorithm,
    }
    options = {name: value for name, value in names.items() if value is not None}
    target = _backend(backend, threads, cache, options)
    start = time.perf_counter()
    with without_garbage_collection():
        module = load_model(model, symbols)
        imported = time.perf_counter()
        signature = signature_of(module)
        stages = Stages(module, target.stages(), verify)
        if stages.verify:
            _compute_all(stages)
        program = target.load(stages)
    total = time.perf_counter() - imported
    times = {"import": imported - start, "load": total - sum(stages.times.values())}
    return CompiledModel(stages, target, program, signature, times)


def _compute_all(stages: Stages) -> None:
    """Run and thereby verify every stage, whether or not the backend needs it."""
    for _ in stages.walk():
        pass


def load_model(model: Model, symbols: Mapping[str, int] | None = None) -> ModuleOp:
    """
    A model in any form that `compile` accepts, as a module of the graph dialect that the caller
    owns.

    Raises ModelError and UnsupportedError as `compile` does.
    """
    if isinstance(model, ModuleOp):
        _refuse(symbols)
        return model.clone()
    if isinstance(model, str | Path) and Path(model).suffix in TEXT_SUFFIXES:
        _refuse(symbols)
        return _parse(Path(model))
    from .frontend.onnx import import_onnx

    return import_onnx(model, symbols=symbols)


def _refuse(symbols: Mapping[str, int] | None) -> None:
    if symbols:
        raise GlowError("symbols apply to ONNX models; the graph dialect has static shapes")


def _backend(
    backend: str | Backend, threads: int, cache: bool | str | Path, options: Mapping[str, str]
) -> Backend:
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise GlowError(f"expected threads to be an integer of at least 1, found {threads!r}")
    if isinstance(backend, Backend):
        if options:
            raise GlowError("a backend that is given as an object has its own target and options")
        return backend
    if options and backend != "cpu":
        raise GlowError(
            f"a target and the algorithm of convolutions are for the backend cpu, found {backend!r}"
        )
    return find_backend(backend, threads=threads, cache=cache, **options)


def _parse(path: Path) -> ModuleOp:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f"cannot read {path}: {error}") from None
    try:
        return Parser(make_context(), text, str(path)).parse_module()
    except ParseError as error:
        raise ModelError(f"{error.span.get_location()}: {error.msg}") from None
