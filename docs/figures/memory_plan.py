"""
The memory plan of a real network over time.

    cd docs
    python -m figures.memory_plan model.onnx > plan.json
    mv plan.json figures/memory_plan.json

compiles a model for this CPU and stores its plan, from which `draw` makes the picture.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from glow.svg import Picture, series

from .heading import heading

DATA = Path(__file__).with_suffix(".json")
LEFT, TOP, WIDTH, HEIGHT = 70, 84, 740, 320
MEGABYTE = 1e6


def plan_of(model: str) -> str:
    """
    Returns the plan of a model as JSON: sizes in bytes, and buffers as name, offset, size, life.
    """
    import glow

    memory = glow.compile(model).memory
    assert memory is not None
    moments = sorted({t for b in memory.buffers for t in (b.first, b.last)})
    when = {t: i for i, t in enumerate(moments)}
    rows = [(b.name, b.offset, b.size, when[b.first], when[b.last]) for b in memory.buffers]
    head = {"network": Path(model).stem, "arena": memory.arena_bytes, "bound": memory.lower_bound}
    lines = ",\n".join(json.dumps(row) for row in rows)
    return f'{json.dumps(head)[:-1]}, "buffers": [\n{lines}\n]}}\n'


def draw() -> str:
    plan = json.loads(DATA.read_text(encoding="utf-8"))
    picture = Picture(LEFT + WIDTH + 26, TOP + HEIGHT + 44, "A memory plan over time")
    buffers, arena = plan["buffers"], plan["arena"]
    end = max(b[4] for b in buffers)
    total = sum(b[2] for b in buffers)
    text = (
        f"{plan['network']}: {len(buffers)} buffers of {total / MEGABYTE:.1f} MB in sum take turns "
        f"in {arena / MEGABYTE:.2f} MB. No plan needs less than {plan['bound'] / MEGABYTE:.2f} MB."
    )
    heading(picture, "A memory plan", text)
    across, up = WIDTH / end, HEIGHT / arena
    for i, (name, offset, size, first, last) in enumerate(buffers):
        x, y = LEFT + first * across, TOP + HEIGHT - (offset + size) * up
        width, height = (last - first) * across, size * up
        colour = series(i)
        picture.rect(x, y, width, height, f"{colour}/35", colour, tip=f"{name}: {size} bytes")
    _axes(picture, arena, up)
    return str(picture)


def _axes(picture: Picture, arena: int, up: float) -> None:
    bottom = TOP + HEIGHT
    picture.line((LEFT, bottom), (LEFT + WIDTH, bottom))
    picture.line((LEFT, TOP), (LEFT, bottom))
    picture.line((LEFT, TOP), (LEFT + WIDTH, TOP), dashed=True)
    text = f"{arena / MEGABYTE:.2f} MB"
    picture.text(LEFT + WIDTH, TOP + 15, f"arena: {text}", "muted", anchor="end")
    for i in range(int(arena / MEGABYTE) + 1):
        y = bottom - i * MEGABYTE * up
        picture.line((LEFT - 4, y), (LEFT, y))
        picture.text(LEFT - 8, y + 4, f"{i} MB" if i else "0", "muted", size=11, anchor="end")
    picture.arrow((LEFT + WIDTH - 60, bottom + 22), (LEFT + WIDTH, bottom + 22))
    picture.text(LEFT + WIDTH - 68, bottom + 26, "instructions in order", "muted", anchor="end")


if __name__ == "__main__":
    sys.stdout.write(plan_of(sys.argv[1]))
