"""The interpreter's lock, threads, and Ctrl-C."""

import os
import signal
import threading
import time
import unittest

import numpy

import mica
from support import F32, in_threads, jacobi, random, same_bits


class Threads(unittest.TestCase):
    def test_others_go_on_while_a_pipeline_runs(self):
        p = mica.pipeline("star25", "pmpp/naive", target="emulator")
        u = random((40, 48, 64))
        p(u=u[:9, :9, :9])
        ticks, done = [0], threading.Event()

        def tick():
            while not done.wait(0.001):
                ticks[0] += 1

        other = threading.Thread(target=tick)
        other.start()
        try:
            # However fast the machine is, some run of these takes more than a few ticks.
            for _ in range(50):
                before, start = ticks[0], time.monotonic()
                p(u=u)
                if ticks[0] - before >= 5:
                    break
            self.assertGreaterEqual(ticks[0] - before, 5, f"in {time.monotonic() - start} s")
        finally:
            done.set()
            other.join()

    def test_threads_share_a_pipeline(self):
        p = mica.pipeline("jacobi2d-f32", target="host")
        wrong = []

        def work(seed):
            u = random((30 + seed, 40), seed=seed)
            expected, out = jacobi(u), numpy.zeros((28 + seed, 38), F32)
            for _ in range(50):
                out[...] = -1
                p(u=u, out=out)
                if not (same_bits(out, expected) and same_bits(p(u=u), expected)):
                    wrong.append(seed)

        in_threads(work)
        self.assertEqual(wrong, [])

    def test_an_interrupt_is_not_swallowed(self):
        p, u = mica.pipeline("jacobi2d-f32", target="host"), random((200, 200))
        out = numpy.zeros((198, 198), F32)
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with self.assertRaises(KeyboardInterrupt):
            until = time.monotonic() + 60
            while time.monotonic() < until:
                p(u=u, out=out)
        timer.join()
        p(u=u, out=out)
        self.assertTrue(same_bits(out, jacobi(u)))


if __name__ == "__main__":
    unittest.main()
