"""The places of texts in a picture: which lie outside of it, and which overlap."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER = 0.55
"""The width of a character over the size of the font, on average, in sans-serif fonts."""


@dataclass(frozen=True)
class DrawnText:
    """A text and its box in pixels."""

    text: str
    left: float
    right: float
    top: float
    base: float


def drawn_texts(svg: str) -> Iterator[DrawnText]:
    """Yields the texts of an SVG picture that has no transformations."""
    root = ElementTree.fromstring(svg)
    for element in root.iter(f"{SVG}text"):
        text, a = element.text or "", element.attrib
        size = float(a.get("font-size", root.attrib["font-size"]))
        length = len(text) * size * CHARACTER
        share = {"middle": 0.5, "end": 1.0}.get(a.get("text-anchor", ""), 0.0)
        left, base = float(a["x"]) - share * length, float(a["y"])
        yield DrawnText(text, left, left + length, base - 0.75 * size, base)


def cut_off(svg: str) -> list[str]:
    """Returns the texts of an SVG picture that are not whole."""
    _, _, width, height = map(float, ElementTree.fromstring(svg).attrib["viewBox"].split())
    return [
        t.text
        for t in drawn_texts(svg)
        if t.left < 0 or t.right > width or t.top < 0 or t.base > height
    ]


def overlapping(svg: str) -> list[tuple[str, str]]:
    """Returns the pairs of texts of an SVG picture that share pixels."""
    return [
        (a.text, b.text)
        for a, b in combinations(drawn_texts(svg), 2)
        if a.left < b.right and b.left < a.right and a.top < b.base and b.top < a.base
    ]
