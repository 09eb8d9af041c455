"""The end of the interpreter, and forks."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from glow import HostManager
from glow.tests.support.gates import SECONDS, gated_devices
from glow.tests.unit.host.networks import SINGLE, parse, row

START = """
import os, sys
import numpy as np
from glow import GlowError, HostManager
from glow.passes.partition.devices import Configuration, Device
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.interpreter_backend import InterpreterBackend

x = np.random.default_rng(int(sys.argv[2])).standard_normal((1, 7)).astype(np.float32)
def check(y):
    np.testing.assert_array_equal(y[0], x * np.float32(5))
    return True
"""

EXIT = """
devices = Configuration((
    Device("d0", CpuBackend(threads=2)), Device("d1", InterpreterBackend())
))
host = HostManager(devices, max_active=2, max_queue=1000)
host.add_network("a", sys.argv[1], devices=["d0"]).result()
host.add_network("b", sys.argv[1], devices=["d1"]).result()
done = []
def report(future):
    check(future.result())
    done.append(1)
    if len(done) == 100:
        print("all done", flush=True)
for i in range(100):
    host.run("ab"[i % 2], [x]).add_done_callback(report)
"""

FORK = """
host = HostManager("interpreter")
host.add_network("a", sys.argv[1]).result()
child = os.fork()
if not child:
    try:
        host.run("a", [x])
    except GlowError as error:
        assert "forked" in str(error)
        for use in (
            lambda: host.networks,
            lambda: host.statistics(),
            lambda: host.remove_network("a"),
            lambda: host.add_network("b", sys.argv[1]),
        ):
            try:
                use()
                os._exit(2)
            except GlowError as error:
                assert "forked" in str(error)
        host.shutdown()
        del host
        with HostManager("interpreter") as other:
            other.add_network("a", sys.argv[1]).result()
            check(other.run("a", [x]).result())
        sys.exit(7)  # with all that happens at the end of an interpreter
    os._exit(1)
_, status = os.waitpid(child, 0)
assert os.waitstatus_to_exitcode(status) == 7
check(host.run("a", [x]).result())
print("parent goes on", flush=True)
"""


def run(script: str, tmp_path: Path, seed: int) -> str:
    network = tmp_path / "network.mlir"
    network.write_text(SINGLE.replace("SCALE", "5.0"))
    command = [sys.executable, "-c", START + script, str(network), str(seed)]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stdout + found.stderr
    assert not found.stderr
    return found.stdout


def test_the_end_of_the_interpreter_finishes_requests(
    tmp_path: Path, rng: np.random.Generator
) -> None:
    assert run(EXIT, tmp_path, int(rng.integers(2**32))) == "all done\n"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the platform has no fork")
def test_a_forked_child_makes_its_own(tmp_path: Path, rng: np.random.Generator) -> None:
    assert run(FORK, tmp_path, int(rng.integers(2**32))) == "parent goes on\n"


def test_threads_end_with_the_host_manager() -> None:
    before = set(threading.enumerate())
    host = HostManager(gated_devices(3))
    host.add_network("single", parse(SINGLE)).result(SECONDS)
    assert host.run("single", [row()]).result(SECONDS)
    mine = set(threading.enumerate()) - before
    assert len(mine) == 4
    del host  # without a shutdown
    gc.collect()
    for thread in mine:
        thread.join(SECONDS)
    assert not any(thread.is_alive() for thread in mine)
