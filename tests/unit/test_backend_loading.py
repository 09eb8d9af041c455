"""Backends of other packages that cannot be loaded, are incomplete, or cannot be constructed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import glow
import pytest
from glow.errors import GlowError
from glow.interface.backend import backend_names, find_backend, option_owners
from glow.universe import multiverse
from xdsl.universe import Universe

GRAPH = """
    func.func @main(%x: tensor<7xf32> {glow.name = "x"}) -> (tensor<7xf32> {glow.name = "y"}) {
      %y = glow.relu %x : (tensor<7xf32>) -> tensor<7xf32>
      func.return %y : tensor<7xf32>
    }"""

CODE = """
from glow.runtime.interpreter_backend import InterpreterBackend
from glow.interface.backend import Backend

class Complete(InterpreterBackend):
    name = "complete"

class Named(InterpreterBackend):
    name = "other"

class Lacking(Backend):
    name = "lacking"

    def claims(self):
        return []

class NoBackend:
    name = "nobackend"

class Offline(InterpreterBackend):
    name = "offline"

    def __init__(self, threads=1, cache=True, tiles=4):
        raise OSError("no device at /dev/npu0")

class Needy(InterpreterBackend):
    name = "needy"

    def __init__(self, config, threads=1, cache=True):
        pass
"""

CASES = {
    "complete": ("package_of_a_maker:Complete", None),
    "named": ("package_of_a_maker:Named", "the backend named, .*:Named, has the name 'other'"),
    "lacking": ("package_of_a_maker:Lacking", "backend lacking, .*:Lacking, lacks compile, stages"),
    "nobackend": ("package_of_a_maker:NoBackend", "is no class derived from glow.*Backend"),
    "offline": ("package_of_a_maker:Offline", "construct the backend offline: OSError: no device"),
    "needy": ("package_of_a_maker:Needy", "construct the backend needy: .*argument: 'config'"),
    "nomodule": ("no_such_module:X", "load the backend nomodule from no_such_module:X: ModuleNot"),
    "noclass": ("package_of_a_maker:X", "load the backend noclass from .*: AttributeError"),
    "wrongcode": ("wrong_code:X", "load the backend wrongcode from wrong_code:X: SyntaxError"),
}
"""The entry point of each backend, and the error that a search for it raises."""


def write_package(folder: Path, group: str, entries: dict[str, str]) -> None:
    """Writes the metadata of an installed package with entry points."""
    metadata = folder / "maker-0.1.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: maker\nVersion: 0.1\n")
    lines = [f"[{group}]", *(f"{name} = {value}" for name, value in entries.items())]
    (metadata / "entry_points.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture
def maker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Installs a package beside this one, with all backends of the table."""
    write_package(tmp_path, "glow.backends", {name: entry for name, (entry, _) in CASES.items()})
    (tmp_path / "package_of_a_maker.py").write_text(CODE)
    (tmp_path / "wrong_code.py").write_text("def (\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield
    monkeypatch.undo()


@pytest.mark.usefixtures("maker")
@pytest.mark.parametrize("name", sorted(CASES))
def test_what_a_search_for_a_backend_says(name: str) -> None:
    _, message = CASES[name]
    assert name in backend_names()
    if message is None:
        assert find_backend(name).name == name
        return
    for search in (find_backend, compile_for):
        expect_error(search, name, message)


def compile_for(backend: str) -> object:
    return glow.compile(GRAPH, backend=backend)


def expect_error(search: Callable[[str], object], name: str, message: str) -> None:
    with pytest.raises(GlowError, match=message):
        search(name)


@pytest.mark.usefixtures("maker")
def test_backends_that_cannot_be_loaded_do_not_disturb_others() -> None:
    assert option_owners(["tiles"]) == ["offline"]
    with pytest.raises(GlowError, match=r"tiles is an option of the backend offline; .* is cpu"):
        find_backend("cpu", tiles=3)
    with pytest.raises(GlowError, match="there is no option 'nothing'"):
        find_backend("cpu", nothing=3)


def test_dialects_that_cannot_be_loaded_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package(tmp_path, "xdsl.universe", {"maker": "no_such_module:UNIVERSE"})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(GlowError, match="passes maker from no_such_module:UNIVERSE: ModuleNot"):
        multiverse()


def test_other_errors_of_the_search_for_dialects_are_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search() -> Universe:
        raise OSError("the folder is gone")

    monkeypatch.setattr(Universe, "get_multiverse", search)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(OSError, match="the folder is gone"):
        multiverse()
