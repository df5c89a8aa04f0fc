"""Arrays of other libraries as memory that a pipeline reads and writes in place.

Everything here is checked before a pipeline runs; nothing copies an element.
"""

import ctypes
from typing import Any, NamedTuple, Optional, Tuple

import numpy

from ._errors import UserError

# NumPy's names for Mica's element types; it has no bfloat16.
_NUMPY_NAMES = {
    "bool": "bool", "u8": "uint8", "i8": "int8", "u16": "uint16", "i16": "int16", "u32": "uint32", "i32": "int32",
    "u64": "uint64", "i64": "int64", "f16": "float16", "f32": "float32", "f64": "float64",
}
_WORDS = {numpy.dtype(name): word for word, name in _NUMPY_NAMES.items()}

# DLPack (https://dmlc.github.io/dlpack/latest/c_api.html).
_CPU, _CUDA, _CUDA_HOST, _CUDA_MANAGED = 1, 2, 3, 13
_ON_HOST, _ON_GPU = (_CPU, _CUDA_HOST), (_CUDA, _CUDA_MANAGED)
_CODES = {0: "i", 1: "u", 2: "f", 4: "bf", 5: "complex", 6: "bool"}
_READ_ONLY, _COPIED = 1, 2


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]


class _DLManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", _DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class _DLManagedTensorVersioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64), ("tensor", _DLTensor),
    ]


_capsule_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi))
_is_capsule = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_IsValid", ctypes.pythonapi))


class ArrayFacts(NamedTuple):
    """An array of a pipeline."""

    name: str
    dtype: str  #: Mica's word for the element type: "f32", "u8", "bf16", ...
    ndim: int
    is_output: bool

    @property
    def role(self) -> str:
        return ("output " if self.is_output else "input ") + self.name


class Place(NamedTuple):
    """Where a pipeline's arrays are."""

    target: str
    gpu: Optional[int]  #: None: memory of the host

    @property
    def text(self) -> str:
        return "on the CPU" if self.gpu is None else f"on GPU {self.gpu}"


class View(NamedTuple):
    """An array's memory. Axes are those of the array, the last one first in Mica."""

    address: int  #: of the element whose indices are all 0
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]  #: in elements
    holder: Any  #: what must live as long as the memory is used


def numpy_type(facts: ArrayFacts) -> "numpy.dtype[Any]":
    """NumPy's type for the elements. UserError for bfloat16, which it lacks."""
    if facts.dtype not in _NUMPY_NAMES:
        raise UserError(f"{facts.role} holds {facts.dtype}, which NumPy does not have: give an array for it")
    return numpy.dtype(_NUMPY_NAMES[facts.dtype])


def view_of(value: Any, facts: ArrayFacts, place: Place, stream: Optional[int]) -> View:
    """The memory of `value`, which the pipeline reads or, for an output, writes.

    `stream`: the CUDA stream that the run will be in; None: Mica's own, which is ordered with the legacy default stream.
    """
    if isinstance(value, numpy.ndarray):
        view = _view_of_numpy(value, facts, place)
    elif hasattr(value, "__dlpack__") and hasattr(value, "__dlpack_device__"):
        view = _view_of_dlpack(value, facts, place, stream)
    else:
        raise UserError(f"{facts.role} is given a {type(value).__name__}: give a NumPy array, as numpy.asarray makes, or an "
                        "array that has __dlpack__ (CuPy, PyTorch, JAX)")
    _check_memory(view, facts)
    return view


def _check_kind(facts: ArrayFacts, word: str, shape: Tuple[int, ...], fix: str) -> None:
    if word != facts.dtype:
        wanted = f"{facts.dtype} ({_NUMPY_NAMES[facts.dtype]})" if facts.dtype in _NUMPY_NAMES else facts.dtype
        raise UserError(f"{facts.role} has elements of type {wanted}, but the array given holds {word}: {fix}")
    if len(shape) != facts.ndim:
        dimensions = "1 dimension" if facts.ndim == 1 else f"{facts.ndim} dimensions"
        raise UserError(f"{facts.role} has {dimensions}, but the array given has {len(shape)}: its shape is {shape}")


def _check_device(facts: ArrayFacts, place: Place, there: Optional[int]) -> None:
    if there == place.gpu:
        return
    where = "on the CPU" if there is None else f"on GPU {there}"
    fix = "copy it there"
    if there is None:
        fix = "copy it there (cupy.asarray, torch.Tensor.cuda) or take a pipeline for the host"
    elif place.gpu is None or place.target == f"cuda:{place.gpu}":
        fix += f" or make the pipeline for target=\"cuda:{there}\""
    raise UserError(f"{facts.role} lies {where}, and a pipeline for {place.target} works on arrays {place.text}, in place: {fix}")


def _view_of_numpy(value: "numpy.ndarray[Any, Any]", facts: ArrayFacts, place: Place) -> View:
    if isinstance(value, numpy.ma.MaskedArray):
        raise UserError(f"{facts.role} is given a masked array, and its mask would be lost: give .data or .filled(number)")
    _check_device(facts, place, None)
    dtype = value.dtype
    if _WORDS.get(dtype) != facts.dtype or value.ndim != facts.ndim:
        native = dtype.newbyteorder("=")
        cast = f"cast it, as in {facts.name.partition('.')[0]}.astype(numpy.{_NUMPY_NAMES.get(facts.dtype, facts.dtype)})"
        _check_kind(facts, _WORDS.get(native, dtype.name), value.shape, "give an array of that type" if facts.is_output else cast)
        raise UserError(f"{facts.role} has the bytes of its elements in the order {dtype.str}, and this machine's is {native.str}: give "
                        f"one of {native.str}, as .astype makes")
    if facts.is_output and not value.flags.writeable:
        raise UserError(f"{facts.role} is given an array that is read-only: give one that may be written, as .copy() makes")
    size = dtype.itemsize
    if any([stride % size for stride, extent in zip(value.strides, value.shape) if extent > 1]):
        raise UserError(f"{facts.role} has strides of {value.strides} bytes, which are no multiples of the {size} of an element: "
                        "copy it first")
    address = value.__array_interface__["data"][0]
    return View(address, value.shape, tuple([stride // size for stride in value.strides]), value)


def _managed_tensor(value: Any, facts: ArrayFacts, stream: Optional[int]) -> Tuple[_DLTensor, int, Any]:
    """The tensor, its flags, and what keeps it."""
    arguments = {} if stream is None else {"stream": stream}
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 1), **arguments)
        except TypeError:  # a producer of DLPack before 1.0
            capsule = value.__dlpack__(**arguments)
    except (BufferError, RuntimeError, ValueError) as error:
        raise UserError(f"{facts.role} cannot be handed over by its library: {error}") from error
    # The capsule is not marked as used: it stays the tensor's owner, and deletes it when it goes.
    if _is_capsule(capsule, b"dltensor_versioned"):
        versioned = _DLManagedTensorVersioned.from_address(_capsule_pointer(capsule, b"dltensor_versioned"))
        if versioned.major != 1:
            raise UserError(f"{facts.role} comes as DLPack {versioned.major}.{versioned.minor}; this is made for 1.x")
        return versioned.tensor, versioned.flags, capsule
    if _is_capsule(capsule, b"dltensor"):
        return _DLManagedTensor.from_address(_capsule_pointer(capsule, b"dltensor")).tensor, 0, capsule
    raise UserError(f"{facts.role}: __dlpack__ of {type(value).__name__} has returned no tensor that is unused, but {capsule!r}")


def _view_of_dlpack(value: Any, facts: ArrayFacts, place: Place, stream: Optional[int]) -> View:
    device_type, device = (int(number) for number in value.__dlpack_device__())
    if device_type not in _ON_HOST + _ON_GPU:
        raise UserError(f"{facts.role} lies on device {device} of DLPack's type {device_type}, and a pipeline for {place.target} works "
                        f"on arrays {place.text}: copy it there")
    on_gpu = device_type in _ON_GPU
    _check_device(facts, place, device if on_gpu else None)
    tensor, flags, holder = _managed_tensor(value, facts, (1 if stream is None else stream) if on_gpu else None)
    word = f"{_CODES.get(tensor.code, f'DLPack type {tensor.code} of ')}{tensor.bits}" if tensor.code != 6 else "bool"
    if tensor.lanes != 1:
        word += f"x{tensor.lanes}"
    shape = tuple(tensor.shape[axis] for axis in range(tensor.ndim))
    _check_kind(facts, word, shape, "give one of that type")
    if facts.is_output and flags & (_READ_ONLY | _COPIED):
        why = "read-only" if flags & _READ_ONLY else "a copy, so that what is written to it would be lost"
        raise UserError(f"{facts.role} is given a tensor that is {why}: give one that may be written in place")
    if tensor.strides:
        strides = tuple(tensor.strides[axis] for axis in range(tensor.ndim))
    else:
        dense = [1]
        for extent in shape[:0:-1]:
            dense.append(dense[-1] * max(extent, 1))
        strides = tuple(reversed(dense))
    return View((tensor.data or 0) + tensor.byte_offset, shape, strides, holder)


def _check_memory(view: View, facts: ArrayFacts) -> None:
    """UserError for elements that share addresses, or lie where none can be."""
    if 0 in view.shape:
        return
    size = 1 if facts.dtype == "bool" else int(facts.dtype.lstrip("iufb")) // 8
    if view.address % size:
        raise UserError(f"{facts.role} begins at address {view.address:#x}, {view.address % size} past a multiple of the {size} bytes "
                        f"of its {facts.dtype}: copy it first")
    span = 1
    for stride, extent in sorted((abs(stride), extent) for stride, extent in zip(view.strides, view.shape) if extent > 1):
        if stride < span:
            raise UserError(f"{facts.role} has shape {view.shape} and strides {view.strides} in elements, of which some lie at one "
                            "address, as numpy.broadcast_to makes: copy it first")
        span += stride * (extent - 1)
