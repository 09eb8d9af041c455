"""
The CPU backend: kernels in LLVM IR, compiled and linked into this process.

A program is one C function over base addresses: the weight segment, which is filled once and
shared by all runs; an array of the addresses of inputs and outputs; and an arena for the
activations of one run.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from ..backend import Backend, Program, Stage
from ..errors import GlowError, ModelError
from ..glow_dialects.operator import Call

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects import llvm
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.dialects.func import FuncOp

    from ..lowering.target import Target
    from .object_cache import ObjectCache
    from .signature import TensorInfo

Addresses: TypeAlias = "ctypes.Array[ctypes.c_void_p]"
ALIGNMENT = 64
"""Bytes. The weight segment and the arena start at a multiple of this."""

CONV_ALGORITHMS = ("auto", "direct", "winograd")

_CLEAN = "glow-fold-constants,canonicalize,cse,dce"

_TO_LOWERED = (
    Stage(
        "optimized",
        "glow-fold-constants,canonicalize,cse,glow-fuse-operators,glow-fold-batch-norm,"
        f"glow-simplify-shapes,glow-fuse-attention,glow-sink-transposes,{_CLEAN}",
    ),
    Stage("lowered", f"glow-lower-nodes{{backend=cpu}},{_CLEAN}"),
)
_TO_ALLOCATED = (
    Stage("scheduled", "glow-schedule"),
    Stage("instructions", "glow-irgen"),
    Stage(
        "optimized-instructions",
        "glow-eliminate-copies,glow-stack-ops,glow-share-buffers,glow-eliminate-dead-stores",
    ),
    Stage("allocated", "glow-allocate"),
)


class CpuBackend(Backend):
    """
    Machine code for the CPU of this process, or for another: `cpu`, `features` and `triple` are
    names of LLVM, such as `haswell` and `-fma` (see `lowering.target.find_target`).

    `cache` is True for the default directory of object code, False for none, or a directory.
    `conv_algorithm` is how convolutions are computed: `auto` for what is estimated to be fastest,
    `direct` to sum products in the order of the definition, `winograd` wherever it applies.
    `threads` is how many threads run a program together, the calling one included; with `pin`, the
    others stay on processors of their own.
    """

    name: ClassVar[str] = "cpu"

    def __init__(
        self,
        threads: int = 1,
        cache: bool | str | Path | ObjectCache = True,
        cpu: str | None = None,
        features: str | None = None,
        triple: str | None = None,
        conv_algorithm: str = "auto",
        pin: bool = False,
    ):
        if threads < 1:
            raise GlowError(f"expected threads to be at least 1, found {threads}")
        if conv_algorithm not in CONV_ALGORITHMS:
            raise GlowError(
                f"expected conv_algorithm to be one of {', '.join(CONV_ALGORITHMS)}, "
                f"found {conv_algorithm!r}"
            )
        self.threads = threads
        self.pin = pin
        self.cache = cache
        self.cpu = cpu
        self.features = features
        self.triple = triple
        self.conv_algorithm = conv_algorithm

    def keeps(self, call: Call) -> bool:
        from ..lowering.kernels import implements

        return implements(call)

    def stages(self) -> Sequence[Stage]:
        m = self.target().describe()
        layouts = f"glow-assign-layouts{{block={m.channel_block}}},cse,dce"
        threads = f" threads={self.threads}" if self.threads > 1 else ""
        kernels = f"glow-lower-to-kernels{{{m.pass_options()}{threads}}}"
        pack = f"glow-pack-weights{{lanes={m.lanes(32)} vectors={m.panel_vectors}}}"
        expand = "glow-expand-math" if m.has_fma else "glow-expand-math{has-fma=false}"
        return (
            *_TO_LOWERED,
            Stage("laid-out", layouts),
            Stage("convolutions", f"glow-choose-convolutions{{algorithm={self.conv_algorithm}}}"),
            Stage("packed", f"{pack},glow-simplify-shapes,{_CLEAN}"),
            *_TO_ALLOCATED,
            Stage("kernels", kernels, bulky=True),
            Stage("llvm", f"{expand},glow-convert-to-llvm", bulky=True),
        )

    def target(self) -> Target:
        """What code is generated for. Raises GlowError for names that LLVM does not know."""
        from ..lowering.target import find_target

        return find_target(self.cpu, self.features, self.triple)

    def load(self, stages: Mapping[str, ModuleOp]) -> Program:
        from .jit import Executable
        from .signature import main_function, signature_of

        target = self.target()
        target.expect_host_runs_it()
        objects, arena = self._objects(stages, target)
        executable = Executable(objects, "glow_main", target)
        run: Callable[[int, Addresses, int], None] = executable
        if self.threads > 1:
            from .teams import ParallelExecutable

            run = ParallelExecutable(executable, self.threads, self.pin)
        outputs = signature_of(stages["imported"]).outputs
        return CpuProgram(run, main_function(stages["allocated"]), arena, outputs)

    def objects(self, stages: Mapping[str, ModuleOp]) -> Sequence[bytes]:
        """
        The object files of a program, which may be for another machine than this one. Linked
        together and with the C library's `libm`, their entry is
        `void glow_main(void *weights, void **io, void *arena)`; a program for several threads is
        called as `lowering.threads` says.
        """
        return self._objects(stages, self.target())[0]

    def _objects(
        self, stages: Mapping[str, ModuleOp], target: Target
    ) -> tuple[Sequence[bytes], int]:
        """The objects of the program and the size of its arena, generated or from the cache."""
        from . import program_cache
        from .object_cache import open_cache

        cache = open_cache(self.cache)
        if cache is None:
            return self._generate(stages["llvm"], target, None)[1:]
        key = program_cache.program_key(stages["allocated"], target, self.threads)
        plan = program_cache.find_plan(cache, key)
        found = [cache.get(k) for k in plan.objects] if plan is not None else []
        objects = [data for data in found if data is not None]
        if plan is not None and len(objects) == len(found):
            return objects, plan.arena_bytes
        keys, objects, arena = self._generate(stages["llvm"], target, cache)
        program_cache.store_plan(cache, key, program_cache.LinkPlan(keys, arena))
        return objects, arena

    def _generate(
        self, module: ModuleOp, target: Target, cache: ObjectCache | None
    ) -> tuple[list[str], list[bytes], int]:
        """Cache keys and objects of the functions of the `llvm` stage, and the arena's size."""
        from ..lowering.llvm.translate import translate_function
        from ..lowering.threads import llvm_text
        from .jit import object_key, object_of

        texts = [translate_function(f, module) for f in _defined_functions(module)]
        if self.threads > 1:
            texts.append(llvm_text(target.triple))
        keys = [object_key(text, target, _version()) for text in texts]
        objects = [object_of(text, target, _version(), cache) for text in texts]
        return keys, objects, arena_bytes(module)

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        from ..lowering.llvm.translate import translate_module

        return {"llvm.ll": translate_module(stages["llvm"])}


class CpuProgram:
    """
    A linked program with its weights. Runs at the same time in several threads use an arena each.
    """

    def __init__(
        self,
        run: Callable[[int, Addresses, int], None],
        main: FuncOp,
        arena_size: int,
        outputs: Sequence[TensorInfo],
    ):
        from .memory_plan import WEIGHTS_SIZE, function_bytes

        self._run = run
        self._outputs = outputs
        self._weights = aligned_bytes(function_bytes(main, WEIGHTS_SIZE))
        self._arena_size = arena_size
        self._arenas: list[np.ndarray] = []
        """Arenas that no run uses now. Appending to and popping from a list are atomic."""
        fill_weights(self._weights, main)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        import numpy as np

        outputs = [np.empty(info.shape, info.dtype) for info in self._outputs]
        io = _addresses((*inputs, *outputs))
        try:
            arena = self._arenas.pop()
        except IndexError:
            arena = aligned_bytes(self._arena_size)
        try:
            self._run(self._weights.ctypes.data, io, arena.ctypes.data)
        finally:
            self._arenas.append(arena)
        return outputs


def aligned_bytes(size: int) -> np.ndarray:
    """Uninitialized uint8[size] whose first byte is at a multiple of `ALIGNMENT`."""
    import numpy as np

    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size]


def fill_weights(segment: np.ndarray, main: FuncOp) -> None:
    """
    Copy the value of each `glow_inst.weight` to its offset in `segment` (uint8), equal ones once.

    Raises ModelError if the file that holds a value cannot be read or became shorter.
    """
    import numpy as np

    from ..glow_dialects.glow_inst.memory import WeightOp
    from ..semantics.arrays import constant_array

    done: set[int] = set()
    for op in main.body.block.ops:
        if not isinstance(op, WeightOp) or op.offset is None or op.offset.value.data in done:
            continue
        offset = op.offset.value.data
        done.add(offset)
        try:
            value = constant_array(op.value, op.result.type)  # pyright: ignore
        except (OSError, ValueError) as error:
            name = op.result.name_hint or op.name
            raise ModelError(f"cannot read the weight {name}: {error}") from error
        array = np.ascontiguousarray(value)
        segment[offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)


def _addresses(arrays: Iterable[np.ndarray]) -> Addresses:
    addresses = [a.ctypes.data for a in arrays]
    return (ctypes.c_void_p * len(addresses))(*addresses)


def _defined_functions(module: ModuleOp) -> list[llvm.FuncOp]:
    from xdsl.dialects.llvm import FuncOp

    return [op for op in module.body.block.ops if isinstance(op, FuncOp) and op.body.blocks]


def arena_bytes(module: ModuleOp) -> int:
    """
    How large an arena the program needs: what @main of the `llvm` stage says of its last parameter.
    It includes temporary memory of kernels, so it may be more than was planned for activations.
    """
    from xdsl.dialects.builtin import IntegerAttr

    for function in _defined_functions(module):
        if function.sym_name.data == "main" and function.arg_attrs is not None:
            size = function.arg_attrs.data[-1].data.get("llvm.dereferenceable")
            return size.value.data if isinstance(size, IntegerAttr) else 0
    return 0


def _version() -> str:
    from importlib.metadata import version

    return f"glow {version('glow-compiler')}"
