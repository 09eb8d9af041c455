"""The backend `vta`: quantized networks as programs for VTA, which run on the simulator."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...errors import GlowError
from ...glow_dialects.vta.config import DEFAULT, VtaConfig, changed
from ...glow_dialects.vta.timing import VtaTiming
from ...interface.backend import Backend, DeviceMemory, Rates, Stage
from ...interface.program import ProgramMemory
from .program import RegionRole

if TYPE_CHECKING:
    import numpy as np
    from xdsl.dialects.builtin import ModuleOp
    from xdsl.ir import SSAValue

    from ...glow_dialects.claims import Claim
    from ...glow_dialects.operator import Call
    from .program import VtaProgram
    from .simulator import Simulator

_T = TypeVar("_T")
_CLEAN = "canonicalize,cse,dce"
INTEGERS = "integers"
PROGRAM = "program"
_WITH_EPILOGUES = "convolution,fully_connected,matmul"
"""Pooling is a layer of its own."""
_BUSY = 0.6
"""The share of cycles in which the GEMM core begins a product, in convolutions."""
_LAYER = 2000
"""Cycles of a layer that overlap with nothing: the first loads and the last stores."""


def _made(kind: type[_T], given: _T | Mapping[str, Any], what: str) -> _T:
    """A description of a machine as such, or from its fields by name."""
    if isinstance(given, kind):
        return given
    known = [f.name for f in fields(kind)]  # pyright: ignore
    if not isinstance(given, Mapping) or not given.keys() <= set(known):
        raise GlowError(f"expected {what} of a VTA by name ({', '.join(known)}), found {given!r}")
    try:
        return kind(**given)
    except (TypeError, ValueError) as e:
        raise GlowError(f"no VTA has these {what}: {e}") from None


def _with_options(name: str, options: Mapping[str, object]) -> str:
    """A pass in a pipeline."""
    shown = " ".join(f"{n.replace('_', '-')}={v}" for n, v in options.items())
    return f"{name}{{{shown}}}" if shown else name


class VtaBackend(Backend):
    """
    Compiles networks that are quantized with scales that are powers of two.

    - `config`: the machine, its sizes and its design, a `VtaConfig` or keyword arguments of one;
    - `timing`: how fast it is, for the choice of tiles and for estimates, a `VtaTiming` or keyword
      arguments of one.

    `threads` and `cache` mean nothing to it.
    """

    name: ClassVar[str] = "vta"

    def __init__(
        self,
        threads: int = 1,
        cache: object = True,
        config: VtaConfig | Mapping[str, int | str] = DEFAULT,
        timing: VtaTiming | Mapping[str, float] | None = None,
    ):
        self.config = _made(VtaConfig, config, "sizes")
        self.timing: VtaTiming = _made(VtaTiming, {} if timing is None else timing, "times")

    def claims(self) -> Sequence[Claim]:
        from .claims import claims_for

        return claims_for(self.config.capabilities)

    def memories(self) -> Sequence[DeviceMemory]:
        """DRAM, as far as addresses reach; buffers on the chip are not for tensors."""
        c = self.config
        smallest = min(prod((c.batch, c.block_in)), prod((c.batch, c.block_out)))
        layouts = (f"N, C/{c.block_out}, H, W in elements of {c.batch} x {c.block_out}",)
        return (DeviceMemory("DRAM", smallest << c.dram_base_bits, smallest, layouts),)

    def rates(self, call: Call) -> Rates:
        """The GEMM core or the ALU, and the DRAM port."""
        from .claims import is_product

        c, t = self.config, self.timing
        clock = t.clock_mhz * 1e6
        operations = c.batch * c.block_out / t.alu_interval
        if is_product(call):
            operations = 2 * c.batch * c.block_in * c.block_out / t.gemm_interval * _BUSY
        return Rates(operations * clock, t.bytes_per_cycle * clock, _LAYER / clock)

    def stages(self) -> Sequence[Stage]:
        sizes, times = changed(self.config), changed(self.timing)
        tile = _with_options("glow-tile-vta-layers", sizes | times)
        lower = _with_options("glow-lower-to-vta", sizes)
        return (
            Stage(
                INTEGERS,
                f"glow-fold-constants{{keep-quantized=true}},{_CLEAN},"
                f"glow-legalize-quantized{{integer-only=true}},{_CLEAN}",
            ),
            Stage("prepared", "glow-prepare-for-vta,glow-simplify-shapes,dce"),
            Stage("instructions", "glow-irgen"),
            Stage(
                "optimized-instructions",
                f"glow-eliminate-copies,glow-stack-ops{{epilogues={_WITH_EPILOGUES}}},"
                "glow-eliminate-dead-stores",
            ),
            Stage("tiled", tile),
            Stage(PROGRAM, f"{lower},glow-verify-vta-tokens,glow-verify-vta-design"),
        )

    def compile(self, stages: Mapping[str, ModuleOp]) -> VtaExecutable:
        from ..signature import main_function
        from .assemble import assemble

        program = assemble(main_function(stages[PROGRAM]))
        return VtaExecutable(program, Borders(stages[INTEGERS]))

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        from io import StringIO

        from xdsl.context import Context

        from ...lowering.vta.asm import VtaAssemblyTarget

        text = StringIO()
        VtaAssemblyTarget().emit(Context(), stages[PROGRAM], text)
        return {"program.s": text.getvalue()}


class Borders:
    """The computation of the host: integers from float inputs, and results from integers."""

    def __init__(self, integers: ModuleOp):
        from ...lowering.vta.borders import host_nodes, stored_inputs
        from ..signature import main_function

        main = main_function(integers)
        self._inputs = [
            (number, _Host([] if value is main.body.block.args[number] else [value.owner]))
            for number, value in stored_inputs(main)
        ]
        returned: Any = main.body.block.last_op
        self._outputs = [_Host(host_nodes(value)) for value in returned.operands]
        self._is_wide = [_is_wide(value) for value in returned.operands]

    def inputs(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The inputs of the program from those of the network."""
        return [host.run(arrays[number]) for number, host in self._inputs]

    def outputs(self, arrays: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The results of the network from those of the program."""
        given = iter(arrays)
        return [
            host.run(_joined(given) if is_wide else next(given))
            for host, is_wide in zip(self._outputs, self._is_wide, strict=True)
        ]


def _is_wide(value: SSAValue) -> bool:
    from xdsl.dialects.builtin import i32

    from ...glow_dialects.operator import element_of
    from ...lowering.vta.borders import stored_output

    return element_of(stored_output(value).type) == i32


def _joined(given: Iterator[np.ndarray]) -> np.ndarray:
    """int32 from its bytes."""
    import numpy as np

    from ...lowering.vta.network import WIDE_BYTES

    planes = [next(given).astype(np.uint8) for _ in range(WIDE_BYTES)]
    return np.stack(planes, axis=-1).view("<i4")[..., 0].astype(np.int32)


class _Host:
    """Nodes on one value, with constants, one after the other."""

    def __init__(self, nodes: Sequence[Any]):
        from ...passes.graph.rewriting import is_constant

        self._steps = [
            (node.call, [_constant(o) if is_constant(o) else None for o in node.operands])
            for node in nodes
        ]

    def run(self, array: np.ndarray) -> np.ndarray:
        from ...semantics import evaluate

        for call, operands in self._steps:
            (array,) = evaluate(call, [array if o is None else o for o in operands])
        return array


def _constant(value: SSAValue) -> np.ndarray:
    """A constant, or one that is broadcast."""
    import numpy as np

    from ...glow_dialects.glow.shape import BroadcastOp
    from ...glow_dialects.operator import shape_of
    from ...semantics.arrays import constant_of

    source = value.owner.input if isinstance(value.owner, BroadcastOp) else value
    array = constant_of(source)
    assert array is not None
    return np.broadcast_to(array, shape_of(value.type))


class VtaExecutable:
    """A program on the simulator. Runs on several threads at once are safe."""

    def __init__(self, program: VtaProgram, borders: Borders):
        from .simulator import Simulator

        self.program = program
        self.simulator: Simulator = Simulator(program)
        self._borders = borders

    @property
    def memory(self) -> ProgramMemory:
        """DRAM but that of inputs and outputs."""
        fixed = self.program.of_kind(
            RegionRole.CONSTANT, RegionRole.MICRO_OPS, RegionRole.INSTRUCTIONS
        )
        return ProgramMemory(sum(r.size for r in fixed), self.program.scratch_bytes)

    def run(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """See `glow.interface.backend.Program`."""
        return self._borders.outputs(self.simulator.run(self._borders.inputs(inputs)))
