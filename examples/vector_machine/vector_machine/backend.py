"""The backend of the machine: the operators that it computes, and the stages of compilation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from glow.glow_dialects.claims import Claim, claims, same_type
from glow.glow_dialects.glow import constant, matrix, shape
from glow.glow_dialects.glow_inst.memory import is_input
from glow.glow_dialects.operator import Call
from glow.interface.backend import Backend, DeviceMemory, Rates, Stage
from glow.runtime.signature import main_function
from glow.runtime.weights import fill_weights
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.func import FuncOp
from xdsl.universe import Universe

from .dialect import LANES, VECTOR_MACHINE, WORDS, VectorInstruction
from .lowering import FUNCTION, LowerToVectorMachinePass, memory_map, words_of

MOVES = (shape.ReshapeOp, shape.BroadcastOp, shape.SliceOp, shape.ConcatOp, shape.PadOp)
UNIVERSE = Universe(
    all_dialects={VECTOR_MACHINE.name: lambda: VECTOR_MACHINE},
    all_passes={LowerToVectorMachinePass.name: lambda: LowerToVectorMachinePass},
)


class VectorMachine(Backend):
    name = "vector_machine"

    def claims(self) -> Sequence[Claim]:
        simple = (constant.ConstantOp, constant.SplatOp, *MOVES, *FUNCTION)
        gemm = claims(matrix.MatMulOp, elements=same_type(f32), when=lambda c: len(c.shape(0)) == 2)
        return [*claims(*simple, elements=same_type(f32)), *gemm]

    def memories(self) -> Sequence[DeviceMemory]:
        return [DeviceMemory("words", 4 * WORDS, alignment=4)]

    def rates(self, call: Call) -> Rates:
        """Returns an instruction each nanosecond."""
        return Rates(operations=LANES * 1e9, bytes=4 * LANES * 1e9)

    def stages(self) -> Sequence[Stage]:
        clean, lower = "glow-fold-constants,cse,dce", f"glow-lower-nodes{{backend={self.name}}}"
        return [
            Stage("lowered", f"canonicalize,{lower},{clean}"),
            Stage(
                "allocated", "glow-schedule-nodes,glow-irgen,glow-eliminate-copies,glow-allocate"
            ),
            Stage("program", LowerToVectorMachinePass.name),
        ]

    def compile(self, stages: Mapping[str, ModuleOp]) -> VectorProgram:
        return VectorProgram(main_function(stages["allocated"]), main_function(stages["program"]))


class VectorProgram:
    def __init__(self, allocated: FuncOp, program: FuncOp):
        self.memory = np.full(WORDS, np.nan, np.float32)
        fill_weights(self.memory.view(np.uint8), allocated)
        self.instructions = [i for i in program.walk() if isinstance(i, VectorInstruction)]
        places, arguments = memory_map(allocated), allocated.body.block.args
        self.inputs = [words_of(a, places) for a in arguments if is_input(a)]
        self.outputs = [words_of(a, places) for a in arguments if not is_input(a)]

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        memory, registers = self.memory.copy(), np.full((2, LANES), np.nan, np.float32)
        for words, array in zip(self.inputs, inputs, strict=True):
            memory[words] = array
        for instruction in self.instructions:
            instruction.run(memory, registers)
        return [np.asarray(memory[words]) for words in self.outputs]
