"""
Conversions of f16 and bf16 for processors that have no instruction for them.

LLVM calls functions of the compiler's runtime library for these, which no shared library provides
everywhere, so they are part of each program that may call them. They are weak, because a program
that is linked elsewhere may have them. Generated code rounds to bf16 with integer arithmetic, but
where LLVM sees that a vector of bf16 is constant, it may call as well. Numbers of 64 bits reach f16
and bf16 through f32 (see `lowering.llvm.rounding`), so no other function is needed;
tests/unit/runtime/test_symbols.py looks at what object code calls.
"""

from __future__ import annotations

from ..lowering.target import Target

F16 = """
define weak float @__extendhfsf2(half %x) {
  %h = bitcast half %x to i16
  %bits = zext i16 %h to i32
  %sign = and i32 %bits, 32768
  %sign_f32 = shl i32 %sign, 16
  %magnitude = and i32 %bits, 32767
  %shifted = shl i32 %magnitude, 13
  ; exponents differ by 112 in their bias; the product normalises subnormal numbers
  %small = bitcast i32 %shifted to float
  %scaled = fmul float %small, 0x46F0000000000000
  %finite = bitcast float %scaled to i32
  %special = or i32 %shifted, 2139095040
  %is_special = icmp uge i32 %shifted, 260046848
  %value = select i1 %is_special, i32 %special, i32 %finite
  %all = or i32 %value, %sign_f32
  %y = bitcast i32 %all to float
  ret float %y
}

define weak half @__truncsfhf2(float %x) {
  %bits = bitcast float %x to i32
  %high = lshr i32 %bits, 16
  %sign = and i32 %high, 32768
  %a = and i32 %bits, 2147483647
  ; normal numbers: to the nearest of the shorter mantissas, ties to even
  %rebased = sub i32 %a, 939524096
  %last = lshr i32 %rebased, 13
  %odd = and i32 %last, 1
  %half = add i32 %odd, 4095
  %rounded = add i32 %rebased, %half
  %normal = lshr i32 %rounded, 13
  ; subnormal numbers: the sum with 1/2 has the unit of subnormal f16
  %size = bitcast i32 %a to float
  %sum = fadd float %size, 5.0e-1
  %sum_bits = bitcast float %sum to i32
  %subnormal = sub i32 %sum_bits, 1056964608
  %is_normal = icmp uge i32 %a, 947912704
  %finite = select i1 %is_normal, i32 %normal, i32 %subnormal
  %is_large = icmp uge i32 %a, 1199566848
  %bounded = select i1 %is_large, i32 31744, i32 %finite
  %payload = lshr i32 %a, 13
  %low_payload = and i32 %payload, 1023
  %nan = or i32 %low_payload, 32256
  %is_nan = icmp ugt i32 %a, 2139095040
  %value = select i1 %is_nan, i32 %nan, i32 %bounded
  %all = or i32 %value, %sign
  %cut = trunc i32 %all to i16
  %y = bitcast i16 %cut to half
  ret half %y
}
"""

BF16 = """
define weak bfloat @__truncsfbf2(float %x) {
  %bits = bitcast float %x to i32
  %kept = lshr i32 %bits, 16
  %odd = and i32 %kept, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %kept, 64
  %is_nan = fcmp uno float %x, %x
  %all = select i1 %is_nan, i32 %quiet, i32 %rounded
  %cut = trunc i32 %all to i16
  %y = bitcast i16 %cut to bfloat
  ret bfloat %y
}
"""


def half_conversions(target: Target) -> str | None:
    """Returns LLVM IR of conversions of 16-bit floats, if code for the target may call them."""
    if target.architecture != "x86_64":
        return None
    features = target.feature_set()
    text = "" if features.get("f16c") else F16
    if not features.get("avx512bf16"):
        text += BF16
    return text or None
