"""
FileCheck tests: `lit tests/lit`.

The tools (`glow-opt`, `filecheck`, ...) are those of the Python environment that runs lit.
"""
# lit defines `config` and `lit_config`
# ruff: noqa: F821
# pyright: reportUndefinedVariable=false

import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import lit.formats

config.name = "glow"
config.test_format = lit.formats.ShTest()
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = lit_config.params.get("output") or tempfile.mkdtemp(prefix="glow-lit-")

# not resolved: the directory of a virtual environment's link, not of the Python it points to
tools = str(Path(sys.executable).absolute().parent)
config.environment["PATH"] = os.pathsep.join([tools, os.environ.get("PATH", "")])
if find_spec("psutil"):
    # a test that hangs fails, instead of the whole run
    config.maxIndividualTestTime = 300
