"""|difference|^b in single precision, written so that the compiler can vectorize it.

b = 0.5 uses the processor's square root, and Newton's method in every fourth row. b = 1 and b = 2 need no power
function. b = 1/3 uses a Newton iteration without division. Any other b > 0 uses polynomials for the base-two logarithm
and exponential. Every multiplication followed by an addition is an explicit fused multiply-add, so that the vectorized
part of a loop and its scalar remainder give identical bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from subcast.errors import InputError

ROOT, PLAIN, SQUARE, CUBE_ROOT, GENERAL = range(5)

_ONE = np.float32(1)
_LARGEST = np.float32(np.finfo(np.float32).max)
_SMALLEST = np.float32(np.finfo(np.float32).tiny)


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with numba: without fastmath (NaN stays NaN), without the GIL, cached on disk."""
    options = {"nogil": True, "error_model": "numpy"}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
    except RuntimeError:  # numba found no writable folder for its cache
        return cast(Callable[..., Any], numba.njit(**options)(function))
    # numba only checks whether the function's own file changed, but these functions are inlined across files
    cache_file: Any = getattr(getattr(dispatcher, "_cache", None), "_cache_file", None)
    if hasattr(cache_file, "_source_stamp"):
        cache_file._source_stamp = (cache_file._source_stamp, _sources_stamp())
    return cast(Callable[..., Any], dispatcher)


@cache
def _sources_stamp() -> str:
    """Return a digest of all source files of this folder."""
    digest = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def inlined(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function of a few scalars that numba inlines into the loops that call it."""
    return cast(Callable[..., Any], numba.njit(inline="always", error_model="numpy")(function))


def _intrinsic(function: Callable[..., Any]) -> Callable[..., Any]:
    return cast(Callable[..., Any], intrinsic(function))


_INT, _FLOAT = ir.IntType(32), ir.FloatType()


def _whole(value: int) -> ir.Constant:
    return ir.Constant(_INT, value)


# Integer operations are written in 32 bits: numba would use 64 bits, which halves the vector width.


@_intrinsic
def _exponent(typingctx: Any, d: Any) -> Any:
    """Return e, where d = 2^e * m and m lies in [sqrt(1/2), sqrt(2))."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], _INT)
        e = builder.ashr(builder.sub(bits, _whole(0x3F3504F3)), _whole(23))
        return builder.sitofp(e, _FLOAT)

    return types.float32(types.float32), build


@_intrinsic
def _mantissa(typingctx: Any, d: Any) -> Any:
    """Return m, where d = 2^e * m and m lies in [sqrt(1/2), sqrt(2))."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.bitcast(args[0], _INT)
        e = builder.ashr(builder.sub(bits, _whole(0x3F3504F3)), _whole(23))
        return builder.bitcast(builder.sub(bits, builder.shl(e, _whole(23))), _FLOAT)

    return types.float32(types.float32), build


@_intrinsic
def _two_to(typingctx: Any, n: Any) -> Any:
    """Return 2^n for a whole number n in [-127, 128]; the two ends give 0 and infinity."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        biased = builder.add(builder.fptosi(args[0], _INT), _whole(127))
        return builder.bitcast(builder.shl(biased, _whole(23)), _FLOAT)

    return types.float32(types.float32), build


@_intrinsic
def _inverse_cube_root_guess(typingctx: Any, d: Any) -> Any:
    """Return d^(-1/3) with an error of about 4 %, by dividing the exponent by three."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        bits = builder.sitofp(builder.bitcast(args[0], _INT), _FLOAT)
        third = builder.fptosi(builder.fmul(bits, ir.Constant(_FLOAT, float(np.float32(1 / 3)))), _INT)
        return builder.bitcast(builder.sub(_whole(0x54A21D2A), third), _FLOAT)

    return types.float32(types.float32), build


@_intrinsic
def _fused(typingctx: Any, a: Any, b: Any, c: Any) -> Any:
    """Compute a * b + c with a single rounding."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.fma(*args)

    return types.float32(types.float32, types.float32, types.float32), build


@_intrinsic
def _inverse_root_guess(typingctx: Any, d: Any) -> Any:
    """Return a first approximation of d^(-1/2), by halving the exponent."""

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        half = builder.lshr(builder.bitcast(args[0], _INT), _whole(1))
        return builder.bitcast(builder.sub(_whole(0x5F1FFFF9), half), _FLOAT)

    return types.float32(types.float32), build


@inlined
def newton_root(d: Any) -> Any:
    """Return the square root of d >= 0 by Newton's method, without the processor's square root instruction.

    The result differs from the correctly rounded root for 40 of the 2^24 values in [1, 4), by one unit in the last
    place.
    """
    y = _inverse_root_guess(d)
    y = y * _fused(-d, y * y, np.float32(2.38924456))
    root = d * np.float32(0.703952253) * y
    half = y * np.float32(0.3519761265)  # 1 / (2 root)
    rest = _fused(-root, half, np.float32(0.5))
    root = _fused(root, rest, root)
    half = _fused(half, rest, half)
    return _fused(_fused(-root, root, d), half, root)


@inlined
def cube_root(d: Any) -> Any:
    """Return d^(1/3) for d >= 0 with an error of about two units in the last place; 0 for d below 1.2e-38."""
    r = _inverse_cube_root_guess(d)
    third = np.float32(1 / 3)
    for _ in range(3):
        rest = _fused(-d * r, r * r, _ONE)
        r = _fused(r * third, rest, r)
    root = d * r * r
    error = _fused(-root * root, root, d)
    root = _fused(error * third, r * r, root)
    return root if d >= _SMALLEST else np.float32(0)


@inlined
def general_power(d: Any, b: Any, high: Any, low: Any) -> Any:
    """Return d^b for d >= 0 and b = high + low > 0; `high` has few bits, so that high * exponent is exact."""
    exponent = _exponent(d)
    f = _mantissa(d) - _ONE
    # log2(1 + f) / f as a polynomial in Estrin's scheme: its products do not depend on one another
    f2 = f * f
    f4 = f2 * f2
    p01 = _fused(np.float32(-0.721347451210022), f, np.float32(1.4426950216293335))
    p23 = _fused(np.float32(-0.3606932759284973), f, np.float32(0.4809107482433319))
    p45 = _fused(np.float32(-0.2391698807477951), f, np.float32(0.2879032492637634))
    p67 = _fused(np.float32(-0.2058618813753128), f, np.float32(0.21607822179794312))
    p47 = _fused(p67, f2, p45)
    p48 = _fused(np.float32(0.12310968339443207), f4, p47)
    p = _fused(p48, f4, _fused(p23, f2, p01))
    whole = high * exponent
    rest = _fused(b, p * f, low * exponent)
    # adding and subtracting 1.5 * 2^23 rounds to the nearest integer
    n = (whole + rest + np.float32(12582912.0)) - np.float32(12582912.0)
    z = (whole - n) + rest
    # 2^z as a polynomial
    z2 = z * z
    s01 = _fused(np.float32(0.6931471824645996), z, _ONE)
    s23 = _fused(np.float32(0.05550327152013779), z, np.float32(0.24022650718688965))
    s45 = _fused(np.float32(0.0013400427997112274), z, np.float32(0.009618056938052177))
    s46 = _fused(np.float32(0.00015461444854736328), z2, s45)
    s = _fused(_fused(s46, z2, s23), z2, s01)
    n = min(max(n, np.float32(-127)), np.float32(128))
    value = s * _two_to(n)
    return value if d >= _SMALLEST else np.float32(0)


def power_of(exponent: float) -> tuple[int, NDArray[np.float32]]:
    """Return the mode of the kernels for an exponent, and its parameters (b, high part, low part).

    >>> power_of(0.5)[0] == ROOT, power_of(1 / 3)[0] == CUBE_ROOT, power_of(0.33)[0] == GENERAL
    (True, True, True)
    """
    try:
        b = float(exponent)
    except (TypeError, ValueError):
        raise InputError(f"exponent must be a finite number above 0, got {exponent!r}") from None
    if not 0 < b < float("inf"):
        raise InputError(f"exponent must be a finite number above 0, got {exponent!r}")
    fixed = {0.5: ROOT, 1.0: PLAIN, 2.0: SQUARE}
    mode = CUBE_ROOT if abs(b - 1 / 3) < 1e-9 else fixed.get(b, GENERAL)
    high = np.float32(b).view(np.int32) & np.int32(-(1 << 12))
    high = high.view(np.float32)
    return mode, np.array([b, high, b - float(high)], dtype=np.float32)
