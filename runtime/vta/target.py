"""`glow-opt -t vta-binary`: the program of a module as the machine gets it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import IO, ClassVar

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.utils.target import Target

from ...errors import CompileError
from ...glow_dialects.vta import contents, programs
from .assemble import assemble
from .container import container_bytes


@dataclass(frozen=True)
class VtaBinaryTarget(Target):
    """
    Writes the program of a module for VTA as a container; or, if it declares nothing in DRAM, its
    instructions alone, 16 bytes each.
    """

    name = "glow-vta-binary"
    writes_bytes: ClassVar = True
    """The fill byte of each number."""

    def emit(self, ctx: Context, module: ModuleOp, output: IO[str]) -> None:
        output.write(binary(module).decode("latin-1"))


def binary(module: ModuleOp) -> bytes:
    """
    Returns the bytes of the one program of a module. Raises CompileError if there is not one, and
    like `assemble`.
    """
    found = list(programs(module))
    if len(found) != 1:
        raise CompileError(
            f"expected one func.func with the attribute vta.config, found {len(found)}"
            + ("" if found else ": run --lower-to-vta first")
        )
    program = assemble(found[0])
    if not contents(found[0])[0]:
        return program.instructions.astype("<u8").tobytes()
    return container_bytes(program)
