"""What docs/python.md shows runs, and prints what the page says."""

import contextlib
import io
import os
import pathlib
import re
import unittest

PAGE = pathlib.Path(os.environ["MICA_SOURCE_DIR"], "docs/python.md")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Page(unittest.TestCase):
    def test_programs_with_output(self):
        blocks = BLOCK.findall(PAGE.read_text())
        shown = [(code, output) for (kind, code), (after, output) in zip(blocks, blocks[1:]) if (kind, after) == ("python", "output")]
        self.assertEqual(len(shown), 1)
        for code, output in shown:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile(code, PAGE, "exec"), {})
            self.assertEqual(printed.getvalue(), output)

    def test_other_programs_compile(self):
        for kind, code in BLOCK.findall(PAGE.read_text()):
            if kind == "python":
                compile(code, PAGE, "exec")


if __name__ == "__main__":
    unittest.main()
