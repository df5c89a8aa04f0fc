"""What the tests of the Python package share."""

import concurrent.futures
import ctypes
import re

import numpy

import mica

F32 = numpy.float32


def random(shape, dtype=F32, seed=1):
    generator = numpy.random.default_rng(seed)
    if numpy.dtype(dtype).kind == "f":
        return generator.random(shape, numpy.float64).astype(dtype)
    return generator.integers(0, 1000, shape).astype(dtype)


def jacobi(u):
    """jacobi2d in Mica's order: a sum's terms by their rows, then as written; a division stays one."""
    above, left, right, below = u[:-2, 1:-1], u[1:-1, :-2], u[1:-1, 2:], u[2:, 1:-1]
    return (((above + left) + right) + below) / u.dtype.type(5.5)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def expect_error(test, pattern, call, error=mica.UserError, unchanged=()):
    """`call` raises `error` with a message that `pattern` is found in, and leaves arrays as they are."""
    before = [array.copy() for array in unchanged]
    with test.assertRaises(error) as caught:
        call()
    test.assertIs(type(caught.exception), error)
    test.assertTrue(re.search(pattern, str(caught.exception)), f"{pattern!r} is not in: {caught.exception}")
    for array, old in zip(unchanged, before):
        test.assertTrue(same_bits(array, old), "an array was changed")


def in_threads(work, count=3):
    """Calls `work(seed)` in several threads at once; what one of them raises is raised here."""
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        list(threads.map(work, range(count)))


class Foreign:
    """A NumPy array that shows nothing but DLPack, as other libraries' arrays do."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, stream=None):
        assert stream is None, "a CPU has no streams"
        return self.array.__dlpack__()


class DLTensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("strides", ctypes.POINTER(ctypes.c_int64)),
                ("byte_offset", ctypes.c_uint64)]


class ManagedTensor(ctypes.Structure):
    _fields_ = [("tensor", DLTensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class VersionedTensor(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p),
                ("flags", ctypes.c_uint64), ("tensor", DLTensor)]


_new_capsule = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(
    ("PyCapsule_New", ctypes.pythonapi))


class Tensor:
    """A tensor of any kind at `address`, that remembers the streams that it was asked for."""

    def __init__(self, address, shape, strides=None, *, device=(2, 0), kind=(2, 32, 1), flags=None, version=(1, 0)):
        self.tensor = DLTensor(address, *device, len(shape), *kind, (ctypes.c_int64 * 8)(*shape),
                               (ctypes.c_int64 * 8)(*strides) if strides else None, 0)
        self.flags, self.version = flags, version
        self.streams, self.handed_over = [], []

    def __dlpack_device__(self):
        return self.tensor.device_type, self.tensor.device_id

    def __dlpack__(self, *, stream=None, **later):
        if self.flags is None and later:
            raise TypeError("__dlpack__() got an unexpected keyword argument")
        self.streams.append(stream)
        if self.flags is None:
            made, name = ManagedTensor(self.tensor, None, None), b"dltensor"
        else:
            made, name = VersionedTensor(*self.version, None, None, self.flags, self.tensor), b"dltensor_versioned"
        self.handed_over.append(made)
        return _new_capsule(ctypes.addressof(made), name, None)
