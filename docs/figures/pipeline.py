"""The stages of a compilation from an ONNX model to machine code."""

from __future__ import annotations

from dataclasses import dataclass

from glow.svg import Picture

CARD, GAP, TOP, HEIGHT, LEFT = 106, 24, 92, 144, 24


@dataclass(frozen=True)
class Stage:
    """A card of the picture."""

    name: str
    holds: str
    passes: tuple[str, ...]
    colour: str
    into: str = ""
    """The conversion that leads to the next stage."""


STAGES = (
    Stage("ONNX", "a model file", ("operators", "weights", "symbolic sizes"), "grey", "import"),
    Stage(
        "glow",
        "graph of tensors",
        ("fold-constants", "lower-nodes", "fuse-operators", "assign-layouts", "schedule-nodes"),
        "blue",
        "irgen",
    ),
    Stage(
        "glow_inst",
        "instructions",
        ("eliminate-copies", "stack-ops", "share-buffers", "allocate"),
        "teal",
        "build-nests",
    ),
    Stage(
        "glow_nest",
        "loop nests",
        ("split-reductions", "schedule-nests", "divide-nests"),
        "yellow",
        "generate-loops",
    ),
    Stage(
        "kernels",
        "loops, vectors",
        ("scf, arith", "vector, memref", "math, glow_vec"),
        "purple",
        "convert-to-llvm",
    ),
    Stage("llvm", "basic blocks", ("branches", "vectors", "intrinsics"), "orange", "llvmlite"),
    Stage(
        "objects", "machine code", ("cached on disk", "linked to run", "without Python"), "green"
    ),
)


def draw() -> str:
    width = 2 * LEFT + CARD * len(STAGES) + GAP * (len(STAGES) - 1)
    picture = Picture(width, TOP + HEIGHT + 92, "The stages of a compilation")
    for i, stage in enumerate(STAGES):
        x = LEFT + i * (CARD + GAP)
        _card(picture, stage, x)
        if stage.into:
            _conversion(picture, stage.into, x + CARD, TOP)
    _levels(picture)
    _branches(picture)
    return str(picture)


def _card(picture: Picture, stage: Stage, x: float) -> None:
    picture.rect(x, TOP, CARD, HEIGHT, f"{stage.colour}/10", stage.colour, radius=8, thickness=1.5)
    middle = x + CARD / 2
    picture.text(middle, TOP + 24, stage.name, size=13, anchor="middle", bold=True)
    picture.text(middle, TOP + 41, stage.holds, "muted", size=11, anchor="middle")
    picture.line((x + 14, TOP + 52), (x + CARD - 14, TOP + 52), f"{stage.colour}/40")
    for i, line in enumerate(stage.passes):
        picture.text(middle, TOP + 70 + 16 * i, line, size=10.5, anchor="middle")


def _conversion(picture: Picture, name: str, x: float, y: float) -> None:
    """Draws an arrow over the gap from one card to the next, with its name above."""
    start, end = x - 22, x + GAP + 22
    picture.arrow((start, y - 3), (start, y - 20), (end, y - 20), (end, y - 4))
    picture.text((start + end) / 2, y - 28, name, size=11, anchor="middle", mono=True)


def _levels(picture: Picture) -> None:
    """Draws a bracket over all stages that are text."""
    first, last = LEFT + CARD + GAP, LEFT + 5 * (CARD + GAP) + CARD
    picture.path(f"M {first} 46 v -8 H {last} v 8", "none", "rule", 1.5)
    text = "each stage is text: print it, edit it, feed it back"
    picture.text((first + last) / 2, 28, text, "muted", anchor="middle")


def _branches(picture: Picture) -> None:
    """Draws the two ways that leave the main one: the interpreter and an accelerator."""
    top, bottom = TOP + HEIGHT, TOP + HEIGHT + 34
    branches = (
        (1, "interpreter", "blue", "numpy, the oracle of the tests", -1),
        (2, "vta", "teal", "programs for an accelerator, and its simulator", 1),
    )
    for index, name, colour, text, side in branches:
        x = LEFT + index * (CARD + GAP)
        picture.arrow((x + CARD / 2, top + 2), (x + CARD / 2, bottom - 3))
        picture.rect(x, bottom, CARD, 32, f"{colour}/10", colour, radius=8, thickness=1.5)
        picture.text(x + CARD / 2, bottom + 21, name, anchor="middle", bold=True)
        if side > 0:
            picture.text(x + CARD + 10, bottom + 20, text, "muted", size=11)
        else:
            for i, line in enumerate(text.split(", ")):
                picture.text(x - 10, bottom + 14 + 14 * i, line, "muted", size=11, anchor="end")
