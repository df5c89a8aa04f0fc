"""Pipelines on a GPU's memory, through NVIDIA's driver alone: no other library is needed. Skipped where there is no GPU."""

import ctypes
import os
import sys
import unittest

import numpy

import mica
from support import F32, Tensor, in_threads, random, same_bits


class Gpu:
    """The first GPU's primary context, which Mica shares."""

    def __init__(self, library):
        self.library = ctypes.CDLL(library)
        device, self.context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self.context), device)
        self.enter()

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status != 0:
            raise OSError(f"{name} has returned {status}")

    def enter(self):
        """Every thread needs a context."""
        self.call("cuCtxPushCurrent_v2", self.context)

    def stream(self):
        handle = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(handle), 1)  # CU_STREAM_NON_BLOCKING
        return handle.value

    def wait(self, stream=None):
        self.call("cuStreamSynchronize", ctypes.c_void_p(stream))

    def array(self, like):
        """A Tensor with the elements of a NumPy array, in the same order of axes."""
        dense = numpy.ascontiguousarray(like)
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(dense.nbytes))
        self.call("cuMemcpyHtoDAsync_v2", address, ctypes.c_void_p(dense.ctypes.data), ctypes.c_size_t(dense.nbytes), None)
        self.wait()
        tensor = Tensor(address.value, dense.shape, kind=(2, 8 * dense.itemsize, 1))
        tensor.dtype = dense.dtype
        return tensor

    def numpy(self, tensor, stream=None):
        made = numpy.empty(tuple(tensor.tensor.shape[axis] for axis in range(tensor.tensor.ndim)), tensor.dtype)
        self.call("cuMemcpyDtoHAsync_v2", ctypes.c_void_p(made.ctypes.data), ctypes.c_uint64(tensor.tensor.data),
                  ctypes.c_size_t(made.nbytes), ctypes.c_void_p(stream))
        self.wait(stream)
        return made


class OnAGpu(unittest.TestCase):
    def test_bits_are_the_hosts(self):
        for name, schedule in [("stencil7", "march/plane"), ("stencil7", None), ("jacobi2d", None), ("star25", "seismic/xyz"),
                               ("gray-scott", "pmpp/naive")]:
            with self.subTest(name=name, schedule=schedule):
                on_host, on_gpu = mica.pipeline(name, target="host"), mica.pipeline(name, schedule, target="cuda")
                dtype = numpy.dtype("float64" if name == "jacobi2d" else "float32")
                arrays = {a.name: random((20, 33, 70)[-a.ndim:], dtype, seed) for seed, a in enumerate(on_host.inputs)}
                expected = on_host(**arrays)
                expected = expected if isinstance(expected, tuple) else (expected,)
                outs = tuple(gpu.array(numpy.full_like(e, -1)) for e in expected)
                on_gpu(**{n: gpu.array(a) for n, a in arrays.items()}, out=outs if len(outs) > 1 else outs[0])
                for out, e in zip(outs, expected):
                    self.assertTrue(same_bits(gpu.numpy(out), e))

    def test_views(self):
        p, u = mica.pipeline("stencil7", target="cuda"), random((9, 10, 12))
        expected = mica.pipeline("stencil7", target="host")(u=u)
        whole = gpu.array(numpy.full((7, 8, 10), -1, F32))
        turned = gpu.array(u.transpose(2, 0, 1))  # its axes in memory: x, z, y
        view = Tensor(turned.tensor.data, (9, 10, 12), (10, 1, 90))
        p(u=view, out=whole)
        self.assertTrue(same_bits(gpu.numpy(whole), expected))
        part = Tensor(whole.tensor.data + 4 * (80 + 10 + 1), (5, 6, 8), (80, 10, 1))
        p(u=gpu.array(u), out=part, origin={"out": 2})
        self.assertTrue(same_bits(gpu.numpy(whole), expected))

    def test_streams(self):
        p, u = mica.pipeline("stencil7", "march/plane", target="cuda"), random((40, 60, 130))
        expected = mica.pipeline("stencil7", target="host")(u=u)
        given = gpu.array(u)
        for stream in (gpu.stream(), 0, 1, 2, None):
            out = gpu.array(numpy.full_like(expected, -1))
            p(u=given, out=out, stream=stream)
            self.assertTrue(same_bits(gpu.numpy(out, stream), expected), stream)

    def test_threads(self):
        p, wrong = mica.pipeline("stencil7", "march/plane", target="cuda"), []

        def work(seed):
            gpu.enter()
            u, stream = random((20, 30, 40 + seed), seed=seed), gpu.stream()
            expected = mica.pipeline("stencil7", target="host")(u=u)
            given, out = gpu.array(u), gpu.array(numpy.full_like(expected, -1))
            for _ in range(20):
                p(u=given, out=out, stream=stream)
                if not same_bits(gpu.numpy(out, stream), expected):
                    wrong.append(seed)

        in_threads(work)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    try:
        gpu = Gpu(os.environ.get("MICA_LIBCUDA", "libcuda.so.1"))
    except OSError as error:
        print(f"skipped: there is no GPU: {error}")
        sys.exit()
    unittest.main()
