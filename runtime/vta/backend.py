"""The backend `vta`: quantized networks as programs for VTA, which run on the simulator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ...errors import GlowError
from ...glow_dialects.vta.config import DEFAULT, VtaConfig, changed
from ...glow_dialects.vta.timing import VtaTiming
from ...interface.backend import Backend, DeviceMemory, Rates, Stage
from .claims import claims_for, is_product
from .executable import Borders, VtaExecutable, assembled, assembly_text

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...glow_dialects.claims import Claim
    from ...glow_dialects.operator import Call
    from .timing import VtaTiming

_T = TypeVar("_T")
_CLEAN = "canonicalize,cse,dce"
INTEGERS = "integers"
PROGRAM = "program"
_WITH_EPILOGUES = "convolution,fully_connected,matmul"
"""Operators whose layer has an epilogue. Pooling is a layer of its own."""
_BUSY = 0.6
"""The share of cycles in which the GEMM core begins a product, in convolutions."""
_LAYER = 2000
"""Cycles of a layer that overlap with nothing: the first loads and the last stores."""


def _made(kind: type[_T], given: _T | Mapping[str, Any], what: str) -> _T:
    """Returns a description of a machine as such, or from its fields by name."""
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
    """Returns a pass in a pipeline."""
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
        return claims_for(self.config.capabilities)

    def memories(self) -> Sequence[DeviceMemory]:
        """Returns DRAM, as far as addresses reach; buffers on the chip are not for tensors."""
        c = self.config
        smallest = min(prod((c.batch, c.block_in)), prod((c.batch, c.block_out)))
        layouts = (f"N, C/{c.block_out}, H, W in elements of {c.batch} x {c.block_out}",)
        return (DeviceMemory("DRAM", smallest << c.dram_base_bits, smallest, layouts),)

    def rates(self, call: Call) -> Rates:
        """Returns the GEMM core or the ALU, and the DRAM port."""
        c, t = self.config, self.timing
        clock = t.clock_mhz * 1e6
        operations = c.batch * c.block_out / t.alu_interval
        if is_product(call):
            operations = 2 * c.batch * c.block_in * c.block_out / t.gemm_interval * _BUSY
        return Rates(operations * clock, t.bytes_per_cycle * clock, _LAYER / clock)

    def stages(self) -> Sequence[Stage]:
        sizes, times = changed(self.config), changed(self.timing)
        form = _with_options("glow-form-vta-layers", sizes)
        tile = _with_options("glow-tile-vta-layers", times)
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
            Stage("layers", form),
            Stage("tiled", tile),
            Stage(PROGRAM, "glow-lower-to-vta,glow-verify-vta-tokens,glow-verify-vta-design"),
        )

    def compile(self, stages: Mapping[str, ModuleOp]) -> VtaExecutable:
        return VtaExecutable(assembled(stages[PROGRAM]), Borders(stages[INTEGERS]))

    def texts(self, stages: Mapping[str, ModuleOp]) -> Mapping[str, str]:
        return {"program.s": assembly_text(stages[PROGRAM])}
