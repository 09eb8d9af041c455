"""
The cost model of products of matrices: whether they repay copying factors to another form.

As in `costs.py`, nothing imports xDSL.
"""

from __future__ import annotations

from .costs import results
from .machine import MachineDescription
from .timings import TIMINGS


def repays_rounding(rows: int, terms: int, columns: int, machine: MachineDescription) -> bool:
    """
    Returns whether a product of matrices repays rounding both to pairs of bf16: pairs take half as
    many operations as numbers of f32, and each operand is copied.
    """
    lanes = machine.lanes(32)
    vectors = -(-columns // lanes)
    saved = rows * terms * vectors / 2 / TIMINGS.vector_units
    copied = (rows * -(-terms // lanes) + terms * vectors) * TIMINGS.rounded_vector_cycles
    return copied < saved


def repays_rounded_patches(
    filters: int, row: int, places: int, terms: int, machine: MachineDescription
) -> bool:
    """
    Returns whether a convolution in `places` places, of `terms` terms each, is faster as a product
    of patches that are rounded to bf16 than by its definition in f32, whose vectors are parts of
    rows of `row` elements.
    """
    lanes, multiplied = machine.lanes(32), filters * terms * places
    if not repays_rounding(filters, terms, places, machine):
        return False
    vectors = -(-row // lanes) / row
    direct = multiplied * vectors / TIMINGS.vector_units
    copied = terms * places / lanes * (TIMINGS.patch_vector_cycles + TIMINGS.rounded_vector_cycles)
    return multiplied / lanes / 2 / TIMINGS.vector_units + copied < direct


def plain_convolution_cycles(
    filters: int, row: int, places: int, terms: int, machine: MachineDescription
) -> float:
    """
    Returns the cycles of a convolution of plain tensors by its definition, in `places` places, of
    `terms` terms each. Its vectors are parts of rows of `row` elements.
    """
    lanes, speed = machine.lanes(32), TIMINGS.plain_convolution_speed
    vectors = -(-row // lanes)
    if row == lanes // 2:
        vectors = 1 / 2
    elif row < lanes:
        # a part of a vector takes the time of two
        vectors = 2
    return filters * terms * places * vectors / row / TIMINGS.vector_units / speed


def patch_product_cycles(
    filters: int, places: int, terms: int, is_pointwise: bool, machine: MachineDescription
) -> float:
    """
    Returns the cycles of the same as a product of the filters and a matrix of patches, which is the
    image itself if that `is_pointwise`; then its vectors are packed, but not put together.
    """
    vectors = -(-places // machine.lanes(32))
    products = filters * vectors / TIMINGS.vector_units / TIMINGS.product_efficiency
    copied = vectors * TIMINGS.patch_vector_cycles / (2 if is_pointwise else 1)
    return terms * (products + copied) + results(filters * vectors, 0)


def repays_unpacking(rows: int, input_bits: int, machine: MachineDescription) -> bool:
    """
    Returns whether products of `rows` rows, rounded to `input_bits` bits, repay unpacking weights
    of a few bits to floats: never where the machine multiplies more bytes than floats at a time.
    """
    multiplies_bytes = input_bits <= 8 and machine.byte_dot(unsigned=True) is not None
    return rows >= TIMINGS.least_unpacked_rows and not multiplies_bytes
