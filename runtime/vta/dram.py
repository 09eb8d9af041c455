"""DRAM as a program sees it: the regions of its memory map, and which bytes have a value."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from .program import WRITABLE, Region, RegionRole, VtaProgram


class DramError(Exception):
    """An access outside the regions, or to one that is not for it. Says where."""


class Dram:
    """
    The bytes of all regions during one run.

    Constants and micro-ops are there from the beginning; bytes that no one has written have no
    value. Every access must lie within one region. Regions of scratch that overlap share their
    bytes.
    """

    def __init__(self, program: VtaProgram):
        self._blocks = _blocks(program.regions)
        self._starts = [block[0].address for block in self._blocks]
        self._data = [_initial(block, program) for block in self._blocks]
        self._written = [_initially_written(block) for block in self._blocks]

    def fill(self, region: Region, contents: np.ndarray) -> None:
        """Writes uint8 from the beginning of a region on, as the host does."""
        if region.size:
            index = self._starts.index(region.address)
            self._data[index][: contents.size] = contents
            self._mark(index)[: contents.size] = True

    def contents(self, region: Region) -> tuple[np.ndarray, np.ndarray | None]:
        """
        Returns the bytes uint8[size], and which of them have a value: bool[size], None if all.
        """
        if not region.size:
            return np.zeros(0, np.uint8), None
        index = self._starts.index(region.address)
        return self._data[index], self._written[index]

    def rows(
        self, address: int, dtype: np.dtype, row: tuple[int, ...], count: int, pitch: int
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """
        Returns a view of `count` rows: `dtype[count, *row]`, `pitch` bytes apart.

        Also returns which elements of the first dimension of `row` have a value: bool[count,
        row[0]], None if all. Raises DramError.
        """
        element = dtype.itemsize * int(np.prod(row[1:]))
        index, offset = self._find(address, element * row[0], count, pitch)
        data = _view(self._data[index], dtype, (count, *row), offset, pitch)
        written = self._written[index]
        if written is None:
            return data, None
        marks = _view(written, written.dtype, (count, row[0], element), offset, pitch)
        return data, np.asarray(marks.all(axis=2))

    def store(self, address: int, rows: np.ndarray, pitch: int) -> None:
        """Writes int8[count, bytes], one row after the other. Raises DramError."""
        count, size = rows.shape
        index, offset = self._find(address, size, count, pitch)
        region = self._blocks[index][0]
        if region.kind not in WRITABLE:
            raise DramError(
                f"it writes to {_described(region)}; programs write to outputs and scratch only"
            )
        data, marks = self._data[index], self._mark(index)
        if pitch >= size:
            _view(data, rows.dtype, rows.shape, offset, pitch)[...] = rows
            _view(marks, marks.dtype, rows.shape, offset, pitch)[...] = True
            return
        for n in range(count):  # rows overlap, and the last one counts
            start = offset + n * pitch
            data[start : start + size] = rows[n].view(np.uint8)
            marks[start : start + size] = True

    def _mark(self, index: int) -> np.ndarray:
        marks = self._written[index]
        assert marks is not None
        return marks

    def _find(self, address: int, size: int, count: int, pitch: int) -> tuple[int, int]:
        """Returns the block with a region that holds all rows, and their offset in the block."""
        end = address + (count - 1) * pitch + size
        index = bisect_right(self._starts, address) - 1
        block = self._blocks[index] if index >= 0 else ()
        regions = [r for r in block if r.address <= address < r.end]
        if not regions:
            raise DramError(f"DRAM address {address:#x} is in no region of the memory map")
        region = max(regions, key=lambda r: r.end)
        if end > region.end:
            raise DramError(
                f"DRAM addresses {address:#x} to {end:#x} go beyond the end of {_described(region)}"
            )
        return index, address - self._starts[index]


def _blocks(regions: Sequence[Region]) -> list[list[Region]]:
    """Returns all regions, those that overlap together, by address."""
    found: list[list[Region]] = []
    end = 0
    for region in sorted((r for r in regions if r.size), key=lambda r: r.address):
        if found and region.address < end:
            found[-1].append(region)
        else:
            found.append([region])
        end = max(end, region.end)
    return found


def _described(region: Region) -> str:
    return f"{region.name!r} ({region.kind.value}, {region.address:#x} to {region.end:#x})"


def _view(
    data: np.ndarray, dtype: np.dtype, shape: Sequence[int], offset: int, pitch: int
) -> np.ndarray:
    strides = [pitch]
    for n in range(1, len(shape)):
        strides.append(dtype.itemsize * int(np.prod(shape[n + 1 :])))
    return np.ndarray(shape, dtype, data, offset, strides)  # pyright: ignore


def _initial(block: Sequence[Region], program: VtaProgram) -> np.ndarray:
    region = block[0]
    if region.contents is not None:
        return region.contents
    data = np.zeros(max(r.end for r in block) - region.address, np.uint8)
    if region.kind is RegionRole.INSTRUCTIONS:
        words = program.instructions.astype("<u8").reshape(-1).view(np.uint8)[: region.size]
        data[: words.size] = words
    return data


def _initially_written(block: Sequence[Region]) -> np.ndarray | None:
    """Returns which bytes of a region have a value at the start; None if all have one."""
    region = block[0]
    if region.contents is not None or region.kind is RegionRole.INSTRUCTIONS:
        return None
    return np.zeros(max(r.end for r in block) - region.address, bool)
