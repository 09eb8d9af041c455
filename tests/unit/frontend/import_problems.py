"""The problems of models that cannot be imported."""

from __future__ import annotations

import pytest
from glow.errors import UnsupportedError
from glow.frontend.onnx import import_onnx
from onnx import ModelProto


def problems(made: ModelProto) -> list[str]:
    with pytest.raises(UnsupportedError) as error:
        import_onnx(made)
    return [line.strip() for line in str(error.value).splitlines()[1:]]
