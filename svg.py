"""
A small writer of SVG pictures with one palette, for light and dark pages.

A colour is a name of `PALETTE`, or `name/percent` for a tint: so many percent of the colour on the
colour of the page. A picture carries both themes; the viewer's `prefers-color-scheme` chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape

PALETTE: Mapping[str, tuple[str, str]] = {
    "page": ("#ffffff", "#0d1117"),
    "ink": ("#1f2328", "#e6edf3"),
    "muted": ("#59636e", "#9aa4af"),
    "rule": ("#d1d9e0", "#3d444d"),
    "blue": ("#2f6fde", "#6aa5ff"),
    "orange": ("#d9730d", "#f0964a"),
    "green": ("#2e8b57", "#5cc08a"),
    "red": ("#cf3f3f", "#f47c7c"),
    "purple": ("#8250df", "#b494f5"),
    "teal": ("#1a8a9a", "#4fc3d0"),
    "yellow": ("#b58900", "#e3be4d"),
    "brown": ("#8c6239", "#c19a72"),
    "grey": ("#818b98", "#7d8794"),
}
"""Each colour on a light and on a dark page."""

SERIES = ("blue", "orange", "green", "red", "purple", "teal", "yellow", "brown")
"""Colours of things of one kind, in order; more things repeat them."""

SANS = "system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif"
MONO = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
CHARACTER = 0.56
"""The mean width of a character over the size of the font, in wide fonts."""


def series(index: int) -> str:
    """Returns the colour of the thing with this number."""
    return SERIES[index % len(SERIES)]


def text_width(text: str, size: float = 12) -> float:
    """Returns about the width of a text in pixels."""
    return len(text) * size * CHARACTER


class Picture:
    """A picture in pixels; x grows to the right, y downwards. `str` gives the text of the file."""

    def __init__(self, width: float, height: float, title: str) -> None:
        self.width, self.height, self.title = width, height, title
        self._parts: list[str] = []
        self._rules: dict[tuple[str, str], None] = {}
        """The colours that are used, each as `fill` or `stroke`."""
        self.rect(0, 0, width, height, "page")

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        fill: str = "none",
        stroke: str = "none",
        *,
        radius: float = 0,
        thickness: float = 1,
        tip: str = "",
    ) -> None:
        """Draws a rectangle; a pointer on it shows the text `tip`."""
        corners = f' rx="{_n(radius)}"' if radius else ""
        place = f'x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}"{corners}'
        colours = self._colours(fill, stroke, thickness)
        end = f"><title>{escape(tip)}</title></rect>" if tip else "/>"
        self._parts.append(f"<rect {place}{colours}{end}")

    def path(self, d: str, fill: str = "none", stroke: str = "none", thickness: float = 1) -> None:
        """Draws a path in SVG's notation."""
        self._parts.append(f'<path d="{d}"{self._colours(fill, stroke, thickness)}/>')

    def line(
        self,
        start: tuple[float, float],
        end: tuple[float, float],
        stroke: str = "muted",
        *,
        thickness: float = 1,
        dashed: bool = False,
    ) -> None:
        """Draws a straight line."""
        (x1, y1), (x2, y2) = start, end
        dashes = ' stroke-dasharray="4 3"' if dashed else ""
        ends = f'x1="{_n(x1)}" y1="{_n(y1)}" x2="{_n(x2)}" y2="{_n(y2)}"'
        self._parts.append(f"<line {ends}{dashes}{self._colours('none', stroke, thickness)}/>")

    def arrow(
        self,
        *points: tuple[float, float],
        stroke: str = "muted",
        thickness: float = 1.5,
    ) -> None:
        """
        Draws a line along the points with a tip at the last one; its last part is level or upright.
        """
        (x, y), (a, b) = points[-1], points[-2]
        dx, dy = (x > a) - (x < a), (y > b) - (y < b)
        shaft = " L ".join(f"{_n(p)} {_n(q)}" for p, q in points)
        wings = [(x - 6 * dx - s * 4 * dy, y - 6 * dy - s * 4 * dx) for s in (1, -1)]
        (p, q), (r, s) = wings
        tip = f"M {_n(p)} {_n(q)} L {_n(x)} {_n(y)} L {_n(r)} {_n(s)}"
        self.path(f"M {shaft} {tip}", "none", stroke, thickness)

    def text(
        self,
        x: float,
        y: float,
        text: str,
        fill: str = "ink",
        *,
        size: float = 12,
        anchor: str = "start",
        bold: bool = False,
        mono: bool = False,
    ) -> None:
        """Draws a text with its base line at y, and its `anchor` (start, middle or end) at x."""
        style = f' font-size="{_n(size)}"' if size != 12 else ""
        style += f' text-anchor="{anchor}"' if anchor != "start" else ""
        style += ' font-weight="600"' if bold else ""
        style += f' font-family="{MONO}"' if mono else ""
        place = f'x="{_n(x)}" y="{_n(y)}"{style}{self._colours(fill, "none", 1)}'
        self._parts.append(f"<text {place}>{escape(text)}</text>")

    def __str__(self) -> str:
        width, height = _n(self.width), _n(self.height)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" font-family="{SANS}" font-size="12" role="img">'
        )
        light, dark = ("".join(self._theme(i)) for i in (0, 1))
        themes = f"{light}@media (prefers-color-scheme:dark){{{dark}}}"
        style = f"<style>text{{pointer-events:none}}{themes}</style>"
        title = f"<title>{escape(self.title)}</title>"
        return "\n".join([head, title, style, *self._parts, "</svg>\n"])

    def _colours(self, fill: str, stroke: str, thickness: float) -> str:
        """Returns the attributes that give a shape its colours."""
        used = [(kind, c) for kind, c in (("fill", fill), ("stroke", stroke)) if c != "none"]
        self._rules.update(dict.fromkeys(used))
        found = f' class="{" ".join(_class(*rule) for rule in used)}"' if used else ""
        if fill == "none":
            found += ' fill="none"'
        if stroke != "none" and thickness != 1:
            found += f' stroke-width="{_n(thickness)}"'
        return found

    def _theme(self, theme: int) -> Iterator[str]:
        """Yields a CSS rule for each colour that is used."""
        for kind, colour in self._rules:
            yield f".{_class(kind, colour)}{{{kind}:{shade(colour, theme)}}}"


def shade(colour: str, theme: int) -> str:
    """Returns a colour in a theme, 0 for light and 1 for dark, as `#rrggbb`. Raises KeyError."""
    name, _, percent = colour.partition("/")
    share = int(percent or 100) / 100
    mixed = (
        round(share * a + (1 - share) * b)
        for a, b in zip(_channels(name, theme), _channels("page", theme), strict=True)
    )
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _channels(name: str, theme: int) -> bytes:
    return bytes.fromhex(PALETTE[name][theme][1:])


def _class(kind: str, colour: str) -> str:
    return f"{kind[0]}-{colour.replace('/', '-')}"


def _n(number: float) -> str:
    """Returns a number of pixels, to two digits after the point."""
    return f"{number:.2f}".rstrip("0").rstrip(".")
