"""Code of one function is generated while the next one is lowered."""

from __future__ import annotations

import io
import subprocess
import sys
import threading
import weakref

import glow
import numpy as np
import pytest
from glow.lowering.llvm.translate import translate_functions
from glow.passes.collector import collect_young, without_garbage_collection
from glow.runtime import segment_file
from glow.runtime.cpu_backend import CpuBackend
from glow.runtime.cpu_compilation import functions_of_objects
from glow.runtime.gil_switch import SECONDS, short_gil_switch
from glow.runtime.segment_file import PAGE, map_segment, write_segment
from glow.runtime.stages import Stages
from glow.tests.support.small_models import small_network
from xdsl.dialects.builtin import ModuleOp


def texts(module: ModuleOp) -> list[str]:
    return [translate_functions(functions) for functions in functions_of_objects(module)]


@pytest.mark.parametrize("threads", [1, 2])
def test_functions_by_themselves_are_those_of_the_whole_stage(threads: int):
    module = glow.compile(small_network(3), symbols={"batch": 2}).stages["imported"]
    stages = Stages(module, CpuBackend(threads=threads).stages())
    parts = [text for part in stages.by_function("llvm") for text in texts(part)]
    assert parts == texts(stages["llvm"])
    assert any("@glow_main" in text for text in parts)
    assert any("define internal" in text for text in parts)
    # the nests of all kernels are made first, and the rest for one after the other
    streamed = [name for name in stages if name in ("scheduled", "divided", "kernels", "llvm")]
    assert all(stages.times[name] > 0 for name in ("nests", *streamed))
    assert len(parts) == stages.functions


def test_a_part_is_collected_when_its_user_is_done_with_it():
    module = glow.compile(small_network(3), symbols={"batch": 2}).stages["imported"]
    stages = Stages(module, CpuBackend().stages())
    functions: list[weakref.ref[ModuleOp]] = []
    with without_garbage_collection():
        for part in stages.by_function("llvm"):
            functions.append(weakref.ref(part))
            del part
            collect_young()
            assert functions[-1]() is None
    assert len(functions) == stages.functions


_SETTLED = """
import gc
from glow.passes.collector import collect_young, settle
class Node: pass
gc.disable()
old = Node()
old.itself = old
settle()
assert gc.get_freeze_count() == 0
del old
collect_young()  # does not look at what is old
assert any(type(o) is Node for o in gc.get_objects())
gc.collect()
assert not any(type(o) is Node for o in gc.get_objects())
gc.freeze()
frozen = gc.get_freeze_count()
for _ in range(2):
    settle()
    assert gc.get_freeze_count() == frozen  # what the process froze itself
"""


def test_settled_objects_are_left_to_whole_collections():
    # in a process of its own, because it changes the ages of all objects
    subprocess.run([sys.executable, "-c", _SETTLED], check=True)


@pytest.mark.parametrize("option", ["timed", "reports", "sanitize"])
def test_passes_on_whole_programs_are_not_streamed(option: str):
    stages = CpuBackend(**{option: True}).stages()
    whole = [s.name for s in stages if s.bulky and not s.by_function]
    assert whole == ["nests", "kernels"]


def test_the_lock_is_passed_on_soon_until_the_last_user_is_gone():
    usual = sys.getswitchinterval()
    inside = threading.Event()
    done = threading.Event()

    def other() -> None:
        with short_gil_switch():
            inside.set()
            done.wait()

    thread = threading.Thread(target=other)
    with short_gil_switch():
        thread.start()
        inside.wait()
        assert sys.getswitchinterval() == pytest.approx(SECONDS)
    assert sys.getswitchinterval() == pytest.approx(SECONDS)
    done.set()
    thread.join()
    assert sys.getswitchinterval() == pytest.approx(usual)
    with pytest.raises(KeyError), short_gil_switch():
        raise KeyError
    assert sys.getswitchinterval() == pytest.approx(usual)


@pytest.mark.parametrize("advice", ["known", "unknown"])
def test_segments_are_written_and_read_back(
    advice: str, tmp_path, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
):
    if advice == "unknown":  # as for an older kernel, which has to answer with an error
        monkeypatch.setattr(segment_file, "_MADV_POPULATE_READ", 9999)
    data = rng.integers(0, 256, 3 * PAGE + 17).astype(np.uint8)
    file = io.BytesIO()
    write_segment(file, data.data)
    path = tmp_path / "segment"
    path.write_bytes(file.getvalue())
    mapped = map_segment(path, data.size, tmp_path / "record")
    assert mapped is not None
    np.testing.assert_array_equal(np.frombuffer(mapped, np.uint8)[PAGE:], data)
