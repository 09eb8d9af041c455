"""
The objects from which a program is linked, stored so that its kernels need not be generated again.

Objects are cached by their LLVM IR (`object_cache`), but making that text takes longer than the
rest of a compilation with warm caches. So an index entry of the same cache maps the instruction
program, which is small, to the keys of its objects. Code depends on the program's operations, types
and offsets, on the target, and on the compiler that lowers it, but not on the values of weights:
these are data, and only their places and types enter the key. The compiler is identified by the
content of its source files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.printer import Printer

from ..glow_dialects.glow_inst.memory import WeightOp
from ..interface.cache import Cache
from ..lowering.target import Target
from ..passes.instructions.program import in_order
from .fingerprint import GENERATORS, source_hash
from .object_cache import key_of
from .program_plan import LinkPlan
from .signature import main_function


class _WithoutValues(Printer):
    """Prints everything but the values of weights."""

    def __init__(self, stream: StringIO, module: ModuleOp):
        super().__init__(stream)
        ops = in_order(main_function(module).body.block)
        self.hidden = {id(op.value) for op in ops if isinstance(op, WeightOp)}

    def print_attribute(self, attribute: Attribute) -> None:
        if id(attribute) not in self.hidden:
            super().print_attribute(attribute)


def program_key(
    allocated: ModuleOp,
    target: Target,
    threads: int = 1,
    passes: Sequence[str] = (),
    schedules: str | None = None,
) -> str:
    """
    Returns the key of a module after `glow-allocate`, for a number of threads, whose kernels
    further `passes` change, such as `timed`. `schedules` is the hash of a file of measured
    schedules. Equal programs with other weights share the key.
    """
    text = StringIO()
    _WithoutValues(text, allocated).print_op(allocated)
    details = [source_hash(GENERATORS), *target.key(), str(threads), *passes]
    if schedules is not None:
        details.append(f"schedules {schedules}")
    return key_of("program", text.getvalue(), *details)


def find_plan(cache: Cache, key: str) -> LinkPlan | None:
    """Returns the plan stored under `key`."""
    found = cache.get(key)
    return LinkPlan(**json.loads(found)) if found is not None else None


def store_plan(cache: Cache, key: str, plan: LinkPlan) -> None:
    cache.put(key, json.dumps(asdict(plan)).encode())
