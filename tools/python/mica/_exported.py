"""Pipelines that `mica export --shared` or compile_to_library wrote, through the C interface of docs/export.md.

ctypes calls them, so that neither libmica nor a compiler is needed; it releases the interpreter's lock meanwhile.
"""

import ctypes
import os
import struct
from typing import Any, Optional, Sequence, Tuple, Union

from ._arrays import ArrayFacts, Place
from ._errors import DeviceError, UserError
from ._pipeline import Memory, Pipeline, Ranges, ScalarFacts

_ABI = 1
_MAX_DIMENSIONS = 6
_OK, _WRONG_ARGUMENT, _NO_MEMORY, _DEVICE_FAILED, _NOT_SERVED = range(5)
_HOST, _DEVICE = 0, 1
_WORDS = {0: "i", 1: "u", 2: "f", 4: "bf"}
_CODES = {word: code for code, word in _WORDS.items()}
_BOOL = 6
_FORMATS = {"bool": "?", "u8": "B", "i8": "b", "u16": "H", "i16": "h", "u32": "I", "i32": "i", "u64": "Q", "i64": "q",
            "f16": "e", "f32": "f", "f64": "d"}


class _Dimension(ctypes.Structure):
    _fields_ = [("min", ctypes.c_int64), ("extent", ctypes.c_int64), ("stride", ctypes.c_int64)]


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("dimensions", ctypes.c_int32), ("type_code", ctypes.c_uint8), ("type_bits", ctypes.c_uint8),
        ("memory", ctypes.c_uint8), ("reserved", ctypes.c_uint8), ("dim", _Dimension * _MAX_DIMENSIONS),
    ]


class _ArrayDescription(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p), ("dimensions", ctypes.c_int32), ("is_output", ctypes.c_int32),
        ("type_code", ctypes.c_uint8), ("type_bits", ctypes.c_uint8),
    ]


class _ScalarDescription(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_uint64), ("type_code", ctypes.c_uint8), ("type_bits", ctypes.c_uint8)]


class _Description(ctypes.Structure):
    _fields_ = [
        ("abi", ctypes.c_int32), ("array_count", ctypes.c_int32), ("scalar_count", ctypes.c_int32),
        ("mica_version", ctypes.c_char_p), ("name", ctypes.c_char_p), ("target", ctypes.c_char_p), ("code", ctypes.c_char_p),
        ("arrays", ctypes.POINTER(_ArrayDescription)), ("scalars", ctypes.POINTER(_ScalarDescription)),
    ]


def _word(code: int, bits: int) -> str:
    return "bool" if code == _BOOL else f"{_WORDS[code]}{bits}"


def _type_of(word: str) -> Tuple[int, int]:
    kind = word.rstrip("0123456789")
    return (_BOOL, 8) if word == "bool" else (_CODES[kind], int(word[len(kind):]))


def _value(word: str, bits: int) -> Any:
    """The number whose bytes are in the low end of `bits`."""
    if word == "bf16":
        return struct.unpack("<f", struct.pack("<I", (bits & 0xFFFF) << 16))[0]
    return struct.unpack_from("<" + _FORMATS[word], struct.pack("<Q", bits))[0]


class _Exported:
    """A Compiled (mica._pipeline) in a shared library."""

    def __init__(self, library: ctypes.CDLL, path: str, name: str):
        try:
            describe, self._call = getattr(library, f"{name}_describe"), getattr(library, f"{name}_call")
        except AttributeError:
            raise UserError(f"{path} has no pipeline called {name}: give name=, what `mica export --name` was given; without, "
                            "it is the file's name") from None
        describe.argtypes, describe.restype = [], ctypes.POINTER(_Description)
        self._call.argtypes = [ctypes.POINTER(ctypes.POINTER(_Buffer)), ctypes.POINTER(ctypes.c_void_p), ctypes.c_void_p,
                               ctypes.c_char_p, ctypes.c_size_t]
        self._call.restype = ctypes.c_int
        facts = describe().contents
        if facts.abi != _ABI:
            raise UserError(f"{path} was written with interface {facts.abi}, and this package knows {_ABI}: take the two of one version")
        self.name = facts.name.decode()
        target = facts.target.decode()
        self.place = Place(target, 0 if target.startswith("cuda") else None)
        arrays, scalars = facts.arrays, facts.scalars
        self.arrays = [ArrayFacts(a.name.decode(), _word(a.type_code, a.type_bits), a.dimensions, bool(a.is_output))
                       for a in arrays[:facts.array_count]]
        words = [(s, _word(s.type_code, s.type_bits)) for s in (scalars[:facts.scalar_count] if facts.scalar_count else [])]
        self.scalars = [ScalarFacts(s.name.decode(), word, _value(word, s.value)) for s, word in words]

    def output_box(self, within: Ranges, inputs: Sequence[Ranges]) -> Optional[Ranges]:
        return None

    def run(self, arrays: Sequence[Memory], scalars: Sequence[bytes], stream: int) -> None:
        buffers = [self._buffer(facts, memory) for facts, memory in zip(self.arrays, arrays)]
        pointers = (ctypes.POINTER(_Buffer) * len(buffers))(*(ctypes.pointer(buffer) for buffer in buffers))
        values = [ctypes.create_string_buffer(value, 8) for value in scalars]
        addresses = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
        message = ctypes.create_string_buffer(4096)
        status = self._call(pointers, addresses, stream, message, len(message))
        if status == _OK:
            return
        text = message.value.decode(errors="replace") or f"{self.name} has returned status {status}"
        raise (UserError if status in (_WRONG_ARGUMENT, _NOT_SERVED) else DeviceError)(text)

    def _buffer(self, facts: ArrayFacts, memory: Memory) -> _Buffer:
        code, bits = _type_of(facts.dtype)
        where = _HOST if self.place.gpu is None else _DEVICE
        dims = (_Dimension * _MAX_DIMENSIONS)(*(_Dimension(*dim) for dim in memory.dims))
        return _Buffer(memory.address, facts.ndim, code, bits, where, 0, dims)


def load(path: "Union[str, os.PathLike[str]]", name: Optional[str] = None) -> Pipeline:
    """The pipeline in a shared library that `mica export --shared` or compile_to_library wrote.

    path: the file, "out/diffuse.so".
    name: the pipeline's, as `mica export --name` was given it. None: the file's name without ".so".

    No library of Mica's is needed. On GPUs it runs on the first one. UserError: no such file, one that cannot be loaded here, or no such pipeline in it.
    """
    file = os.path.abspath(os.fspath(path))
    if not os.path.isfile(file):
        raise UserError(f"there is no file {path}")
    try:
        library = ctypes.CDLL(file)
    except OSError as error:
        raise UserError(f"{path} cannot be loaded: {error}") from error
    return Pipeline(_Exported(library, os.fspath(path), name or os.path.basename(file).partition(".")[0]))
