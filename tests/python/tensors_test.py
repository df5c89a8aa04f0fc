"""Tensors of other libraries through DLPack, on the CPU and on a GPU that is a stand-in (tests/fake_cuda)."""

import ctypes
import os
import sys
import unittest

import numpy

import mica
from support import F32, Foreign, Tensor, expect_error, jacobi, random, same_bits

CPU, CUDA, PINNED, OPENCL, MANAGED = (1, 0), (2, 0), (3, 0), (4, 0), (13, 0)


class OnTheCpu(unittest.TestCase):
    def setUp(self):
        self.p, self.u = mica.pipeline("jacobi2d-f32", target="host"), random((14, 22))
        self.out = numpy.full((12, 20), -1, F32)

    def tensor(self, array, **more):
        strides = [s // array.itemsize for s in array.strides]
        return Tensor(array.ctypes.data, array.shape, more.pop("strides", strides), **{"device": CPU, **more})

    def test_tensors_are_read_and_written_in_place(self):
        for make in (Foreign, self.tensor, lambda a: self.tensor(a, strides=None), lambda a: self.tensor(a, device=PINNED),
                     lambda a: self.tensor(a, flags=0)):
            self.out[...] = -1
            out = make(self.out)
            self.assertIs(self.p(u=make(self.u), out=out), out)
            self.assertTrue(same_bits(self.out, jacobi(self.u)))

    def test_tensors_are_given_back(self):
        counts = sys.getrefcount(self.u), sys.getrefcount(self.out)
        self.use(Foreign(self.u), Foreign(self.out))
        self.assertEqual((sys.getrefcount(self.u), sys.getrefcount(self.out)), counts)

    def use(self, u, out):
        for _ in range(3):
            self.p(u=u, out=out)
        expect_error(self, "has shape", lambda: self.p(u=u, out=u))
        expect_error(self, "has elements", lambda: self.p(u=u, out=Foreign(self.out.astype(int))))

    def refuses(self, pattern, u=None, out=None):
        expect_error(self, pattern, lambda: self.p(u=self.u if u is None else u, out=self.out if out is None else out),
                     unchanged=[self.u, self.out])

    def test_what_is_refused(self):
        self.refuses(r'input u lies on GPU 0, and a pipeline for host works on arrays on the CPU.*target="cuda:0"', u=Tensor(256, (14, 22)))
        self.refuses("output next lies on GPU 3", out=Tensor(256, (12, 20), device=(13, 3)))
        self.refuses("device 0 of DLPack's type 4", u=Tensor(256, (14, 22), device=OPENCL))
        self.refuses("has elements of type f32 .*holds bf16", u=self.tensor(self.u, kind=(4, 16, 1)))
        self.refuses("holds f32x4", u=self.tensor(self.u, kind=(2, 32, 4)))
        self.refuses("holds complex64", u=self.tensor(self.u, kind=(5, 64, 1)))
        self.refuses("DLPack type 9 of 8", u=self.tensor(self.u, kind=(9, 8, 1)))
        self.refuses("has 2 dimensions, but the array given has 1", u=self.tensor(self.u.reshape(-1)))
        self.refuses("read-only", out=self.tensor(self.out, flags=1))
        self.refuses("a copy, so that what is written to it would be lost", out=self.tensor(self.out, flags=2))
        self.refuses("2 past a multiple of the 4 bytes", u=Tensor(self.u.ctypes.data + 2, (14, 21), device=CPU))
        self.refuses("some lie at one address", u=self.tensor(self.u, strides=(0, 1)))
        self.refuses(r"DLPack 2.0; this is made for 1.x", u=self.tensor(self.u, flags=0, version=(2, 0)))
        self.assertTrue(same_bits(self.p(u=self.tensor(self.u, flags=1)), jacobi(self.u)))

        class Refuses(Foreign):
            def __dlpack__(self, stream=None):
                raise BufferError("it is sparse")

        class Used(Foreign):
            def __dlpack__(self, stream=None):
                return 5

        self.refuses("input u cannot be handed over by its library: it is sparse", u=Refuses(self.u))
        self.refuses("__dlpack__ of Used has returned no tensor that is unused, but 5", u=Used(self.u))


class Launch(ctypes.Structure):
    _fields_ = [("kernel", ctypes.c_char_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3), ("shared", ctypes.c_uint),
                ("stream", ctypes.c_void_p), ("arguments", ctypes.POINTER(ctypes.POINTER(ctypes.c_uint64)))]


@unittest.skipUnless(os.environ.get("MICA_LIBCUDA"), "MICA_LIBCUDA names no stand-in for the driver")
class OnAGpu(unittest.TestCase):
    """copy3d's kernel has the addresses of the two arrays as its first parameters; what is launched is seen, and not carried out."""

    @classmethod
    def setUpClass(cls):
        cls.driver = ctypes.CDLL(os.environ["MICA_LIBCUDA"])
        cls.driver.fakecuda_make_stream.restype = ctypes.c_void_p
        cls.p = mica.pipeline("copy3d", "pmpp/naive", target="cuda")
        cls.launches = []
        callback = ctypes.CFUNCTYPE(None, ctypes.POINTER(Launch), ctypes.c_void_p)

        def seen(launch, _closure):
            facts = launch.contents
            cls.launches.append(({facts.arguments[0][0], facts.arguments[1][0]}, facts.stream))

        cls.seen = callback(seen)
        cls.driver.fakecuda_on_launch(cls.seen, None)
        # Memory that the pipeline's context owns. The stand-in's is the host's.
        cls.made = mica_memory(cls.driver, 4096), mica_memory(cls.driver, 4096)

    def run_it(self, stream=None, **more):
        self.launches.clear()
        u, out = (Tensor(address, (3, 4, 5), **more) for address in self.made)
        self.assertIs(self.p(u=u, out=out, stream=stream), out)
        (addresses, launched_in), = self.launches
        self.assertEqual(addresses, set(self.made))
        self.assertEqual(u.streams, out.streams)
        return u.streams[0], launched_in

    def test_kernels_get_the_tensors_own_memory(self):
        self.assertEqual(self.p.target, "cuda:0")
        for more in ({}, {"device": MANAGED}, {"flags": 0}, {"strides": (20, 5, 1)}):
            asked, launched_in = self.run_it(**more)
            self.assertEqual(asked, 1, "Mica's own stream is ordered with the legacy default stream")
            self.assertNotIn(launched_in, (None, 1))

    def test_streams(self):
        context = self.driver.fakecuda_context_depth()
        self.assertEqual(self.run_it(stream=0), (1, 1))  # CU_STREAM_LEGACY
        self.assertEqual(self.run_it(stream=2), (2, 2))  # CU_STREAM_PER_THREAD
        self.assertEqual(self.driver.fakecuda_context_depth(), context)
        before = self.driver.fakecuda_calls(b"cuStreamSynchronize")
        self.run_it(stream=numpy.int64(1))
        self.assertEqual(self.driver.fakecuda_calls(b"cuStreamSynchronize"), before, "a run in a stream is only enqueued")
        self.run_it()
        self.assertGreater(self.driver.fakecuda_calls(b"cuStreamSynchronize"), before)

    def test_what_is_refused(self):
        u, out = (Tensor(address, (3, 4, 5)) for address in self.made)
        self.launches.clear()
        for pattern, call in [
                ("stream is -1: give a CUstream", lambda: self.p(u=u, out=out, stream=-1)),
                ("stream is 'fast', which is no integer", lambda: self.p(u=u, out=out, stream="fast")),
                (r"output next is not given, and there is no library here.* on GPU 0 with: give one of f32 and shape \(3, 4, 5\)",
                 lambda: self.p(u=u)),
                ("input u lies on the CPU, and a pipeline for cuda:0 works on arrays on GPU 0.*cupy.asarray",
                 lambda: self.p(u=numpy.zeros((3, 4, 5), F32), out=out)),
                ("output next lies on the CPU", lambda: self.p(u=u, out=Foreign(numpy.zeros((3, 4, 5), F32)))),
                ('input u lies on GPU 1, and a pipeline for cuda:0 .* target="cuda:1"',
                 lambda: self.p(u=Tensor(self.made[0], (3, 4, 5), device=(2, 1)), out=out)),
                ("shares memory", lambda: self.p(u=u, out=Tensor(self.made[0] + 16, (3, 4, 5)))),
                ("output next is given a tensor that is read-only", lambda: self.p(u=u, out=Tensor(self.made[1], (3, 4, 5), flags=1)))]:
            expect_error(self, pattern, call)
        self.assertEqual(self.launches, [])

    def test_in_place(self):
        self.launches.clear()
        u = Tensor(self.made[0], (3, 4, 5))
        self.p(u=u, out=u)
        self.assertLessEqual(len(self.launches), 1)  # a copy onto itself need not be made

    def test_another_gpu_that_is_not_there(self):
        expect_error(self, "cuda:7|device|ordinal", lambda: mica.pipeline("copy3d", target="cuda:7"), mica.DeviceError)

    def test_the_driver_refuses(self):
        u, out = (Tensor(address, (3, 4, 5)) for address in self.made)
        self.p(u=u, out=out)
        self.driver.fakecuda_fail(b"cuLaunchKernel", 719, 0, 1)
        expect_error(self, "cuLaunchKernel", lambda: self.p(u=u, out=out), mica.DeviceError)
        self.p(u=u, out=out)


def mica_memory(driver, size):
    """Memory of the stand-in GPU, made in its primary context, which Mica has retained."""
    device, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    for status in (driver.cuDeviceGet(ctypes.byref(device), 0), driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device),
                   driver.cuCtxPushCurrent_v2(context), driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size)),
                   driver.cuCtxPopCurrent_v2(ctypes.byref(context))):
        assert status == 0, status
    return address.value


if __name__ == "__main__":
    unittest.main()
