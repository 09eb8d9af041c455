"""
Programs of the backend `vta` on the simulator, with the host's computations before and after them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from io import StringIO
from typing import Any

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.ir import SSAValue

from ...glow_dialects.operator import element_of
from ...interface.program import ProgramMemory
from ...lowering.vta.asm import VtaAssemblyTarget
from ...lowering.vta.borders import host_nodes, stored_inputs, stored_output
from ...lowering.vta.network import WIDE_BYTES
from ...passes.graph.fold_constants import known_array
from ...passes.graph.rewriting import is_constant
from ...semantics import evaluate
from ..signature import main_function
from .assemble import assemble
from .program import RegionRole, VtaProgram
from .simulator import Simulator


def assembled(module: ModuleOp) -> VtaProgram:
    """Returns the program in a module of the dialect `vta`."""
    return assemble(main_function(module))


def assembly_text(module: ModuleOp) -> str:
    """Returns the program in a module of the dialect `vta`, as assembly."""
    text = StringIO()
    VtaAssemblyTarget().emit(Context(), module, text)
    return text.getvalue()


class Borders:
    """The computations of the host: integers from inputs of floats, and results from integers."""

    def __init__(self, integers: ModuleOp):
        main = main_function(integers)
        self._inputs = [
            (number, _Host([] if value is main.body.block.args[number] else [value.owner]))
            for number, value in stored_inputs(main)
        ]
        returned: Any = main.body.block.last_op
        self._outputs = [_Host(host_nodes(value)) for value in returned.operands]
        self._is_wide = [_is_wide(value) for value in returned.operands]

    def inputs(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the inputs of the program from those of the network."""
        return [host.run(arrays[number]) for number, host in self._inputs]

    def outputs(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Returns the results of the network from those of the program."""
        given = iter(arrays)
        return [
            host.run(_joined(given) if is_wide else next(given))
            for host, is_wide in zip(self._outputs, self._is_wide, strict=True)
        ]


def _is_wide(value: SSAValue) -> bool:
    return element_of(stored_output(value).type) == i32


def _joined(given: Iterator[np.ndarray]) -> np.ndarray:
    """Returns int32 from its bytes."""
    planes = [next(given).astype(np.uint8) for _ in range(WIDE_BYTES)]
    return np.stack(planes, axis=-1).view("<i4")[..., 0].astype(np.int32)


class _Host:
    """The nodes on one value, with constants, one after the other."""

    def __init__(self, nodes: Sequence[Any]):
        self._steps = [
            (node.call, [known_array(o) if is_constant(o) else None for o in node.operands])
            for node in nodes
        ]

    def run(self, array: np.ndarray) -> np.ndarray:
        for call, operands in self._steps:
            (array,) = evaluate(call, [array if o is None else o for o in operands])
        return array


class VtaExecutable:
    """A program on the simulator. Runs on several threads at once are safe."""

    def __init__(self, program: VtaProgram, borders: Borders):
        self.program = program
        self.simulator: Simulator = Simulator(program)
        self._borders = borders

    @property
    def memory(self) -> ProgramMemory:
        """DRAM but that of inputs and outputs."""
        kinds = RegionRole.CONSTANT, RegionRole.MICRO_OPS, RegionRole.INSTRUCTIONS
        fixed = sum(r.size for r in self.program.of_kind(*kinds))
        return ProgramMemory(fixed, self.program.scratch_bytes)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Runs the program; see `glow.interface.program.Program`."""
        return self._borders.outputs(self.simulator.run(self._borders.inputs(inputs)))
