"""The package as users install it: what the wheel holds, and that it works elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
FOLDERS = (
    *(
        "benchmarks",
        "frontend",
        "glow_dialects",
        "interface",
        "lowering",
        "models",
        "nn",
        "passes",
        "quantization",
        "runtime",
    ),
    *("semantics", "tools", "training", "tuning"),
)
"""The folders of the root that belong to the package."""


def packages() -> list[str]:
    """Returns the packages that the folders hold."""
    inits = [p for folder in FOLDERS for p in (ROOT / folder).rglob("__init__.py")]
    return ["glow", *sorted(".".join(["glow", *p.parent.relative_to(ROOT).parts]) for p in inits)]


def test_all_packages_are_listed() -> None:
    assert sorted(PROJECT["tool"]["setuptools"]["packages"]) == packages()


def test_every_folder_of_the_package_is_a_package() -> None:
    for folder in FOLDERS:
        for file in (ROOT / folder).rglob("*.py"):
            assert (file.parent / "__init__.py").is_file(), f"{file.parent} lacks __init__.py"


def test_no_folder_of_the_package_is_forgotten() -> None:
    apart = {"tests", "docs", "examples", "build", "dist"}
    found = {p.parent.name for p in ROOT.glob("*/__init__.py")} - apart
    assert found == set(FOLDERS)


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    # what pytest and the repository put into the environment must not help
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}
    found = subprocess.run(
        command,
        cwd=cwd,
        env={**clean, **environment},
        capture_output=True,
        text=True,
        timeout=900,
        stdin=subprocess.DEVNULL,
    )
    assert found.returncode == 0, f"{command}\n{found.stdout}{found.stderr}"
    return found.stdout


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """
    Returns the Python of an environment that has a copy of the package, as `pip install .` makes
    one, and what the package needs from the environment of the tests.
    """
    environment = tmp_path / "environment"
    venv.create(environment)
    script = "import sysconfig; print(sysconfig.get_path('purelib'))"
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    packages_of = Path(run(python, "-c", script, cwd=tmp_path).strip())
    # the line adds a folder, but not what editable installs have in .pth files there
    (packages_of / "needed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    for package in PROJECT["tool"]["setuptools"]["packages"]:
        folder = Path(*package.split(".")[1:])
        (packages_of / "glow" / folder).mkdir(parents=True)
        for file in (ROOT / folder).glob("*.py"):
            shutil.copy(file, packages_of / "glow" / folder)
    return python


def documented_benchmarks() -> list[str]:
    """
    Returns the programs that docs/benchmarks.md says how to run, without those in packages of their
    own, which need PyTorch.
    """
    text = (ROOT / "docs" / "benchmarks.md").read_text()
    return re.findall(r"^python -m (glow\.benchmarks\.\w+)\s", text, re.MULTILINE)


HELP_OF_ALL = """
import contextlib, io, runpy, sys
names = sys.argv[1:]
for name in names:
    sys.argv = [name, "--help"]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_module(name, run_name="__main__")
    except SystemExit as end:
        assert end.code == 0, (name, end.code)
    assert "usage: " in printed.getvalue(), name
import glow.benchmarks
print(glow.benchmarks.__file__)
"""


def test_benchmarks_run_as_documented_after_an_install(installed: Path, tmp_path: Path) -> None:
    names = documented_benchmarks()
    assert len(set(names)) >= 7
    place = run(installed, "-c", HELP_OF_ALL, *names, cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(tmp_path)
    digits = ROOT / "examples" / "digits" / "digits.onnx"
    small = ["--runtimes", "glow", "--rounds", "1", "--threads", "1", "--repeat", "1"]
    command = [installed, "-m", "glow.benchmarks.run", digits, *small, "--models", "networks"]
    assert "digits" in run(*command, cwd=tmp_path)


def test_documents_name_no_benchmark_that_a_clone_alone_has() -> None:
    for document in (ROOT / "README.md", ROOT / "Makefile", *(ROOT / "docs").glob("*.md")):
        assert not re.search(r"python3? benchmarks/", document.read_text()), document


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a wheel built from a copy of the tracked files, as a fresh clone has them."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a git repository")
    for name in filter(None, listed.stdout.split("\0")):
        if not (ROOT / name).is_file():
            continue
        target = source / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / name).read_bytes())
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps"]
    run(*pip, "-w", folder, source, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "glow/py.typed" in names
    assert "glow/tools/glow_opt.py" in names
    tops = {name.split("/")[0] for name in names}
    (info,) = [top for top in tops if top.endswith(".dist-info")]
    assert tops == {"glow", info}
    apart = ("tests", "docs", "examples", "build")
    assert not [n for n in names if n.split("/")[1] in apart]
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_wheel_works_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment)
    bin = environment / ("Scripts" if os.name == "nt" else "bin")
    # a second pip, and bytecode of modules that nothing imports, cost seconds
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", bin / "python"]
    run(*pip, "install", "--quiet", "--no-compile", wheel, cwd=tmp_path)
    place = run(bin / "python", "-c", "import glow; print(glow.__file__)", cwd=tmp_path)
    assert Path(place.strip()).is_relative_to(environment)
    assert "glow-opt" in run(bin / "glow-opt", "--version", cwd=tmp_path)

    program = tmp_path / "in.mlir"
    program.write_text(
        "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
        "  %y = glow.relu %x : (tensor<2xf32>) -> tensor<2xf32>\n"
        "  func.return %y : tensor<2xf32>\n"
        "}\n"
    )
    assert "glow.relu" in run(bin / "glow-opt", "--lower-nodes", program, cwd=tmp_path)

    digits = ROOT / "examples" / "digits"
    (image,) = (digits / "images").glob("*_is_7.png")
    cache = {"GLOW_CACHE_DIR": str(tmp_path / "cache")}
    command = [bin / "glow-run", digits / "digits.onnx", "--input", image, "--top-k", "1"]
    printed = run(*command, "--compare", "interpreter", cwd=tmp_path, **cache)
    assert "│     7 │" in printed or " 7 " in printed
