"""
Compilation that continues with a module after some stage of a backend.

A module of `CompiledModel.dump_stages` has attributes with the backend that made it, the stage
after which it was written, and the next stage. An instruction program without them is known by its
form.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from ..errors import GlowError
from ..glow_dialects.glow_inst.memory import QUALIFIER, argument_attributes
from ..glow_dialects.plan_attributes import ARENA_SIZE
from ..interface.backend import Backend, Stage
from .backend_results import stages_of
from .signature import is_program
from .stages import IMPORTED

BACKEND, STAGE, NEXT = "glow.backend", "glow.stage", "glow.next_stage"


def mark_stage(module: ModuleOp, backend: str, stage: str, following: str) -> None:
    """
    Writes the backend and the stage of a module into its attributes. `following` is the name of the
    next stage, "" if there is none.
    """
    module.attributes |= {
        BACKEND: StringAttr(backend),
        STAGE: StringAttr(stage),
        NEXT: StringAttr(following),
    }


def remaining_stages(module: ModuleOp, backend: Backend) -> tuple[Sequence[str], Sequence[Stage]]:
    """
    Returns the names of the stages that are done, the last of which made the module, and those to
    run. A graph without these attributes, or of another backend, runs through all stages of the
    backend. The attributes are removed.

    Raises GlowError for a program of another backend, and for a module that continues with a stage
    that there is not.
    """
    stages = stages_of(backend)
    made_by, stage, following = (_taken(module, name) for name in (BACKEND, STAGE, NEXT))
    main = next((op for op in module.body.block.ops if _is_main(op)), None)
    is_graph = isinstance(main, FuncOp) and not is_program(main)
    if not stage or (is_graph and made_by != backend.name):
        if is_graph or main is None:
            return (IMPORTED,), stages
        assert isinstance(main, FuncOp)
        found = _by_form(main, stages)
        backend.resume(module)
        return found
    if main is None:
        raise GlowError(
            f"the module is at the stage {stage} and has no function @main any more: start from a "
            "file of the stage allocated, or of one before it, which have weights"
        )
    names = [s.name for s in stages]
    if made_by != backend.name:
        raise GlowError(
            f"the module is a program of the backend {made_by}, found the backend {backend.name}"
        )
    if following and following not in names:
        raise GlowError(
            f"the module continues with the stage {following}, but there are {', '.join(names)}: "
            "give the options that it was made with"
        )
    backend.resume(module)
    return _split(stages, stage, names.index(following) if following else len(names))


def _by_form(main: FuncOp, stages: Sequence[Stage]) -> tuple[Sequence[str], Sequence[Stage]]:
    """Returns the stage of an instruction program that does not name its stage."""
    names = [s.name for s in stages]
    stage = "allocated" if ARENA_SIZE in main.attributes else "instructions"
    if stage not in names:
        raise GlowError("the module is an instruction program, which this backend does not take")
    if not all(QUALIFIER in argument_attributes(argument) for argument in main.body.block.args):
        raise GlowError(
            "the module has kernels, but no weights: start from the instruction program that they "
            "were made of (stage allocated)"
        )
    return _split(stages, stage, names.index(stage) + 1)


def _split(
    stages: Sequence[Stage], stage: str, following: int
) -> tuple[Sequence[str], Sequence[Stage]]:
    before = [s.name for s in stages[:following] if s.name != stage]
    return (IMPORTED, *before, stage), stages[following:]


def _is_main(op: object) -> bool:
    return isinstance(op, FuncOp) and op.sym_name.data == "main"


def _taken(module: ModuleOp, name: str) -> str:
    value = module.attributes.pop(name, None)
    return value.data if isinstance(value, StringAttr) else ""
