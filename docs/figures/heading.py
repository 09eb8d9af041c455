"""The heading that all figures share."""

from __future__ import annotations

from glow.svg import Picture

MARGIN = 24


def heading(picture: Picture, name: str, text: str, y: float = 34) -> None:
    """Draws a name, and below it a sentence about the figure."""
    picture.text(MARGIN, y, name, size=15, bold=True)
    picture.text(MARGIN, y + 20, text, "muted")
