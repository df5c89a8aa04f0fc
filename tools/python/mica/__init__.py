"""Mica's stencil pipelines on the arrays of NumPy, CuPy, PyTorch and others, in place.

    import numpy, mica
    p = mica.pipeline("jacobi2d-f32", target="host")     # an algorithm by name, compiled
    u = numpy.zeros((514, 1026), numpy.float32)
    new = p(u=u)                                         # where every tap has a value: shape (512, 1024)
    p(u=u, out=u_next[1:-1, 1:-1])                       # into an array of one's own

    step = mica.load("out/diffuse.so")                   # a pipeline that `mica export --shared` wrote
    step(u=u, next=v, c0=0.4)

An array's last axis is Mica's dimension 0: u[z, y, x] is u(x, y, z). Strides may be any, so that Fortran order and views work.
`help(mica.Pipeline.run)` says where arrays lie. mica.load needs no library of Mica's.
"""

from typing import Any

from ._arrays import ArrayFacts as ArrayFacts
from ._errors import DeviceError, UserError
from ._exported import load
from ._pipeline import Box as Box, Pipeline, ScalarFacts as ScalarFacts
from ._version import __version__

try:
    from ._named import (Algorithm as Algorithm, Parameter as Parameter, Schedule as Schedule, algorithms, pipeline, schedules)
except ImportError as _error:
    _reason = _error

    def __getattr__(name: str) -> Any:
        if name in ("algorithms", "pipeline", "schedules"):
            raise ImportError(f"mica.{name} needs libmica, which cannot be loaded; mica.load works without: {_reason}") from _reason
        raise AttributeError(f"module 'mica' has no attribute {name!r}")

# What help(mica) shows.
__all__ = ["DeviceError", "Pipeline", "UserError", "__version__", "algorithms", "load", "pipeline", "schedules"]
