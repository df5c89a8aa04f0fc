"""Named algorithms under named schedules and schedules from files; names, versions, help."""

import os
import pathlib
import pydoc
import subprocess
import sys
import tempfile
import unittest

import numpy

import mica
from support import F32, expect_error, jacobi, random, same_bits


class Named(unittest.TestCase):
    def test_every_target_and_schedule_has_numpys_bits(self):
        u = random((13, 70))
        for schedule, parameters, target in [(None, {}, "host"), ("host/rows", {"chunk": 3}, "host"), (None, {}, "emulator"),
                                             ("march/plane", {"tile_x": 32, "tile_y": 1}, "emulator"),
                                             ("jacobi2d/row-window", {}, "emulator")]:
            with self.subTest(schedule=schedule, target=target):
                p = mica.pipeline("jacobi2d-f32", schedule, parameters, target)
                self.assertTrue(same_bits(p(u=u), jacobi(u)))

    def test_other_types(self):
        u = random((9, 11), numpy.float64)
        self.assertTrue(same_bits(mica.pipeline("jacobi2d", target="host")(u=u), jacobi(u)))
        image = random((9, 11), numpy.uint16)
        along = (image[:, :-2] + image[:, 1:-1] + image[:, 2:]) // 3
        expected = (along[:-2] + along[1:-1] + along[2:]) // 3
        self.assertTrue(same_bits(mica.pipeline("blur-u16", target="host")(**{"in": image}), expected))

    def test_several_outputs(self):
        p = mica.pipeline("gray-scott", target="host")
        self.assertEqual([o.name for o in p.outputs], ["next.0", "next.1"])
        u, v = random((5, 6, 7), seed=1), random((5, 6, 7), seed=2)
        made = p(u=u, v=v)
        self.assertEqual([m.shape for m in made], [(3, 4, 5)] * 2)
        outs = numpy.zeros((3, 4, 5), F32), numpy.zeros((3, 4, 5), F32)
        returned = p(u=u, v=v, out=outs)
        self.assertTrue(all(a is b for a, b in zip(returned, outs)))
        again = p.run({"u": u, "v": v, "next.1": outs[1]})
        self.assertTrue(again[1] is outs[1])
        for one, two, three in zip(made, outs, again):
            self.assertTrue(same_bits(one, two) and same_bits(one, three))
        expect_error(self, "out holds 1 of the 2 outputs", lambda: p(u=u, v=v, out=outs[0]), unchanged=outs)
        expect_error(self, "next.0 is given twice", lambda: p.run({"u": u, "v": v, "out": outs, "next.0": outs[0]}), unchanged=outs)

    def test_a_schedule_from_a_file_or_its_text(self):
        good = ('{"mica_schedule": 1, "stages": [{"func": "next", "update": 0, "directives": '
                '[{"do": "vectorize", "var": "x", "width": 4, "tail": "Auto"}]}]}')
        u = random((8, 40))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "best.json")
            path.write_text(good)
            for schedule in (path, str(path), good, "\n " + good):
                self.assertTrue(same_bits(mica.pipeline("jacobi2d-f32", schedule, target="host")(u=u), jacobi(u)))
            expect_error(self, r"parameters .*'vec': 2.* with a schedule from a file",
                         lambda: mica.pipeline("jacobi2d-f32", path, {"vec": 2}, "host"))
            missing = pathlib.Path(folder, "missing.json")
            expect_error(self, "cannot read.*missing.json", lambda: mica.pipeline("jacobi2d-f32", missing, target="host"))
        expect_error(self, "schedule", lambda: mica.pipeline("jacobi2d-f32", good.replace('"x"', '"w"'), target="host"))
        expect_error(self, "no JSON", lambda: mica.pipeline("jacobi2d-f32", "{", target="host"))
        expect_error(self, "parameters.*with no schedule", lambda: mica.pipeline("jacobi2d-f32", parameters={"vec": 2}, target="host"))

    def test_what_has_a_name(self):
        self.assertIn("stencil7", mica.algorithms())
        self.assertIn(mica.algorithms()["stencil7"].schedule, mica.schedules())
        march = mica.schedules()["march/plane"]
        self.assertTrue(march.on_gpu)
        tile_x = {p.name: p for p in march.parameters}["tile_x"]
        self.assertTrue(tile_x.min <= tile_x.value <= tile_x.max)
        p = mica.pipeline("stencil7", target="host")
        self.assertEqual((p.name, p.target), ("stencil7", "host"))
        self.assertEqual([(a.name, a.dtype, a.ndim) for a in p.inputs], [("u", "f32", 3)])
        self.assertIn("stencil7 on host: u (f32, 3-d) -> next (f32, 3-d)", repr(p))

    def test_wrong_names_are_answered_with_right_ones(self):
        expect_error(self, r"stencl7 \(did you mean stencil7\?\)", lambda: mica.pipeline("stencl7"))
        expect_error(self, r"march/plan \(did you mean march/plane\?\)", lambda: mica.pipeline("stencil7", "march/plan", target="emulator"))
        expect_error(self, r"no parameter tilex \(did you mean tile_x\?\)",
                     lambda: mica.pipeline("stencil7", "march/plane", {"tilex": 3}, "emulator"))
        expect_error(self, "tile_x .* is 100000, and must be .* to ",
                     lambda: mica.pipeline("stencil7", "march/plane", {"tile_x": 100000}, "emulator"))
        expect_error(self, "algorithm is 3, which is no str", lambda: mica.pipeline(3))
        expect_error(self, "chunk is 1.5, which is no integer", lambda: mica.pipeline("stencil7", "march/plane", {"chunk": 1.5}))
        expect_error(self, 'unknown target "gpu".*"host"', lambda: mica.pipeline("stencil7", target="gpu"))
        p, u = mica.pipeline("jacobi2d-f32", target="host"), random((6, 6))
        out = numpy.zeros((4, 4), F32)
        expect_error(self, r"no array or number nxt \(did you mean next\?\): its inputs are u, its outputs next",
                     lambda: p(u=u, nxt=out), unchanged=[out])
        expect_error(self, "input u of jacobi2d-f32 is not given: its inputs are u", lambda: p(out=out), unchanged=[out])
        flat = next(s for s in mica.schedules().values() if s.max_dimensions == 2)
        expect_error(self, "to 2 dimensions, and next has 3", lambda: mica.pipeline("stencil7", flat.name, target="emulator"))

    def test_version_and_help(self):
        self.assertRegex(mica.__version__, r"^\d+\.\d+\.\d+$")
        printed = subprocess.run([sys.executable, "-c", "import mica; print(mica.__version__)"], capture_output=True, text=True,
                                 check=True).stdout
        self.assertEqual(printed, mica.__version__ + "\n")
        text = pydoc.render_doc(mica, renderer=pydoc.plaintext)
        for word in ("pipeline(", "load(", "u[z, y, x]", "class Pipeline", "class UserError(builtins.ValueError)",
                     "class DeviceError(builtins.RuntimeError)"):
            self.assertIn(word, text)
        self.assertLess(len(text.splitlines()), 300)
        self.assertIn("where every tap", pydoc.render_doc(mica.Pipeline.run, renderer=pydoc.plaintext))

    def test_a_gpu_that_is_not_there(self):
        code = "import mica\ntry: mica.pipeline('stencil7', target='cuda')\nexcept mica.DeviceError as e: print('DeviceError', e)"
        printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                                 env={**os.environ, "MICA_LIBCUDA": "/no/such/libcuda.so"}).stdout
        self.assertRegex(printed, "^DeviceError .*MICA_LIBCUDA")


if __name__ == "__main__":
    unittest.main()
