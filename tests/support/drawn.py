"""What of a picture lies outside of it."""

from __future__ import annotations

from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
CHARACTER = 0.55
"""The width of a character over the size of the font, on average, in sans-serif fonts."""


def cut_off(svg: str) -> list[str]:
    """The texts of an SVG picture, without other transformations than moves, that are not whole."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    found: list[str] = []

    def look(element: ElementTree.Element, dx: float, dy: float, size: float) -> None:
        size = float(element.attrib.get("font-size", size))
        move = element.attrib.get("transform", "translate(0 0)")
        x, y = map(float, move.removeprefix("translate(").removesuffix(")").split())
        dx, dy = dx + x, dy + y
        if element.tag == f"{SVG}text":
            text = element.text or ""
            length = len(text) * size * CHARACTER
            share = {"middle": 0.5, "end": 1.0}.get(element.attrib.get("text-anchor", ""), 0.0)
            left = dx + float(element.attrib["x"]) - share * length
            base = dy + float(element.attrib["y"])
            if left < 0 or left + length > width or base - 0.8 * size < 0 or base > height:
                found.append(text)
        for child in element:
            look(child, dx, dy, size)

    look(root, 0.0, 0.0, 12.0)
    return found
