"""
Windows over padded inputs, for convolution and pooling.

A window that moves by a stride along the last dimension would read every `stride`-th element. If a
copy is made anyway, it is split into phases, so that neighbouring windows read neighbouring
elements: element `j` of the padded row goes to place `j // stride` of phase `j % stride`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Attribute

from ....glow_dialects.glow_nest.affine import Access, Affine, Dim, Index, View, affine, lookup
from ..registry import Kernel


@dataclass(frozen=True)
class Windows:
    """The geometry of windows over the spatial dimensions."""

    sizes: tuple[int, ...]
    counts: tuple[int, ...]
    """The number of windows along each dimension."""
    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    """Padding before each dimension."""

    @property
    def extents(self) -> tuple[int, ...]:
        """The extents of the part of the padded input that the windows read."""
        return tuple(
            (n - 1) * s + (k - 1) * d + 1
            for n, k, s, d in zip(
                self.counts, self.kernel, self.strides, self.dilations, strict=True
            )
        )

    @property
    def inside(self) -> bool:
        """Whether no window reaches beyond the input."""
        return not any(self.low) and all(
            e <= s for e, s in zip(self.extents, self.sizes, strict=True)
        )

    def at(self, window: Sequence[Dim], offset: Sequence[Dim]) -> list[Index]:
        """Returns indices into the padded input."""
        return [
            w * s + k * d
            for w, k, s, d in zip(window, offset, self.strides, self.dilations, strict=True)
        ]


def without_gaps(windows: Windows, x: View) -> tuple[Windows, View]:
    """
    Returns the same windows, except that windows of one element along an unpadded dimension have no
    stride there: the view `x` [N, C, *spatial] has it instead.
    """
    sizes, steps, shape, strides = (
        *(list(windows.sizes), list(windows.strides)),
        *(list(x.shape), list(x.strides)),
    )
    for d, count in enumerate(windows.counts):
        if windows.kernel[d] == 1 and windows.low[d] == 0 and steps[d] * (count - 1) < sizes[d]:
            strides[2 + d] *= steps[d]
            shape[2 + d] = sizes[d] = count
            steps[d] = 1
    changed = replace(windows, sizes=tuple(sizes), strides=tuple(steps))
    return changed, View(x.buffer, tuple(shape), tuple(strides), x.offset)


class Source:
    """
    The elements that windows read for one image: the input itself, or a padded copy in scratch.
    """

    def __init__(self, windows: Windows, view: View, phases: int):
        self._windows = windows
        self._view = view
        self._phases = phases
        """0 without phases."""

    def __getitem__(self, index: tuple[Sequence[Index], Sequence[Dim], Sequence[Dim]]) -> Access:
        """Returns the element for leading indices, windows, and offsets within the windows."""
        leading, window, offset = index
        places = self._windows.at(window, offset)
        if not self._phases:
            return self._view[[*leading, *places]]
        steps = [i * self._windows.dilations[-1] for i in range(offset[-1].size)]
        phase = lookup(offset[-1], [s % self._phases for s in steps])
        place = lookup(offset[-1], [s // self._phases for s in steps]) + Affine({window[-1]: 1})
        return self._view[[*leading, *places[:-1], phase, place]]


class PaddedCopy:
    """A padded copy of one image [C, *spatial] in scratch. Its borders are set once."""

    def __init__(
        self, k: Kernel, windows: Windows, channels: int, element: Attribute, border: float
    ):
        self.windows = windows
        self._kernel = k
        stride = windows.strides[-1]
        self._phases = stride if stride > 1 else 0
        extents = windows.extents
        shape = [channels, *extents]
        if self._phases:
            shape = [channels, *extents[:-1], self._phases, -(-extents[-1] // self._phases)]
        self.view = k.scratch(shape, element)
        if not windows.inside:
            k.fill(self.view, border)

    @property
    def source(self) -> Source:
        return Source(self.windows, self.view, self._phases)

    def fill_from(self, image: Sequence[Index], x: View, first: Index = 0) -> None:
        """
        Copies the image that leading indices of `x` [..., C, *spatial] choose; of its channels, as
        many as the copy has, from `first` on.
        """
        c = Dim("c", self.view.shape[0])
        channel = affine(first) + c
        w = self.windows
        inner = [
            Dim(f"s{d}", min(size, extent - low))
            for d, (size, low, extent) in enumerate(zip(w.sizes, w.low, w.extents, strict=True))
        ]
        if any(d.size <= 0 for d in inner):
            return
        target = [s + low for s, low in zip(inner, w.low, strict=True)]
        if not self._phases:
            self._kernel.copy([c, *inner], self.view[[c, *target]], x[[*image, channel, *inner]])
            return
        for phase in sorted({i * w.dilations[-1] % self._phases for i in range(w.kernel[-1])}):
            self._copy_phase(phase, c, inner, target, [*image, channel], x)

    def _copy_phase(
        self,
        phase: int,
        c: Dim,
        inner: Sequence[Dim],
        target: Sequence[Index],
        image: Sequence[Index],
        x: View,
    ) -> None:
        stride, low = self._phases, self.windows.low[-1]
        # padded column `place * stride + phase` is input column `first + (place - start) * stride`
        start = -(-max(0, low - phase) // stride)
        first = start * stride + phase - low
        count = -(-(inner[-1].size - first) // stride)
        if count <= 0:
            return
        j = Dim("j", count)
        self._kernel.copy(
            [c, *inner[:-1], j],
            self.view[[c, *target[:-1], phase, j + start]],
            x[[*image, *inner[:-1], j * stride + first]],
        )
