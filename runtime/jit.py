"""
LLVM IR text to machine code in this process.

Each function of a program is compiled to an object of its own, so that the object cache finds a
kernel again whatever network it appears in. The objects are linked by LLVM's LLJIT into one
library whose entry is called through ctypes, which releases Python's global lock for the duration
of the call.

llvmlite serialises all calls into LLVM with one lock; ours only keeps threads that compile the same
kernels from both doing the work.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import llvmlite
import llvmlite.binding as llvm

from ..errors import CompileError
from .object_cache import ObjectCache, key_of

_lock = threading.RLock()
_library_names = itertools.count()

Entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
"""
`void entry(weights, io, arena)`: base addresses, and an array of addresses of inputs then outputs.
"""


@dataclass(frozen=True)
class Machine:
    """What code is generated for, in LLVM's terms."""

    triple: str
    cpu: str
    features: str
    """Comma-separated, each with `+` or `-`."""
    level: int = 3
    """Effort of the code generator, 0 to 3."""

    def key(self) -> tuple[str, ...]:
        """Everything about the machine and LLVM that object code depends on."""
        version = ".".join(map(str, llvm.llvm_version_info))
        versions = (f"llvmlite {llvmlite.__version__}", f"llvm {version}")
        return (self.triple, self.cpu, self.features, str(self.level), *versions)

    def feature_set(self) -> dict[str, bool]:
        """The features by name, and whether the machine has them."""
        return {f[1:]: f[0] == "+" for f in self.features.split(",") if f}

    def create(self) -> llvm.TargetMachine:
        """A fresh LLVM target machine: one that was given to a JIT must not be used again."""
        try:
            target = llvm.Target.from_triple(self.triple)
        except RuntimeError as error:
            raise CompileError(f"LLVM does not know the target {self.triple!r}: {error}") from None
        return target.create_target_machine(
            cpu=self.cpu, features=self.features, opt=self.level, reloc="pic", jit=True
        )


@cache
def _initialize() -> None:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    # expf and its like must be found by programs that call them, however Python itself was linked
    for name in ("libm.so.6", "libm.so"):
        try:
            llvm.load_library_permanently(name)
            return
        except RuntimeError:
            continue


@cache
def host_machine() -> Machine:
    """The machine that this process runs on."""
    _initialize()
    features = llvm.get_host_cpu_features().flatten()
    return Machine(llvm.get_process_triple(), llvm.get_host_cpu_name(), features)


def compile_object(text: str, machine: Machine) -> bytes:
    """
    The object file (ELF on Linux) of one LLVM IR module given as text.

    Kernels arrive with explicit vectors, tiles and loops, so no IR passes run: they cost more time
    than the code generator and change nothing that matters. Raises CompileError if LLVM rejects
    the text.
    """
    _initialize()
    with _lock:
        try:
            module = llvm.parse_assembly(text)
            module.verify()
        except RuntimeError as error:
            raise CompileError(f"LLVM rejects the generated code: {error}") from None
        target = machine.create()
        module.triple = machine.triple
        module.data_layout = str(target.target_data)
        return target.emit_object(module)


def object_key(text: str, machine: Machine, version: str) -> str:
    """The cache key of the object that LLVM IR text becomes. `version` is the compiler's own."""
    return key_of(text, version, *machine.key())


def object_of(text: str, machine: Machine, version: str, cache: ObjectCache | None) -> bytes:
    """The object file of LLVM IR text, from the cache if it has it."""
    if cache is None:
        return compile_object(text, machine)
    key = object_key(text, machine, version)
    found = cache.get(key)
    if found is None:
        found = compile_object(text, machine)
        cache.put(key, found)
    return found


class Executable:
    """Linked code in memory, with one entry. Lives as long as this object."""

    def __init__(self, objects: Iterable[bytes], entry: str, machine: Machine):
        _initialize()
        builder = llvm.JITLibraryBuilder()
        for data in objects:
            builder.add_object_img(data)
        builder.add_current_process().export_symbol(entry)
        with _lock:
            self._compiler = llvm.create_lljit_compiler(machine.create())
            try:
                self._library = builder.link(self._compiler, f"glow{next(_library_names)}")
            except RuntimeError as error:
                raise CompileError(f"cannot link the program: {error}") from None
        self._entry = Entry(self._library[entry])

    def __call__(self, weights: int, io: ctypes.Array[ctypes.c_void_p], arena: int) -> None:
        """Run the entry on base addresses. Releases Python's global lock meanwhile."""
        self._entry(weights, io, arena)
