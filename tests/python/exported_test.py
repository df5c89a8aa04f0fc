"""Pipelines in shared libraries, without libmica: one that is written by hand, and what `mica export` writes."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

import mica
from support import F32, Foreign, Tensor, expect_error, in_threads, random, same_bits

LIBRARY = pathlib.Path(os.environ["MICA_EXPORTED"])


def scaled(u, origin=(0, 0), c=0.5, small=-1):
    y, x = numpy.mgrid[origin[0]:origin[0] + u.shape[0], origin[1]:origin[1] + u.shape[1]].astype(F32)
    return F32(c) * u + F32(10) * x + y + F32(small)


class ByHand(unittest.TestCase):
    def setUp(self):
        self.p, self.u = mica.load(LIBRARY, "scale"), numpy.round(random((3, 5)) * 64)
        self.out = numpy.full((3, 5), -7, F32)

    def test_what_it_says_of_itself(self):
        self.assertEqual((self.p.name, self.p.target), ("scale", "host"))
        self.assertEqual([(a.name, a.dtype, a.ndim) for a in self.p.inputs + self.p.outputs], [("u", "f32", 2), ("out", "f32", 2)])
        self.assertEqual([tuple(s) for s in self.p.scalars],
                         [("c", "f32", 0.5), ("status", "i32", 0), ("small", "i8", -1), ("on", "bool", True), ("half", "bf16", 1.5),
                          ("wide", "f64", 0.25), ("big", "u64", 7)])
        self.assertIn("u (f32, 2-d), c, status", repr(self.p))

    def test_it_runs_in_place(self):
        for make in (lambda a: a, Foreign, numpy.asfortranarray):
            u, out = make(self.u), make(self.out)
            self.assertIs(self.p(u=u, out=out), out)
            self.assertTrue(same_bits(numpy.ascontiguousarray(getattr(out, "array", out)), scaled(self.u)))
        whole = numpy.zeros((9, 20), F32)
        self.p(u=self.u[::-1, ::-1], out=whole[2:8:2, 15:5:-2], c=2, small=numpy.int8(3))
        self.assertTrue(same_bits(whole[2:8:2, 15:5:-2].copy(), scaled(self.u[::-1, ::-1], c=2, small=3)))
        self.assertEqual(numpy.count_nonzero(whole), numpy.count_nonzero(scaled(self.u[::-1, ::-1], c=2, small=3)))

    def test_origins(self):
        self.p(u=self.u, out=self.out, origin={"u": (-2, 4), "out": (-2, 4)})
        self.assertTrue(same_bits(self.out, scaled(self.u, (-2, 4))))
        out = numpy.zeros((2, 3), F32)
        self.p(u=self.u, out=out, origin={"u": (-1, -1)})
        self.assertTrue(same_bits(out, scaled(self.u, (-1, -1))[1:, 1:4].copy()))
        expect_error(self, "^input u is too small$", lambda: self.p(u=self.u, out=self.out, origin={"u": 1}), unchanged=[self.out])

    def test_numbers(self):
        text = lambda **more: self.message(status=1, **more)
        self.assertEqual(text(), "status 1, on 1, half 0x3fc0, wide 0.25, big 7")
        self.assertIn("on 0, half 0xc000, wide 0.1, big 18446744073709551615", text(on=False, half=-2, wide=0.1, big=(1 << 64) - 1))
        self.assertIn("on 1, half 0x3f80", text(on=numpy.True_, half=1.00390625))  # a tie goes to the even one
        self.assertIn("half 0x3f82", text(half=1.01171875))
        self.assertIn("half 0x7f80", text(half=float("inf")))
        self.assertIn("half 0x7fc0", text(half=float("nan")))
        for pattern, numbers in [("parameter small is 128, and its type, i8, holds -128 to 127", {"small": 128}), ("big is -1", {"big": -1}),
                                 ("parameter c is 1e\\+39, which is beyond the largest f32", {"c": 1e39}), ("c is 'x', which is no number", {"c": "x"}),
                                 ("small is 1.5, which is no integer", {"small": 1.5}), ("on is 1, which is no bool", {"on": 1}),
                                 (r"no array or number smal \(did you mean small\?\)", {"smal": 1}), ("half is 1e\\+39", {"half": 1e39})]:
            expect_error(self, pattern, lambda: self.p(u=self.u, out=self.out, **numbers), unchanged=[self.out])

    def message(self, error=mica.UserError, **numbers):
        with self.assertRaises(error) as caught:
            self.p(u=self.u, out=self.out, **numbers)
        return str(caught.exception)

    def test_every_status_is_an_error(self):
        for status, error in [(1, mica.UserError), (2, mica.DeviceError), (3, mica.DeviceError), (4, mica.UserError)]:
            self.assertIn(f"status {status},", self.message(error, status=status))
        self.assertEqual(self.message(mica.DeviceError, status=9), "scale has returned status 9")

    def test_outputs_are_given(self):
        expect_error(self, "output out is not given, and scale, an exported pipeline, does not say how far", lambda: self.p(u=self.u))
        expect_error(self, "does not say how far its taps reach", lambda: self.p.output_box(u=self.u))

    def test_a_gpu(self):
        gpu = mica.load(LIBRARY, "gpu")
        u, out = Tensor(0x1000, (3, 5)), Tensor(0x2000, (3, 5))
        for stream, handle in [(None, "(nil)"), (0, "0x1"), (0x77, "0x77")]:
            expect_error(self, f"^right: 0x1000 to 0x2000 in {'[(]nil[)]' if stream is None else handle}$",
                         lambda: gpu(u=u, out=out, stream=stream), mica.DeviceError)
        self.assertEqual(u.streams, [1, 1, 0x77])
        expect_error(self, "lies on the CPU", lambda: gpu(u=self.u, out=out))

    def test_what_cannot_be_loaded(self):
        expect_error(self, "there is no file /no/such.so", lambda: mica.load("/no/such.so"))
        expect_error(self, "has no pipeline called mica_python_exported: give name=", lambda: mica.load(LIBRARY))
        expect_error(self, "has no pipeline called other", lambda: mica.load(str(LIBRARY), name="other"))
        expect_error(self, "interface 2, and this package knows 1", lambda: mica.load(LIBRARY, "later"))
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "scale.so")
            copy.write_text("no library")
            expect_error(self, "scale.so cannot be loaded: ", lambda: mica.load(copy))
            shutil.copy(LIBRARY, copy)
            self.assertEqual(mica.load(copy).name, "scale")

    def test_no_library_of_micas_is_needed(self):
        code = ("import sys; sys.modules['mica._mica'] = None\n"
                "import mica, numpy\n"
                f"p = mica.load({str(LIBRARY)!r}, 'scale')\n"
                "print(p(u=numpy.ones((1, 1), numpy.float32), out=numpy.zeros((1, 1), numpy.float32))[0, 0])\n"
                "try: mica.pipeline('copy3d')\n"
                "except ImportError as error: print(error)\n"
                "print('libmica' in open('/proc/self/maps').read())")
        printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
        self.assertEqual((printed[0], printed[-1]), ("-0.5", "False"))
        self.assertIn("mica.pipeline needs libmica", printed[1])


class ByMica(unittest.TestCase):
    """What `mica export --shared` writes has the bits of the named pipeline."""

    @classmethod
    def setUpClass(cls):
        cli = os.environ.get("MICA_CLI")
        if not cli or "--shared" not in subprocess.run([cli, "export", "--help"], capture_output=True, text=True).stdout:
            raise unittest.SkipTest("there is no `mica export --shared`")
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.cli = cli

    def export(self, name, stem):
        stem = pathlib.Path(self.folder.name, stem)
        subprocess.run([self.cli, "export", name, "--target", "host", "--shared", "-o", stem], check=True, capture_output=True)
        return mica.load(f"{stem}.so"), mica.pipeline(name, target="host")

    def test_layouts_and_origins(self):
        p, named = self.export("stencil7", "seven")
        self.assertEqual((p.name, p.target, p.outputs), ("seven", "host", named.outputs))
        u = random((6, 7, 20))
        expected = named(u=u)
        for view in (u, numpy.asfortranarray(u), numpy.repeat(u, 3, 2)[:, :, ::3], Foreign(u)):
            for origin in ({"u": -1}, {"next": (1, 1, 1)}):
                out = numpy.full(expected.shape, -1, F32)
                p(u=view, out=out, origin=origin)
                self.assertTrue(same_bits(out, expected))
        whole = numpy.zeros(u.shape, F32)
        p(u=u[::-1], out=whole[1:-1, 1:-1, 1:-1], origin={"u": -1})
        self.assertTrue(same_bits(whole[1:-1, 1:-1, 1:-1].copy(), named(u=u[::-1])))
        expect_error(self, "short by 1", lambda: p(u=u, out=out), unchanged=[out])
        expect_error(self, "shares memory", lambda: p(u=u, out=u[1:-1, 1:-1, 1:-1], origin={"out": 1}), unchanged=[u])

    def test_several_outputs_from_several_threads(self):
        p, named = self.export("gray-scott", "two")
        wrong = []

        def work(seed):
            u, v = random((5, 6, 9), seed=seed), random((5, 6, 9), seed=seed + 1)
            expected, outs = named(u=u, v=v), (numpy.zeros((3, 4, 7), F32), numpy.zeros((3, 4, 7), F32))
            for _ in range(50):
                made = p(u=u, v=v, out=outs, origin={"u": -1, "v": -1})
                if not all(map(same_bits, made, expected)):
                    wrong.append(seed)

        in_threads(work)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    unittest.main()
