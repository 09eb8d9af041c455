"""Results that are found by the identity of an attribute."""

from glow.glow_dialects import identity_cache
from glow.glow_dialects.identity_cache import cached_by_identity
from xdsl.dialects.builtin import VectorType, f32


def test_equal_attributes_are_computed_once():
    seen: list[tuple[VectorType, int]] = []

    @cached_by_identity
    def lanes(t: VectorType, factor: int) -> int:
        seen.append((t, factor))
        return t.get_shape()[0] * factor

    first, second = VectorType(f32, [8]), VectorType(f32, [8])
    assert first is not second
    assert [lanes(first, 2), lanes(second, 2), lanes(first, 2)] == [16, 16, 16]
    assert lanes(first, 3) == 24
    assert seen == [(first, 2), (first, 3)]


def test_an_identity_that_is_used_again_is_another_attribute(monkeypatch):
    monkeypatch.setattr(identity_cache, "LARGEST", 4)

    @cached_by_identity
    def lanes(t: VectorType) -> int:
        return t.get_shape()[0]

    # Python gives the memory of attributes that nothing holds to those that follow
    assert [lanes(VectorType(f32, [i])) for i in range(1, 100)] == list(range(1, 100))
