"""Pictures are well-formed SVG with the colours of both themes."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from glow.svg import PALETTE, SERIES, Picture, series, shade
from glow.tests.support.drawn import cut_off, overlapping

SVG = "{http://www.w3.org/2000/svg}"


def test_shapes_have_their_places() -> None:
    picture = Picture(200, 100.5, "a <b> & c")
    picture.rect(1, 2.345, 30, 40, "blue", "red/20", radius=3, tip='"x" < y')
    picture.line((0, 0), (10, 20), dashed=True)
    picture.text(5, 50, "1 < 2", size=10, anchor="end", bold=True)
    root = ElementTree.fromstring(str(picture))
    assert root.attrib["viewBox"] == "0 0 200 100.5"
    assert root.findtext(f"{SVG}title") == "a <b> & c"
    page, rect = root.findall(f"{SVG}rect")
    assert (page.attrib["width"], page.attrib["class"]) == ("200", "f-page")
    assert (rect.attrib["y"], rect.attrib["class"]) == ("2.35", "f-blue s-red-20")
    assert rect.findtext(f"{SVG}title") == '"x" < y'
    text = root.find(f"{SVG}text")
    assert text is not None
    assert text.text == "1 < 2"


def test_each_colour_that_is_used_has_a_rule_in_both_themes() -> None:
    picture = Picture(10, 10, "colours")
    for name in PALETTE:
        picture.rect(0, 0, 1, 1, f"{name}/30", name)
    style = ElementTree.fromstring(str(picture)).findtext(f"{SVG}style") or ""
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    for theme, rules in enumerate((light, dark)):
        for name in PALETTE:
            assert f".f-{name}-30{{fill:{shade(f'{name}/30', theme)}}}" in rules
            assert f".s-{name}{{stroke:{PALETTE[name][theme]}}}" in rules


def luminance(colour: str) -> float:
    """Returns the relative luminance of WCAG 2.1."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(a: str, b: str) -> float:
    bright, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [0, 1])
def test_texts_are_legible(theme: int) -> None:
    """Contrasts as WCAG asks for: 4.5 for texts, 3 for shapes."""
    page = shade("page", theme)
    for text in ("ink", "muted"):
        assert contrast(shade(text, theme), page) >= 4.5
    for name in SERIES:
        assert contrast(shade(name, theme), page) >= 3
        assert contrast(shade("ink", theme), shade(f"{name}/45", theme)) >= 4.5


def test_series_repeat_and_unknown_colours_are_refused() -> None:
    assert [series(i) for i in range(len(SERIES) + 1)] == [*SERIES, SERIES[0]]
    picture = Picture(1, 1, "")
    picture.rect(0, 0, 1, 1, "pink")
    with pytest.raises(KeyError, match="pink"):
        str(picture)


def test_arrows_end_in_tips() -> None:
    picture = Picture(100, 100, "")
    picture.arrow((10, 10), (50, 10))
    picture.arrow((10, 10), (10, 50))
    paths = re.findall(r'<path d="([^"]*)"', str(picture))
    assert paths == [
        "M 10 10 L 50 10 M 44 6 L 50 10 L 44 14",
        "M 10 10 L 10 50 M 6 44 L 10 50 L 14 44",
    ]


def test_overlaps_and_cut_texts_are_found() -> None:
    picture = Picture(100, 40, "")
    picture.text(5, 20, "first")
    picture.text(20, 22, "second")
    picture.text(90, 39, "outside")
    assert overlapping(str(picture)) == [("first", "second")]
    assert cut_off(str(picture)) == ["outside"]
