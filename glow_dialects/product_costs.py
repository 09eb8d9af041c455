"""
The cost model of products of matrices: whether they repay copying factors to another form.

As in `costs.py`, nothing imports xDSL.
"""

from __future__ import annotations

from .machine import MachineDescription
from .timings import TIMINGS, Timings


def repays_rounding(
    rows: int, terms: int, columns: int, machine: MachineDescription, timings: Timings = TIMINGS
) -> bool:
    """
    Returns whether a product of matrices repays rounding both to pairs of bf16: pairs take half as
    many operations as numbers of f32, and each operand is copied.
    """
    lanes = machine.lanes(32)
    vectors = -(-columns // lanes)
    saved = rows * terms * vectors / 2 / timings.vector_units
    copied = (rows * -(-terms // lanes) + terms * vectors) * timings.rounded_vector_cycles
    return copied < saved


def repays_rounded_patches(
    filters: int,
    row: int,
    places: int,
    terms: int,
    machine: MachineDescription,
    timings: Timings = TIMINGS,
) -> bool:
    """
    Returns whether a convolution in `places` places, of `terms` terms each, is faster as a product
    of patches that are rounded to bf16 than by its definition in f32, whose vectors are parts of
    rows of `row` elements.
    """
    lanes, multiplied = machine.lanes(32), filters * terms * places
    if not repays_rounding(filters, terms, places, machine, timings):
        return False
    vectors = -(-row // lanes) / row
    direct = multiplied * vectors / timings.vector_units
    copied = terms * places / lanes * (timings.patch_vector_cycles + timings.rounded_vector_cycles)
    return multiplied / lanes / 2 / timings.vector_units + copied < direct


def repays_unpacking(
    rows: int, input_bits: int, machine: MachineDescription, timings: Timings = TIMINGS
) -> bool:
    """
    Returns whether products of `rows` rows, rounded to `input_bits` bits, repay unpacking weights
    of a few bits to floats: never where the machine multiplies more bytes than floats at a time.
    """
    multiplies_bytes = input_bits <= 8 and machine.byte_dot(unsigned=True) is not None
    return rows >= timings.least_unpacked_rows and not multiplies_bytes
