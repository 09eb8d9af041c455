"""
LLVM IR text to machine code in this process.

Each kernel is compiled to an object of its own, so that the object cache finds it again in any
network; the program and its entry share one. LLVM's LLJIT links the objects into one library whose
entry is called through ctypes, which releases Python's global lock for the duration of the call.

llvmlite serialises all calls into LLVM with one lock; ours only keeps threads that compile the same
kernels from both doing the work. Whoever forks waits for both, since a child inherits LLVM as it is
and no thread to finish what another one had begun.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import llvmlite.binding as llvm
from llvmlite.binding.ffi import lib

from ..errors import CompileError
from ..lowering.target import ALWAYS_INLINE, REPORT, Target, initialize_native
from .half import half_conversions
from .object_cache import key_of
from .reports import REPORT_ADDRESS

if TYPE_CHECKING:
    from ..interface.cache import Cache

_SMALL = 8 << 10
"""Characters of texts whose objects a process keeps where there is no cache."""
_ALLOCA = " = alloca "
"""The text of the allocation of an array on the stack."""
_lock = threading.RLock()
_library_names = itertools.count()


def _hold() -> None:
    _lock.acquire()
    lib._lock.__enter__()


def _release() -> None:
    lib._lock.__exit__()
    _lock.release()


os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_release)


Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
"""
`void entry(weights, io, arena)`: base addresses, and an array of addresses of inputs then outputs.
"""


@cache
def _initialize() -> None:
    initialize_native()
    # expf and its like must be found by programs that call them, however Python itself was linked
    for name in ("libm.so.6", "libm.so"):
        try:
            llvm.load_library_permanently(name)
            return
        except RuntimeError:
            continue


def compile_object(text: str, target: Target) -> bytes:
    """
    Returns the object file (ELF on Linux) of one LLVM IR module given as text.

    Kernels arrive with explicit vectors, tiles and loops, so only two IR passes run: the inlining
    of elementary functions, and the promotion of small arrays to registers. Others cost more time
    than the code generator and change nothing that matters. Raises CompileError if LLVM rejects the
    text.
    """
    _initialize()
    with _lock:
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM rejects the generated code: {error}") from None
        generator = target.create()
        module.triple = target.triple
        module.data_layout = str(generator.target_data)
        _run_passes(module, generator, inlines=ALWAYS_INLINE in text, has_arrays=_ALLOCA in text)
        return generator.emit_object(module)


def _run_passes(
    module: llvm.ModuleRef, generator: llvm.TargetMachine, *, inlines: bool, has_arrays: bool
) -> None:
    """
    Puts the functions that ask for it in the place of their calls, and keeps elements of small
    arrays in registers where their places are known.
    """
    if not inlines and not has_arrays:
        return
    passes = llvm.create_new_module_pass_manager()
    if inlines:
        passes.add_always_inliner_pass()
    if has_arrays:
        passes.add_sroa_pass()
    options = llvm.create_pipeline_tuning_options(speed_level=0)
    passes.run(module, llvm.create_pass_builder(generator, options))


@lru_cache(maxsize=128)
def _small_object(text: str, target: Target) -> bytes:
    """Entries, and the code that starts threads, are the same in many programs."""
    return compile_object(text, target)


def object_key(text: str, target: Target, version: str) -> str:
    """
    Returns the cache key of the object that LLVM IR text becomes. `version` is the compiler's own.
    """
    return key_of(text, version, *target.key())


def object_of(text: str, target: Target, version: str, cache: Cache | None) -> bytes:
    """Returns the object file of LLVM IR text, from the cache if it has it."""
    if cache is None:
        compiled = _small_object if len(text) <= _SMALL else compile_object
        return compiled(text, target)
    key = object_key(text, target, version)
    found = cache.get(key)
    if found is None:
        found = compile_object(text, target)
        cache.put(key, found)
    return found


@cache
def support_object(target: Target) -> bytes | None:
    """Returns the object of functions that LLVM may call and that not every library has."""
    text = half_conversions(target)
    return None if text is None else compile_object(text, target)


class Executable:
    """Linked code in memory, with one entry. Lives as long as this object."""

    def __init__(
        self, objects: Iterable[bytes], entry: str, target: Target, exports: Iterable[str] = ()
    ):
        """`exports` are further functions whose addresses are wanted."""
        _initialize()
        builder = llvm.JITLibraryBuilder()
        for data in objects:
            builder.add_object_img(data)
        if (support := support_object(target)) is not None:
            builder.add_object_img(support)
        builder.add_current_process()
        builder.import_symbol(REPORT, REPORT_ADDRESS)
        for name in (entry, *exports):
            builder.export_symbol(name)
        with _lock:
            self._compiler = llvm.create_lljit_compiler(target.create())
            try:
                self._library = builder.link(self._compiler, f"glow{next(_library_names)}")
            except RuntimeError as error:
                raise CompileError(f"cannot link the program: {error}") from None
        self.address = self.address_of(entry)
        self._entry = Entry(self.address)

    def address_of(self, name: str) -> int:
        """Returns the address of an exported function, valid as long as this object lives."""
        return self._library[name]

    def __call__(self, weights: int, io: ctypes.Array[ctypes.c_void_p], arena: int) -> None:
        """Runs the entry on base addresses, without Python's global lock."""
        self._entry(weights, io, arena)
