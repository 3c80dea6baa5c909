"""MessagePack, as much of it as the sidecar speaks: nil, bool, int, str, bin, array, and map with str as keys.

The package has a codec of its own, so that it depends on nothing: msgpack-python is a C extension, whose
versions take different arguments, and which an application may have pinned. This one refuses the rest.
"""
import struct
from typing import Any

DEPTH_MAX = 16

_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_KINDS = (bytes, bytes, bytes, int, int, int, int, int, int, int, int, str, str, str, list, list, dict, dict)
_FIRST = (0xC4, 0xC5, 0xC6, *range(0xCC, 0xD4), *range(0xD9, 0xE0))
# First byte: how the number that follows is read, a length or the value itself, and of what it is.
_FORMS = {first: (struct.Struct(">" + code), kind) for first, code, kind in zip(_FIRST, "BHIBHIQbhiqBHIHIHI", _KINDS)}


class Incomplete(Exception):
    """The object goes on behind the end of the buffer."""


def pack(value: Any) -> bytes:
    """The bytes of an object."""
    out = bytearray()
    _pack(out, value)
    return bytes(out)


def _pack(out: bytearray, value: Any) -> None:
    if value is None or value is True or value is False:
        out.append(0xC0 if value is None else 0xC3 if value else 0xC2)
    elif isinstance(value, int):
        if -32 <= value < 128:
            out.append(value & 0xFF)
        else:
            out += struct.pack(">BQ", 0xCF, value) if value > 0 else struct.pack(">Bq", 0xD3, value)
    elif isinstance(value, str):
        data = value.encode()
        _pack_length(out, len(data), 0xA0, 32, 0xD9)
        out += data
    elif isinstance(value, bytes):
        _pack_length(out, len(value), 0, 0, 0xC4)
        out += value
    elif isinstance(value, (list, tuple)):
        _pack_length(out, len(value), 0x90, 16, 0xDB)  # there is no form with 8 bits
        for item in value:
            _pack(out, item)
    elif isinstance(value, dict):
        _pack_length(out, len(value), 0x80, 16, 0xDD)
        for key, item in value.items():
            _pack(out, key)
            _pack(out, item)
    else:
        raise TypeError(f"MessagePack has no {type(value).__name__}")


def _pack_length(out: bytearray, n: int, fix: int, limit: int, form: int) -> None:
    if n < limit:
        out.append(fix | n)
    elif n < 1 << 8 and form in (0xC4, 0xD9):
        out += struct.pack(">BB", form, n)
    else:
        out += struct.pack(">BH", form + 1, n) if n < 1 << 16 else struct.pack(">BI", form + 2, n)


def unpack(data: bytes, at: int = 0) -> tuple[Any, int]:
    """The object that begins there, and where it ends. Incomplete, or ValueError for what is none."""
    try:
        return _unpack(data, at, 0)
    except (IndexError, struct.error):
        raise Incomplete() from None


def _unpack(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    first = data[at]
    at += 1
    kind: Any
    if first < 0x80 or first >= 0xE0:
        return (first if first < 0x80 else first - 256), at
    if first < 0xC0:  # a length of up to 31 in the byte itself
        kind, n = (dict, first & 15) if first < 0x90 else (list, first & 15) if first < 0xA0 else (str, first & 31)
    elif first in _CONSTANTS:
        return _CONSTANTS[first], at
    elif first in _FORMS:
        form, kind = _FORMS[first]
        n, at = form.unpack_from(data, at)[0], at + form.size
        if kind is int:
            return n, at
    else:
        raise ValueError(f"a type that is not used here, {first:#x}")
    if kind is str or kind is bytes:
        end = at + n
        if end > len(data):
            raise Incomplete()
        return (data[at:end].decode() if kind is str else data[at:end]), end
    if depth >= DEPTH_MAX:
        raise ValueError("nested too deeply")
    return _map(data, at, n, depth + 1) if kind is dict else _array(data, at, n, depth + 1)


def _array(data: bytes, at: int, n: int, depth: int) -> tuple[Any, int]:
    items = []
    for _ in range(n):
        item, at = _unpack(data, at, depth)
        items.append(item)
    return items, at


def _map(data: bytes, at: int, n: int, depth: int) -> tuple[Any, int]:
    items = {}
    for _ in range(n):
        pair = []
        for _ in range(2):
            first = data[at]
            end = at + (first & 31) + 1
            if 0xA0 <= first < 0xC0 and end <= len(data):  # short texts are most of what comes: without a call
                pair.append(data[at + 1:end].decode())
                at = end
            else:
                item, at = _unpack(data, at, depth)
                pair.append(item)
        if not isinstance(pair[0], str):
            raise ValueError("a key that is no text")
        items[pair[0]] = pair[1]
    return items, at
