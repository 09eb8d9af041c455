"""Programs whose kernels check each access (`lowering.sanitize`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr

from ..errors import SanitizerError
from ..glow_dialects.glow_nest.call import CallOp
from ..glow_dialects.operator import text_of
from ..lowering.sanitize import RECORD, accesses_of
from ..passes.instructions.program import in_order
from .cpu_program import Addresses, CpuProgram
from .program_plan import LinkPlan
from .signature import main_function

if TYPE_CHECKING:
    from collections.abc import Mapping

    from xdsl.dialects.builtin import ModuleOp

    from ..interface.signature import Signature


class SanitizedProgram(CpuProgram):
    """A program that raises SanitizerError after a run in which a kernel left a buffer."""

    def __init__(
        self,
        run: Callable[[int, Addresses, int], None],
        weights: np.ndarray,
        weights_key: str,
        plan: LinkPlan,
        signature: Signature,
        stages: Mapping[str, ModuleOp],
    ):
        super().__init__(run, weights, weights_key, plan, signature)
        self._stages = stages

    def run_into(self, inputs: Sequence[np.ndarray], outputs: Sequence[np.ndarray]) -> None:
        space = self._prepare(inputs, outputs)
        try:
            record = space.arena[self.plan.arena_bytes - 8 * RECORD :].view(np.int64)
            record[:] = 0
            self._run(self._weights_address, space.io, space.address)
            _, access, place, call = map(int, record)
        finally:
            self._idle.append(space)
        if access:
            raise SanitizerError(violation(self._stages, call, access - 1, place))


def violation(stages: Mapping[str, ModuleOp], call: int, access: int, place: int) -> str:
    """Returns what went wrong: in which kernel, for which node, at which place of which buffer."""
    about = accesses_of(main_function(stages["kernels"]))[access]
    calls = in_order(main_function(stages["scheduled"]).body.block)
    op = [op for op in calls if isinstance(op, CallOp)][call]
    names = ", ".join(v.name_hint for v in op.written() if v.name_hint) or "a value"
    return (
        f"kernel {text_of(about.data['kernel'])}, which computes {names}: "
        f"a {text_of(about.data['kind'])} at element {place} is outside of {_buffer(op, about)}"
    )


def _buffer(op: CallOp, about: DictionaryAttr) -> str:
    operand = about.data.get("operand")
    if not isinstance(operand, IntegerAttr) or operand.value.data >= len(op.operands):
        return "its temporary memory"
    value = op.operands[operand.value.data]
    name = f"%{value.name_hint}" if value.name_hint else f"operand {operand.value.data}"
    return f"buffer {name} of {value.type}"
