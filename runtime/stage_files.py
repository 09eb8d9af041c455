"""The stages of a compilation as files that can be compiled again."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from .resume import mark_stage
from .weights_file import has_constants, write_weights

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..interface.backend import Backend
    from .stages import Stages

WEIGHTS = "weights.safetensors"


def write_stages(stages: Stages, backend: Backend, folder: Path) -> list[Path]:
    """
    Writes each stage as `NN-name.mlir`, the additional files of the backend, and one file with the
    constants of all stages, to which these refer by its absolute path. Returns the files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    first = len(stages.done) - 1
    names = list(stages)
    written: list[Path] = []
    pending: list[tuple[Path, ModuleOp]] = []
    for number, (name, module) in enumerate(stages.walk()):
        path = folder / f"{first + number:02}-{name}.mlir"
        written.append(path)
        copy = module.clone()  # the stages themselves must not be changed
        if first + number:  # an imported graph is for any backend
            mark_stage(copy, backend.name, name, "".join(names[number + 1 : number + 2]))
        if has_constants(copy):
            pending.append((path, copy))
        else:
            _write(path, copy)
    weights = (folder / WEIGHTS).resolve()
    write_weights([module for _, module in pending], weights)
    for path, module in pending:
        _write(path, module)
    for name, text in backend.texts(stages).items():
        path = folder / f"{first + len(names):02}-{name}"
        path.write_text(text, encoding="utf-8")
        written.append(path)
    return [*written, weights]


def _write(path: Path, module: ModuleOp) -> None:
    path.write_text(f"{module!s}\n", encoding="utf-8")
