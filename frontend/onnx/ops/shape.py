"""Operators that rearrange whole dimensions."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ....errors import ModelError
from ....glow_dialects.glow.shape import GatherOp
from ....wording import counted
from ..builder import rank, shape
from ..node import CONTRIB, OnnxNode, converter, normal_axes, normal_axis


@converter("Reshape")
def reshape(node: OnnxNode) -> SSAValue:
    """
    Converts a reshape. A 0 keeps the input's dimension unless `allowzero` is set; one -1 is
    inferred.
    """
    x = node.input(0)
    wanted = node.known_ints(1) or []
    target, kept = list(wanted), []
    if not node.attr("allowzero", 0):
        kept = [i for i, d in enumerate(wanted) if d == 0]
    for i in kept:
        if i >= rank(x):
            raise ModelError(f"expected a shape that fits {x.type}, found {wanted}")
        target[i] = shape(x)[i]
    if target.count(-1) > 1 or any(size < -1 for size in target):
        raise ModelError(f"expected at most one -1 and otherwise sizes, found shape {wanted}")
    if -1 in target:
        # a size that is kept tells nothing about the others, though it be 0
        rest = prod(d for i, d in enumerate(target) if d != -1 and i not in kept)
        elements = prod(d for i, d in enumerate(shape(x)) if i not in kept)
        if rest == 0 or elements % rest:
            raise ModelError(f"expected a shape that fits {x.type}, found {wanted}")
        target[target.index(-1)] = elements // rest
    return node.build.reshape(x, target)


@converter("Flatten")
def flatten(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    axis = node.attr("axis")
    if not -rank(x) <= axis <= rank(x):
        raise ModelError(f"expected an axis in {-rank(x)} to {rank(x)}, found {axis}")
    axis += rank(x) if axis < 0 else 0
    return node.build.reshape(x, [prod(shape(x)[:axis]), prod(shape(x)[axis:])])


def _axes(node: OnnxNode) -> list[int] | None:
    """Returns the axes: an attribute before opset 13, an input since."""
    return node.ints("axes") if node.has("axes") else node.known_ints(1)


@converter("Squeeze")
def squeeze(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    axes = _axes(node)
    if axes is None:
        return node.build.reshape(x, [d for d in shape(x) if d != 1])
    dropped = normal_axes(axes, rank(x))
    if any(shape(x)[a] != 1 for a in dropped):
        raise ModelError(f"expected dimensions {dropped} of size 1, found {x.type}")
    return node.build.reshape(x, [d for i, d in enumerate(shape(x)) if i not in dropped])


@converter("Unsqueeze")
def unsqueeze(node: OnnxNode) -> SSAValue:
    x = node.input(0)
    axes = _axes(node) or []
    added = normal_axes(axes, rank(x) + len(axes))
    target = list(shape(x))
    for axis in added:
        target.insert(axis, 1)
    return node.build.reshape(x, target)


@converter("ExpandDims", domain=CONTRIB)
def expand_dims(node: OnnxNode) -> SSAValue:
    """Converts a new dimension of one element, before the one that an input names."""
    x, axis = node.input(0), node.known_number(1)
    place = normal_axis(int(axis), rank(x) + 1)
    return node.build.reshape(x, [*shape(x)[:place], 1, *shape(x)[place:]])


@converter("UnfoldTensor", domain=CONTRIB)
def unfold(node: OnnxNode) -> SSAValue:
    """Converts the windows along a dimension, whose elements become the last dimension."""
    build, x, count, step = node.build, node.input(0), node.attr("size", 0), node.attr("step", 1)
    axis = normal_axis(node.attr("dim", -1), rank(x))
    if not 1 <= count <= shape(x)[axis] or step < 1:
        raise ModelError(
            f"expected windows of 1 to {shape(x)[axis]} elements and a step from 1, "
            f"found size={count} and step={step}"
        )
    starts = np.arange(0, shape(x)[axis] - count + 1, step)
    places = build.constant(starts[:, None] + np.arange(count))
    found = build.op(GatherOp, x, places, axis=axis)
    others = [d for d in range(rank(found)) if d != axis + 1]
    return build.transpose(found, [*others, axis + 1])


@converter("Transpose")
def transpose(node: OnnxNode) -> SSAValue:
    """Converts a transpose. PyTorch's exporter `torchscript` counts some axes from the end."""
    x = node.input(0)
    given = node.ints("perm") or list(reversed(range(rank(x))))
    permutation = [d + rank(x) if d < 0 else d for d in given]
    if sorted(permutation) != list(range(rank(x))):
        raise ModelError(f"expected a permutation of the {rank(x)} dimensions, found {given}")
    return node.build.transpose(x, permutation)


@converter("Concat")
def concat(node: OnnxNode) -> SSAValue:
    return node.build.concat(node.values, node.axis(rank(node.input(0)), default=1))


@converter("Split")
def split(node: OnnxNode) -> list[SSAValue]:
    """Splits into parts of given sizes, or into equal parts; the last of these may be smaller."""
    x, outputs = node.input(0), len(node.proto.output)
    axis = node.axis(rank(x))
    total = shape(x)[axis]
    if node.attr("num_outputs", outputs) != outputs:
        raise ModelError(f"expected num_outputs {outputs}, found {node.attr('num_outputs')}")
    sizes = node.ints("split") if node.has("split") else node.known_ints(1)
    if sizes is None:
        sizes = _equal_parts(total, outputs)
    if sum(sizes) != total or len(sizes) != outputs or any(s < 0 for s in sizes):
        raise ModelError(
            f"expected {counted(outputs, 'part')} with {counted(total, 'element')} "
            f"in all, found {sizes}"
        )
    parts = []
    start = [0] * rank(x)
    for part in sizes:
        part_sizes = [part if i == axis else d for i, d in enumerate(shape(x))]
        parts.append(node.build.slice(x, list(start), part_sizes))
        start[axis] += part
    return parts


def _equal_parts(total: int, count: int) -> list[int]:
    part = -(-total // count)
    return [max(0, min(part, total - i * part)) for i in range(count)]


@converter("Expand")
def expand(node: OnnxNode) -> SSAValue:
    """Converts a broadcast, in which both the input and the given shape may be broadcast."""
    x = node.input(0)
    given = node.known_ints(1) or []
    n = max(len(given), rank(x))
    mine = [1] * (n - rank(x)) + list(shape(x))
    wanted = [1] * (n - len(given)) + given
    if any(a != b and 1 not in (a, b) for a, b in zip(mine, wanted, strict=True)):
        raise ModelError(f"expected a shape that {x.type} broadcasts to, found {given}")
    target = [b if a == 1 else a for a, b in zip(mine, wanted, strict=True)]
    return node.build.broadcast(x, target)


@converter("Tile")
def tile(node: OnnxNode) -> SSAValue:
    """Converts repeats: each dimension becomes (repeats, size), and the repeats are broadcast."""
    x = node.input(0)
    repeats = node.known_ints(1) or []
    if len(repeats) != rank(x) or any(r < 0 for r in repeats):
        raise ModelError(f"expected {rank(x)} repeats of at least 0, found {repeats}")
    single = [d for size in shape(x) for d in (1, size)]
    repeated = [d for r, size in zip(repeats, shape(x), strict=True) for d in (r, size)]
    spread = node.build.broadcast(node.build.reshape(x, single), repeated)
    return node.build.reshape(spread, [r * d for r, d in zip(repeats, shape(x), strict=True)])


@converter("DepthToSpace")
def depth_to_space(node: OnnxNode) -> SSAValue:
    """Moves blocks of channels to the spatial dimensions, depth-first (DCR) or column-first."""
    x, b = node.input(0), node.attr("blocksize")
    n, c, h, w = _image(x)
    if b < 1 or c % (b * b):
        raise ModelError(f"expected channels divisible by {b * b}, found {x.type}")
    column_first = node.attr("mode", "DCR") == "CRD"
    split = [n, c // (b * b), b, b, h, w] if column_first else [n, b, b, c // (b * b), h, w]
    order = [0, 1, 4, 2, 5, 3] if column_first else [0, 3, 4, 1, 5, 2]
    spread = node.build.transpose(node.build.reshape(x, split), order)
    return node.build.reshape(spread, [n, c // (b * b), h * b, w * b])


@converter("SpaceToDepth")
def space_to_depth(node: OnnxNode) -> SSAValue:
    x, b = node.input(0), node.attr("blocksize")
    n, c, h, w = _image(x)
    if b < 1 or h % b or w % b:
        raise ModelError(f"expected height and width divisible by {b}, found {x.type}")
    split = node.build.reshape(x, [n, c, h // b, b, w // b, b])
    order = [0, 1, 3, 5, 2, 4] if node.attr("mode", "DCR") == "CRD" else [0, 3, 5, 1, 2, 4]
    gathered = node.build.transpose(split, order)
    return node.build.reshape(gathered, [n, c * b * b, h // b, w // b])


def _image(x: SSAValue) -> tuple[int, ...]:
    if rank(x) != 4:
        raise ModelError(f"expected an input of rank 4, found {x.type}")
    return shape(x)
