"""Programs on teams of threads."""

from __future__ import annotations

import faulthandler
import os
import signal
import time
from collections.abc import Callable

import glow
import numpy as np
from glow.context import make_context
from glow.lowering.llvm.translate import translate_module
from glow.lowering.target import host_target
from glow.lowering.threads import llvm_text
from glow.runtime.jit import Executable, compile_object
from glow.tests.support.kernels import convert
from glow.tests.support.seeds import numbered
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

GRAPH = """
func.func @main(%x: tensor<1x8x33x31xf32> {glow.name = "x"}, %w: tensor<20x8x3x3xf32>,
                %b: tensor<20xf32>) -> (tensor<1x20x33x31xf32> {glow.name = "y"}) {
  %c = glow.convolution %x, %w, %b pads [1, 1, 1, 1]
      : (tensor<1x8x33x31xf32>, tensor<20x8x3x3xf32>, tensor<20xf32>)
      -> tensor<1x20x33x31xf32>
  %s = glow.softmax %c axis 1 : (tensor<1x20x33x31xf32>) -> tensor<1x20x33x31xf32>
  %y = glow.add %s, %c : (tensor<1x20x33x31xf32>, tensor<1x20x33x31xf32>)
      -> tensor<1x20x33x31xf32>
  func.return %y : tensor<1x20x33x31xf32>
}
"""


BARRIERS = """
func.func private @glow_barrier(!llvm.ptr, index)
func.func @main(%thread: index, %team: !llvm.ptr, %counts: memref<64xi64>, %wrong: memref<64xi64>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %single = arith.constant 1 : i64
  %rounds = arith.constant ROUNDS : index
  %threads = arith.constant THREADS : index
  scf.for %i = %zero to %rounds step %one {
    %before = memref.load %counts[%thread] : memref<64xi64>
    %mine = arith.addi %before, %single : i64
    memref.store %mine, %counts[%thread] : memref<64xi64>
    func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
    scf.for %t = %zero to %threads step %one {
      %other = memref.load %counts[%t] : memref<64xi64>
      %differs = arith.cmpi ne, %other, %mine : i64
      scf.if %differs {
        memref.store %single, %wrong[%thread] : memref<64xi64>
      }
    }
    func.call @glow_barrier(%team, %thread) : (!llvm.ptr, index) -> ()
  }
  func.return
}
"""


def graph() -> ModuleOp:
    return Parser(make_context(), GRAPH).parse_module()


def inputs(seed: int) -> list[np.ndarray]:
    rng = numbered(seed)
    shapes = [(1, 8, 33, 31), (20, 8, 3, 3), (20,)]
    return [rng.standard_normal(s, dtype=np.float32) for s in shapes]


def check_same(model: glow.CompiledModel, single: glow.CompiledModel, seed: int) -> None:
    arrays = inputs(seed)
    np.testing.assert_array_equal(model(*arrays)[0], single(*arrays)[0])


def in_child(work: Callable[[], bool]) -> bool:
    """
    Returns whether `work` returns True in a forked child, within three minutes. One that does not
    end says where it is.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            # to standard error, whatever takes its place
            faulthandler.dump_traceback_later(170, file=2)
            status = 0 if work() else 2
        finally:
            os._exit(status)
    deadline = time.monotonic() + 180
    while time.monotonic() < deadline:
        found, status = os.waitpid(child, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def executable_of(text: str) -> Executable:
    target = host_target()
    texts = [translate_module(convert(text)), llvm_text(target.triple)]
    return Executable([compile_object(t, target) for t in texts], "glow_main", target)
