"""The result of `glow.compile`: a network that can be called and inspected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TypeAlias

from ..errors import DeviceError, GlowError
from ..fork_safe_lock import ForkSafeLock
from ..interface.backend import Backend
from ..interface.destinations import Outputs, copy_results, destinations, expect_own_memory
from ..interface.memory_plan import MemoryPlan
from ..interface.program import InPlaceProgram, Program
from ..interface.results import results_of
from ..interface.signature import Signature, TensorInfo
from ..interface.symbols import checked_sizes, listed_sizes
from ..runtime.peak_memory import peak_resident_bytes
from ..runtime.random_state import RandomState
from ..runtime.reports import listening
from .session import Session

if TYPE_CHECKING:
    import numpy as np

    from ..interface.time_profile import TimeProfile
    from ..runtime.stages import Stages

ProgramCall: TypeAlias = "tuple[CompiledModel, Sequence[np.ndarray]]"
"""The model of a single program, and its inputs in their order."""


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
        sizes: Mapping[str, int] | None = None,
    ):
        """
        `stages` may be a function that makes them; then `memory` is the plan of the program.
        `sizes` are the sizes that symbolic dimensions of the model got.
        """
        self.backend = backend
        self._stages = stages
        self._stages_lock = ForkSafeLock()
        self._memory = memory
        self._program = program
        self._signature = signature.visible
        self._outputs = signature
        """The signature of the program, which may have more outputs than a caller sees."""
        self._in_place = _in_place(program, signature)
        self._writes_in_place = isinstance(program, InPlaceProgram)
        self._random = RandomState() if signature.is_random else None
        self._times = dict(times)
        self._sizes = dict(sizes or {})

    def __reduce__(self) -> NoReturn:
        raise GlowError(
            "a compiled model is code of one process, and cannot be copied or pickled: give others "
            "what it was compiled from; where that was compiled, the cache has the code"
        )

    def __repr__(self) -> str:
        inputs, outputs = map(_listed, (self._signature.inputs, self._signature.outputs))
        return f"<{type(self).__name__} on {self.backend.name}: {inputs} -> {outputs}>"

    def __call__(self, /, *args: object, **kwargs: object) -> list[np.ndarray]:
        """
        Runs the network on its inputs, by position or by name, and returns all outputs in order.

        An input is a numpy array (or what `numpy.asarray` turns into one) of exactly the declared
        shape and dtype, in any memory layout and byte order. Lists of Python's numbers have no
        dtype: integers must be in the range of the declared one, and floats are rounded to it.
        Outputs are fresh arrays. Raises InputError, saying what was expected and what was found.
        """
        found = self.computed(self._signature.arguments(args, kwargs))
        return list(self._signature.results(found))

    def run(
        self, output_names: Sequence[str] | None, input_feed: Mapping[str, object]
    ) -> list[np.ndarray]:
        """
        Runs the network and returns the outputs called `output_names`, in that order, or all for
        None.

        `input_feed` has an array for each input by name, as in `__call__`. Raises InputError.
        """
        wanted = None if output_names is None else self._signature.select(output_names)
        outputs = self.answer(self._signature.arrays(input_feed))
        return outputs if wanted is None else [outputs[i] for i in wanted]

    def arrays(self, input_feed: Mapping[str, object]) -> list[np.ndarray]:
        """Returns inputs as `answer` takes them. Raises InputError."""
        return self._signature.arrays(input_feed)

    def answer(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns all outputs for inputs in their order, as `arrays` returns them."""
        return list(self._signature.results(self.computed(inputs)))

    def computed(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Does the work of `answer`, and returns outputs in the dtypes of the program."""
        return self._outputs.used(self._results(self._given(inputs)))

    def _results(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """
        Returns all that the program computes. Raises DeviceError if that is not as the program
        declares it.
        """
        found = self._program.run(inputs)
        if self._writes_in_place:  # it takes shapes and dtypes from where it is told to write
            return found
        try:
            return results_of(found, self._outputs.outputs)
        except GlowError as error:
            said = f"wrong results of the backend {self.backend.name}: {error}"
            raise DeviceError(said) from None

    def run_into(self, outputs: Outputs, input_feed: Mapping[str, object]) -> None:
        """
        Runs the network and writes all outputs into memory of the caller.

        `outputs` are arrays, in the order of the outputs or by name, of exactly their shapes and
        dtypes, C-contiguous and writable; or what exports such memory by DLPack, such as tensors
        of PyTorch. They must share no memory with each other or with inputs. `input_feed` is that
        of `run`. After the first call, a call allocates no arrays if its inputs need no conversion.

        Raises InputError. If the data decides the shape of an output, it must be the right one.
        """
        self.compute_into(self._signature.arrays(input_feed), outputs)

    def compute_into(self, inputs: Sequence[np.ndarray], outputs: Outputs) -> None:
        """Does the work of `run_into` for inputs as `Signature.arrays` returns them."""
        memory = destinations(self._signature, outputs)
        if self._in_place is not None:
            expect_own_memory(self._signature, memory, inputs)
        self.compute_apart(inputs, memory)

    def compute_apart(self, inputs: Sequence[np.ndarray], memory: Sequence[np.ndarray]) -> None:
        """
        Does the work of `compute_into` for memory in the order of the outputs, which fits them and
        is apart from other memory. It checks neither.
        """
        if self._in_place is None:
            found = self._signature.results(self.computed(inputs))
            copy_results(self._signature, found, memory)
            return
        every = self._outputs.with_hidden(memory)
        self._in_place.run_into(self._given(inputs), every)
        self._outputs.expect_valid(every)

    def run_reporting(
        self,
        outputs: Outputs,
        input_feed: Mapping[str, object],
        complete: Callable[[str], object],
    ) -> None:
        """
        Does the work of `run_into`, and calls `complete` with the name of each output as soon as
        the run neither reads nor writes its memory any more. The model must have been compiled with
        `reports=True` for the backend cpu; otherwise all outputs are complete in the end.

        `complete` runs in this thread, and the program waits for it. What it raises is raised when
        the run has ended; it is then not called again. Raises InputError as `run_into` does.
        """
        inputs, kept = self._signature.arrays(input_feed), self._outputs.states.values()
        names = [info.name for i, info in enumerate(self._outputs.outputs) if i not in kept]
        waiting = dict.fromkeys(info.name for info in self._signature.outputs)

        def tell(number: int) -> None:
            name = names[number]
            if name in waiting:  # the other ones are hidden
                del waiting[name]
                complete(name)

        # other programs report memory of their own, or their parts
        with nullcontext() if self._in_place is None else listening(tell):
            self.compute_into(inputs, outputs)
        for name in waiting:
            complete(name)

    def expect_indices(self, inputs: Sequence[np.ndarray]) -> None:
        """Raises InputError if an index in inputs of the right shapes is out of range."""
        self._signature.expect_indices(inputs)

    def for_inputs(self, inputs: Sequence[np.ndarray]) -> CompiledModel:
        """
        Returns the model for inputs of these shapes, in their order. Raises InputError if an index
        in them is out of its range, which may follow from the shapes.
        """
        return self

    def session(self, state: Mapping[str, object] | None = None) -> Session:
        """
        Returns a session with a state of its own: a value for each input that is a state (see
        `states` of `glow.compile`). They begin as zeros, or as the arrays in `state`, which are
        copied. Raises InputError for wrong arrays.
        """
        return Session(self, state)

    def _given(self, inputs: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Returns all inputs of the program."""
        return inputs if self._random is None else [*inputs, self._random.next_call()]

    def profile(self, /, *args: object, repeat: int = 20, **kwargs: object) -> TimeProfile:
        """
        Runs the network on inputs as for a call, `repeat` times and once before, and returns the
        measured times of each of its instructions. The model must have been compiled with
        `timed=True` for the backend cpu; raises GlowError otherwise, and InputError. An input
        called `repeat` can only be given by its position.
        """
        inputs = self._signature.arrays(self._signature.bind(args, kwargs))
        return self.backend.profile(self._program, self.stages, self._given(inputs), repeat)

    def program_calls(self, inputs: Sequence[np.ndarray]) -> list[ProgramCall]:
        """
        Returns the calls of single programs that a call with these inputs consists of, in their
        order; a program is a model, too. Programs that need results of others are found by
        running these.
        """
        return [(self, inputs)]

    def get_inputs(self) -> list[TensorInfo]:
        """
        Returns names, shape and type of each input, in order. A symbolic dimension is a string: its
        name, or `<input>_dim<index>` if it has none.
        """
        return list(self._signature.inputs)

    def get_outputs(self) -> list[TensorInfo]:
        """Returns names, shape and type of each output, in order."""
        return list(self._signature.outputs)

    @property
    def symbols(self) -> dict[str, int | None]:
        """The sizes that symbolic dimensions have; None for those that inputs give at each call."""
        return dict(self._sizes)

    def specialize(self, symbols: Mapping[str, int] | None = None) -> CompiledModel:
        """
        Returns the model for these sizes of all symbols that have none yet, such as `{"batch": 4}`.
        It is compiled now, unless that was done before. A model without such symbols is its own.

        Raises GlowError for wrong symbols, and what `glow.compile` raises.
        """
        for name, size in checked_sizes(symbols).items():
            if name not in self._sizes:
                raise GlowError(f"the model has no symbol {name!r}: its shapes are static")
            if size != self._sizes[name]:
                raise GlowError(f"symbol {name} has the size {self._sizes[name]}, not {size}")
        return self

    def warm_up(self, symbols: Iterable[Mapping[str, int]]) -> None:
        """
        Compiles the specializations that calls with these sizes will need, such as
        `[{"batch": 1}, {"batch": 8}]`. Sizes with buckets are rounded up as those of calls are.

        Raises GlowError for wrong symbols, if there are more specializations than are kept, and
        what `glow.compile` raises; InputError for sizes out of their range.
        """
        for sizes in listed_sizes(symbols):
            self.specialize(checked_sizes(sizes))

    @property
    def specializations(self) -> list[CompiledModel]:
        """The specializations that exist now. `specialize` makes and returns them."""
        return [self]

    @property
    def max_specializations(self) -> int:
        """The largest number of specializations that are kept. The latest used ones are kept."""
        return 1

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
        """The places of activations and weights; None for a backend that plans no memory."""
        if self._memory is not None:
            return self._memory
        if "allocated" not in self.stages:
            return None
        # a program in the cache has its plan with it
        from ..runtime.memory_plan import plan_of

        return plan_of(self.stages["allocated"])

    def activation_bytes(self) -> int:
        """Returns the bytes that a run needs in addition to inputs, outputs and weights."""
        memory = self.memory
        return 0 if memory is None else memory.arena_bytes

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
        Writes each stage as `NN-name.mlir`, and what else the backend has to show (LLVM IR), to
        `directory`, which is made if need be, and the constants of all stages to
        `weights.safetensors`, to which the stages refer. Returns the files. `glow.compile` takes
        each file of a stage that has weights, and continues after that stage.
        """
        # only this needs the stages, which the compiler makes
        from ..runtime.stage_files import write_stages

        return write_stages(self.stages, self.backend, Path(directory))


def _in_place(program: Program, signature: Signature) -> InPlaceProgram | None:
    """Returns a program that can write its outputs exactly as a caller sees them."""
    return program if signature.is_direct and isinstance(program, InPlaceProgram) else None


def _listed(infos: Sequence[TensorInfo], most: int = 4) -> str:
    """Returns some inputs or outputs in one line."""
    shown = [f"{info.name} {info}" for info in infos[:most]]
    more = [f"{len(infos) - most} more"] if len(infos) > most else []
    return ", ".join([*shown, *more]) or "nothing"
