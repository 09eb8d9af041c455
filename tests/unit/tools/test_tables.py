"""Tables at 80 columns and less: numbers are whole, and long names can be told apart."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from glow.interface.signature import TensorInfo
from glow.tools.report import (
    Difference,
    difference_table,
    input_table,
    summary_table,
    time_table,
    top_table,
)
from glow.tools.tables import DataTable, shortened
from rich.console import Console

LONG = "/model/backbone/layer{}/attention/projection/MatMul_output_0"


def shown(table: DataTable, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def wide_table(rows: int = 2) -> DataTable:
    table = DataTable("layers").texts("layer").numbers("cycles", "share", "accumulators", "more")
    table.numbers("inputs", "outputs", "weights")
    for i in range(rows):
        table.add_row(LONG.format(i), *(f"{1234567 + 10 * i + n:,}" for n in range(7)))
    return table


def arrays() -> dict[str, np.ndarray]:
    numbers = (-1.23456789e-5, 9.87654321e7)
    return {LONG.format(i): np.array([numbers] * 3, np.float32) + i for i in range(2)}


TABLES = {
    "wide": wide_table(),
    "summary": summary_table(arrays()),
    "top": top_table(LONG, np.arange(4.0) * -1234.5, 3, [LONG.format(i) for i in range(4)]),
    "inputs": input_table([TensorInfo(LONG, [1, 3, 224, 224], np.dtype("f4"))], {LONG: LONG}),
    "difference": difference_table({LONG: Difference(1.25e-7, 3.5e-9)}, LONG, 1e-4),
    "times": time_table({"optimized-instructions": 1.5, "load": 0.25}, 0.1, [0.02, 0.01], False),
}


@pytest.mark.parametrize("width", [40, 60, 80, 120])
@pytest.mark.parametrize("name", TABLES)
def test_nothing_is_lost(name: str, width: int) -> None:
    table = TABLES[name]
    text = shown(table, width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for column in table.columns:
        for cell in map(str, column.cells):
            if column.no_wrap:
                assert all(part in [w.rstrip(",") for w in words] for part in cell.split()), cell
            else:
                letters = iter(re.sub(r"\s", "", text))
                assert all(letter in letters for letter in cell if not letter.isspace()), cell


def test_a_table_that_does_not_fit_is_a_list() -> None:
    assert "┃" in shown(wide_table(), 120)
    text = shown(wide_table(), 80)
    assert "┃" not in text
    lines = text.splitlines()
    assert lines[1] == LONG.format(0)
    assert lines[2].startswith("    cycles 1,234,567, share 1,234,568, accumulators 1,234,569")


def test_the_middle_of_names_is_left_out() -> None:
    assert shortened("short") == "short"
    names = [shortened(LONG.format(i)) for i in (1, 2)]
    assert {len(name) for name in names} == {40}
    assert names[0].startswith("/model/backbone/lay")
    assert names[0].endswith("/MatMul_output_0")
    assert len(shortened("x" * 9, 8)) == 8
