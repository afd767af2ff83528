"""A hint to the processor: fetch a cell of an array that will be read soon."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

_BYTE, _INT = ir.IntType(8).as_pointer(), ir.IntType(32)
_FOR_READING, _KEEP, _DATA = _INT(0), _INT(3), _INT(1)


def _prefetch(typingctx: Any, array: Any, place: Any) -> Any:
    """Fetch the cell of a row of numbers into the cache, without waiting for it; nothing else happens.

    Rows of a table that are visited in no order are mostly waited for. `place` is not checked.
    """

    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, args[0]).data
        address = builder.bitcast(builder.gep(data, [args[1]]), _BYTE)
        kind = ir.FunctionType(ir.VoidType(), [_BYTE, _INT, _INT, _INT])
        hint = builder.module.declare_intrinsic("llvm.prefetch", (_BYTE,), kind)
        builder.call(hint, [address, _FOR_READING, _KEEP, _DATA])
        return context.get_dummy_value()

    return types.void(array, types.int64), build


prefetch: Any = intrinsic(_prefetch)
