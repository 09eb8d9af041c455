"""Instructions that execute micro-ops: matrix products, and element-wise operations."""

from __future__ import annotations

import abc

from xdsl.dialects.builtin import UnitAttr
from xdsl.ir import Attribute
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def
from xdsl.utils.exceptions import VerifyException

from .attributes import AluOpcodeAttr, alu_opcode_attr, number, numbers, tokens_attr
from .config import AluOpcode, Engine, Opcode, VtaConfig
from .fields import alu_layout, gemm_layout
from .instruction import NUMBER, NUMBERS, Engines, VtaInstruction, values_of

_ZEROS = (0, 0)


class Loop(VtaInstruction, abc.ABC):
    """
    Executes the micro-ops `uops = [begin, end]` in two loops `loop = [outer, inner]`, which add
    `dst = [outer, inner]`, `src` and `wgt` per iteration to the indices of the micro-ops; none is
    [0, 0].
    """

    uops = prop_def(NUMBERS)
    loop = prop_def(NUMBERS)
    dst = prop_def(NUMBERS)
    src = opt_prop_def(NUMBERS)

    def _loop_fields(self, opcode: Opcode, reset: int) -> dict[str, int]:
        begin, end = values_of(self.uops, 2)
        outer, inner = values_of(self.loop, 2)
        dst_out, dst_in = values_of(self.dst, 2)
        src_out, src_in = values_of(self.src, 2)
        return {
            "opcode": opcode,
            **self.tokens.data.flags,
            "reset": reset,
            "uop_bgn": begin,
            "uop_end": end,
            "iter_out": outer,
            "iter_in": inner,
            "dst_factor_out": dst_out,
            "dst_factor_in": dst_in,
            "src_factor_out": src_out,
            "src_factor_in": src_in,
        }

    def check(self, config: VtaConfig) -> None:
        begin, end = self.uops.get_values()
        if begin > end or end > config.usable_micro_ops:
            raise VerifyException(
                f"expected a range of the {config.usable_micro_ops} micro-ops, found {begin} to "
                f"{end}"
            )


def _loop_properties(
    uops: tuple[int, int],
    loop: tuple[int, int],
    factors: dict[str, tuple[int, int]],
    pop: Engines,
    push: Engines,
) -> dict[str, Attribute]:
    properties: dict[str, Attribute] = {
        "uops": numbers(*uops),
        "loop": numbers(*loop),
        "tokens": tokens_attr(Engine.COMPUTE, pop, push),
    }
    for name, pair in factors.items():
        if name == "dst" or pair != _ZEROS:
            properties[name] = numbers(*pair)
    return properties


@irdl_op_definition
class GemmOp(Loop):
    """
    `acc[d] += inp[s] . wgt[w]` for each micro-op in each iteration; with `reset`, `acc[d] = 0`.

    ```mlir
    vta.gemm uops [0, 9] loop [14, 14] dst [14, 1] src [16, 1] pop(load) push(load)
    vta.gemm reset uops [9, 10] loop [14, 14] dst [14, 1]
    ```
    """

    name = "vta.gemm"

    reset = opt_prop_def(UnitAttr)
    wgt = opt_prop_def(NUMBERS)

    layout = staticmethod(gemm_layout)
    assembly_format = (
        "(`reset` $reset^)? `uops` $uops `loop` $loop `dst` $dst (`src` $src^)? (`wgt` $wgt^)? "
        "custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        uops: tuple[int, int],
        loop: tuple[int, int] = (1, 1),
        dst: tuple[int, int] = _ZEROS,
        src: tuple[int, int] = _ZEROS,
        wgt: tuple[int, int] = _ZEROS,
        reset: bool = False,
        pop: Engines = (),
        push: Engines = (),
    ) -> GemmOp:
        """
        Returns an instruction from pairs: (begin, end) for `uops` and (outer, inner) for the rest.
        """
        factors = {"dst": dst, "src": src, "wgt": wgt}
        properties = _loop_properties(uops, loop, factors, pop, push)
        if reset:
            properties["reset"] = UnitAttr()
        return GemmOp.create(properties=properties)

    def fields(self, config: VtaConfig) -> dict[str, int]:
        outer, inner = values_of(self.wgt, 2)
        fields = self._loop_fields(Opcode.GEMM, int(self.reset is not None))
        return {**fields, "wgt_factor_out": outer, "wgt_factor_in": inner}


@irdl_op_definition
class AluOp(Loop):
    """
    `acc[d] = opcode(acc[d], acc[s])` for each micro-op in each iteration, or with the number `imm`
    instead of `acc[s]`.

    ```mlir
    vta.alu add uops [0, 1] loop [14, 14] dst [14, 1] src [14, 1] pop(load)
    vta.alu max uops [0, 1] loop [14, 14] dst [14, 1] imm 0 push(store)
    ```
    """

    name = "vta.alu"

    opcode = prop_def(AluOpcodeAttr)
    imm = opt_prop_def(NUMBER)

    layout = staticmethod(alu_layout)
    assembly_format = (
        "$opcode `uops` $uops `loop` $loop `dst` $dst (`src` $src^)? (`imm` $imm^)? "
        "custom<TokenLists>($tokens) attr-dict"
    )

    @staticmethod
    def of(
        opcode: AluOpcode,
        uops: tuple[int, int],
        loop: tuple[int, int] = (1, 1),
        dst: tuple[int, int] = _ZEROS,
        src: tuple[int, int] = _ZEROS,
        imm: int | None = None,
        pop: Engines = (),
        push: Engines = (),
    ) -> AluOp:
        """
        Returns an instruction from pairs: (begin, end) for `uops` and (outer, inner) for the rest.
        """
        properties = _loop_properties(uops, loop, {"dst": dst, "src": src}, pop, push)
        properties["opcode"] = alu_opcode_attr(opcode)
        if imm is not None:
            properties["imm"] = number(imm)
        return AluOp.create(properties=properties)

    def fields(self, config: VtaConfig) -> dict[str, int]:
        return {
            **self._loop_fields(Opcode.ALU, 0),
            "alu_opcode": self.opcode.data.code,
            "use_imm": int(self.imm is not None),
            "imm": 0 if self.imm is None else self.imm.value.data,
        }
