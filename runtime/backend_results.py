"""Checks of what backends return, which may be code of another package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..errors import CompileError, GlowError, described
from ..interface.backend import Backend, Stage, sequence_of
from .stages import IMPORTED

if TYPE_CHECKING:
    from ..interface.program import Program
    from .stages import Stages


def stages_of(backend: Backend) -> Sequence[Stage]:
    """Returns the stages of a backend. Raises GlowError unless they have names of their own."""
    stages = sequence_of(Stage, backend.stages(), f"stages() of the backend {backend.name}")
    names = [IMPORTED, *(stage.name for stage in stages)]
    if twice := [name for i, name in enumerate(names) if name in names[:i]]:
        raise GlowError(
            f"expected stages with different names, none of them {IMPORTED!r}, from the backend "
            f"{backend.name}, found {twice[0]!r}"
        )
    return stages


def program_of(backend: Backend, stages: Stages) -> Program:
    """
    Returns the program that a backend makes of the stages. Raises CompileError for other errors
    than ours, and if the result is no program.
    """
    try:
        program = backend.compile(stages)
    except GlowError:
        raise
    except Exception as error:
        said = f"the backend {backend.name} cannot compile the network: {described(error)}"
        raise CompileError(said) from error
    return expect_program(backend, program)


def expect_program(backend: Backend, program: Program) -> Program:
    """Returns what a backend made of a network. Raises CompileError if that is no program."""
    if not callable(getattr(program, "run", None)):
        raise CompileError(
            f"expected compile of the backend {backend.name} to return a program with a method "
            f"run, found {program!r}"
        )
    return program
