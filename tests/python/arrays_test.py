"""Where arrays lie, which layouts work in place, and what is refused before anything runs."""

import unittest

import numpy

import mica
from support import F32, Foreign, expect_error, jacobi, random, same_bits


class Axes(unittest.TestCase):
    def test_the_last_axis_is_micas_first_dimension(self):
        u = random((8, 9, 7))
        for name, axis in (("derivative-x", 2), ("derivative-y", 1), ("derivative-z", 0)):
            p = mica.pipeline(name, target="host")
            box = p.output_box(u=random((20, 21, 22)))
            shape = [20, 21, 22]
            shape[axis] -= 8
            self.assertEqual(box.shape, tuple(shape), name)
            self.assertEqual([first > 0 for first in box.origin], [a == axis for a in range(3)])
        p = mica.pipeline("copy3d", target="host")
        self.assertTrue(same_bits(p(u=u), u))

    def test_every_stride(self):
        p, u = mica.pipeline("jacobi2d-f32", target="host"), random((14, 22))
        wide = numpy.repeat(numpy.repeat(u, 3, 0), 2, 1)
        structured = numpy.zeros(u.shape, [("a", F32), ("b", F32)])
        structured["b"] = u
        for name, view, expected in [
                ("Fortran", numpy.asfortranarray(u), u), ("transposed", u.T.copy().T, u), ("strided", wide[::3, ::2], u),
                ("turned", u[::-1, ::-1], u[::-1, ::-1]), ("field", structured["b"], u), ("crop", u[2:9, 3:8], u[2:9, 3:8]),
                ("row", u[:3], u[:3]), ("point", u[:3, :3], u[:3, :3])]:
            with self.subTest(name):
                self.assertTrue(same_bits(p(u=view), jacobi(expected)))
                self.assertTrue(same_bits(p(u=Foreign(view)), jacobi(expected)))

    def test_outputs_of_every_stride(self):
        p, u = mica.pipeline("jacobi2d-f32", target="host"), random((14, 22))
        expected = jacobi(u)
        for name, make in [("C", lambda a: a[1:13, 1:21]), ("Fortran", lambda a: a.reshape(90, 60).T[2:14, 3:23]),
                           ("strided", lambda a: a[:36:3, 0:80:4]), ("turned", lambda a: a[20:8:-1, 30:10:-1])]:
            with self.subTest(name):
                whole = numpy.full((60, 90), -1, F32)
                copy, out = whole.copy(), make(whole)
                self.assertIs(p(u=u, out=out), out)
                self.assertTrue(same_bits(out.copy(), expected))
                make(copy)[...] = expected
                self.assertTrue(same_bits(whole, copy), "something beside the output was written")


class Boxes(unittest.TestCase):
    def setUp(self):
        self.p, self.u = mica.pipeline("jacobi2d-f32", target="host"), random((14, 22))

    def test_an_output_lies_where_every_tap_has_a_value(self):
        box = self.p.output_box(u=self.u)
        self.assertEqual(box, mica.Box(origin=(1, 1), shape=(12, 20)))
        self.assertEqual(self.p.output_box(u=self.u, origin={"u": (-1, 5)}), mica.Box((0, 6), (12, 20)))
        self.assertEqual(self.p(u=self.u).shape, box.shape)

    def test_origins(self):
        expected = jacobi(self.u)
        for origin, out in [({"u": -1, "next": (0, 0)}, numpy.zeros((12, 20), F32)), ({"u": (-1, -1), "out": 0}, numpy.zeros((12, 20), F32)),
                            ({"next": 1}, numpy.zeros((12, 20), F32)), ({"u": numpy.array([3, 4])}, numpy.zeros((12, 20), F32))]:
            self.p(u=self.u, out=out, origin=origin)
            self.assertTrue(same_bits(out, expected), origin)
        part = numpy.zeros((3, 5), F32)
        self.p(u=self.u, next=part, origin={"next": (4, 7)})
        self.assertTrue(same_bits(part, expected[3:6, 6:11].copy()))

    def test_several_inputs(self):
        p = mica.pipeline("pair7", target="host")
        u, v = random((6, 7, 8), seed=1), random((8, 9, 10), seed=2)
        alike = p(u=u, v=v[1:-1, 1:-1, 1:-1])
        self.assertEqual(alike.shape, (4, 5, 6))
        self.assertTrue(same_bits(p(u=u, v=v, origin={"v": -1}), alike))

    def test_no_point_at_all(self):
        expect_error(self, r"no point.*input u of shape \(2, 22\) from \(0, 0\)", lambda: self.p(u=self.u[:2]))
        expect_error(self, r"no point.*shape \(0, 22\)", lambda: self.p(u=self.u[:0]))
        copy = mica.pipeline("copy3d", target="host")
        self.assertEqual(copy(u=numpy.zeros((0, 3, 4), F32)).shape, (0, 3, 4))

    def test_wrong_boxes(self):
        out = numpy.zeros((14, 22), F32)
        expect_error(self, r"next has shape \(14, 22\).*have shape \(12, 20\), from \(1, 1\) on.*origin=\{\"next\": \(1, 1\)\}",
                     lambda: self.p(u=self.u, out=out), unchanged=[out])
        expect_error(self, "as far as index -1 in dimension 0.*short by 1", lambda: self.p(u=self.u, out=out, origin={"out": 0}),
                     unchanged=[out])
        out = out[1:-1, 1:-1]
        expect_error(self, "1 integer for u, which has 2 axes", lambda: self.p(u=self.u, out=out, origin={"u": (1,)}), unchanged=[out])
        expect_error(self, r"names v, which is no array", lambda: self.p(u=self.u, out=out, origin={"v": 1}), unchanged=[out])
        expect_error(self, r"names nex \(did you mean next\?\)", lambda: self.p(u=self.u, origin={"nex": 1}))
        expect_error(self, "1.5, which is no integer", lambda: self.p(u=self.u, out=out, origin={"u": 1.5}), unchanged=[out])
        expect_error(self, "give a dict", lambda: self.p(u=self.u, out=out, origin=-1), unchanged=[out])
        expect_error(self, "output next, which is not given", lambda: self.p(u=self.u, origin={"next": 1}))
        expect_error(self, "origin of u is 1099511627776: .* to 268435456", lambda: self.p(u=self.u, origin={"u": 1 << 40}))


class Refused(unittest.TestCase):
    def setUp(self):
        self.p, self.u = mica.pipeline("jacobi2d-f32", target="host"), random((14, 22))
        self.out = numpy.full((12, 20), -1, F32)

    def refuses(self, pattern, u=None, out=None):
        u, out = self.u if u is None else u, self.out if out is None else out
        arrays = [a for a in (u, out) if isinstance(a, numpy.ndarray) and a.dtype != object]
        expect_error(self, pattern, lambda: self.p(u=u, out=out), unchanged=arrays)

    def test_types(self):
        self.refuses(r"input u has elements of type f32 \(float32\), but the array given holds f64: .*u.astype\(numpy.float32\)",
                     u=self.u.astype(numpy.float64))
        self.refuses("output next .* holds i32", out=self.out.astype(numpy.int32))
        self.refuses("holds complex64", u=self.u.astype(numpy.complex64))
        self.refuses("holds object", u=self.u.astype(object))
        self.refuses("f32.*f64", u=Foreign(self.u.astype(numpy.float64)))

    def test_dimensions(self):
        self.refuses(r"input u has 2 dimensions, but the array given has 3: its shape is \(1, 14, 22\)", u=self.u[None])
        self.refuses(r"has 1: its shape is \(20,\)", out=self.out[0].copy())
        self.refuses(r"has 0: its shape is \(\)", u=numpy.array(1, F32))
        self.refuses(r"has 1: its shape is \(22,\)", u=Foreign(self.u[0]))

    def test_byte_order_and_alignment(self):
        self.refuses("order >f4, and this machine's is <f4", u=self.u.astype(">f4"))
        raw = numpy.zeros(self.u.nbytes + 8, numpy.uint8)
        self.refuses("1 past a multiple of the 4 bytes", u=raw[1:1 + self.u.nbytes].view(F32).reshape(self.u.shape)
                     if raw.ctypes.data % 4 == 0 else raw[2:2 + self.u.nbytes].view(F32).reshape(self.u.shape))
        packed = numpy.zeros(self.u.shape, [("a", numpy.uint8), ("b", F32)])
        self.refuses("strides of .* no multiples of the 4 of an element", u=packed["b"])

    def test_read_only(self):
        self.out.flags.writeable = False
        self.refuses("output next is given an array that is read-only")
        self.u.flags.writeable = False  # an input may be
        self.assertTrue(same_bits(self.p(u=self.u), jacobi(self.u)))

    def test_shared_elements(self):
        self.refuses("some lie at one address.*copy it first", u=numpy.broadcast_to(self.u[0], self.u.shape))
        windows = numpy.lib.stride_tricks.sliding_window_view(random(35), 22)
        self.assertEqual(windows.shape, self.u.shape)
        self.refuses(r"strides \(1, 1\)", u=windows)

    def test_no_arrays(self):
        self.refuses("input u is given a list: give a NumPy array", u=self.u.tolist())
        self.refuses("given a float32", u=F32(3))
        self.refuses("masked array", u=numpy.ma.masked_less(self.u, 0.5))
        expect_error(self, "is not given", lambda: self.p(u=None))

    def test_overlaps(self):
        self.refuses(r"next .* shares memory with input u .*reads u\(x, y - 1\)", out=self.u[1:-1, 1:-1])
        pad = random((14, 45))
        self.refuses("shares memory", u=pad[:, :22], out=pad[1:-1, 20:40])
        beside = pad[:, 22:42][1:-1]
        self.p(u=pad[:, :22], out=beside)  # between each other, and apart
        self.assertTrue(same_bits(beside.copy(), jacobi(pad[:, :22])))
        both = numpy.zeros((3, 4, 5), F32)
        p, u = mica.pipeline("gray-scott", target="host"), random((5, 6, 7))
        expect_error(self, "next.0 .* shares memory with output next.1", lambda: p(u=u, v=u, out=(both, both)), unchanged=[both])

    def test_in_place_where_the_algorithm_allows(self):
        p, u = mica.pipeline("copy3d", target="host"), random((3, 4, 5))
        old = u.copy()
        self.assertIs(p(u=u, out=u), u)
        self.assertTrue(same_bits(u, old))


if __name__ == "__main__":
    unittest.main()
