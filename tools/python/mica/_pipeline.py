"""Pipeline: what runs, whichever way it was made."""

import functools
import math
import operator
import struct
from typing import Any, Dict, Mapping, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

import numpy

from ._arrays import ArrayFacts, Place, View, numpy_type, view_of
from ._errors import UserError, did_you_mean, joined

_LARGEST_ORIGIN = 1 << 28  # kLargestMin of dsl/expr/limits.h

Range = Tuple[int, int]  # first coordinate and number of points of a dimension
Ranges = Tuple[Range, ...]  # Mica's dimensions: the last axis first
Origin = Mapping[str, Union[int, Sequence[int]]]


class Memory(NamedTuple):
    """An array as Mica has it."""

    address: int
    dims: Tuple[Tuple[int, int, int], ...]  #: first coordinate, number of points, stride in elements


class ScalarFacts(NamedTuple):
    """A number that a run may be given."""

    name: str
    dtype: str  #: "f32", "i64", "bool", ...
    default: Any


class Box(NamedTuple):
    """Points of an array, axis by axis as NumPy has them."""

    origin: Tuple[int, ...]  #: the coordinates of its first point
    shape: Tuple[int, ...]


class Compiled(Protocol):
    """What a Pipeline asks of compiled code."""

    @property
    def name(self) -> str: ...

    @property
    def place(self) -> Place: ...

    @property
    def arrays(self) -> Sequence[ArrayFacts]:
        """Inputs, then outputs."""

    @property
    def scalars(self) -> Sequence[ScalarFacts]: ...

    def output_box(self, within: Ranges, inputs: Sequence[Ranges]) -> Optional[Ranges]:
        """The largest box inside `within` where every tap has a value; None: the code does not say."""

    def run(self, arrays: Sequence[Memory], scalars: Sequence[bytes], stream: int) -> None:
        """`stream` 0: complete when it returns."""


def _ranges(origin: Sequence[int], shape: Sequence[int]) -> Ranges:
    return tuple(zip(origin[::-1], shape[::-1]))


def _integer(value: Any, what: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise UserError(f"{what} is {value!r}, which is no integer") from None


def _scalar_bytes(facts: ScalarFacts, value: Any) -> bytes:
    what = f"parameter {facts.name}"
    if facts.dtype == "bool":
        if not isinstance(value, (bool, numpy.bool_)):
            raise UserError(f"{what} is {value!r}, which is no bool")
        return bytes([bool(value)])
    bits = int(facts.dtype.lstrip("iufb"))
    if facts.dtype[0] in "iu":
        integer, signed = _integer(value, what), facts.dtype[0] == "i"
        low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
        if not low <= integer <= high:
            raise UserError(f"{what} is {integer}, and its type, {facts.dtype}, holds {low} to {high}")
        return integer.to_bytes(bits // 8, "little", signed=signed)
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise UserError(f"{what} is {value!r}, which is no number") from None
    try:
        if facts.dtype != "bf16":
            return struct.pack({16: "<e", 32: "<f", 64: "<d"}[bits], number)
        word, = struct.unpack("<I", struct.pack("<f", number))
    except OverflowError:
        raise UserError(f"{what} is {number}, which is beyond the largest {facts.dtype}") from None
    # To the nearest, ties to even, as Mica rounds an f32.
    upper = word >> 16 | 0x40 if math.isnan(number) else word + 0x7FFF + (word >> 16 & 1) >> 16
    return struct.pack("<H", upper)


class Pipeline:
    """A compiled pipeline. Made by mica.pipeline and mica.load.

        out = p(u=u)                    # the output is made
        p(u=u, out=out, dt=0.1)         # it is written in place, and returned too

    Arrays and numbers go by the names that `inputs`, `outputs` and `scalars` list; `out` is the output whatever it is
    called, or a tuple of all outputs. Several threads may run one pipeline at once.
    """

    def __init__(self, compiled: Compiled):
        self._compiled = compiled
        self._inputs = tuple(a for a in compiled.arrays if not a.is_output)
        self._outputs = tuple(a for a in compiled.arrays if a.is_output)
        self._by_name = {a.name: a for a in compiled.arrays}
        self._scalars = {s.name: s for s in compiled.scalars}
        # Loops over time ask again and again for the same shapes.
        self._box_inside = functools.lru_cache(maxsize=16)(compiled.output_box)

    @property
    def name(self) -> str:
        """The algorithm's or the exported pipeline's name."""
        return self._compiled.name

    @property
    def target(self) -> str:
        """ "host", "emulator", "host-checked", "cuda:0", ..."""
        return self._compiled.place.target

    @property
    def inputs(self) -> Tuple[ArrayFacts, ...]:
        """The arrays that it reads: name, dtype ("f32"), ndim."""
        return self._inputs

    @property
    def outputs(self) -> Tuple[ArrayFacts, ...]:
        """The arrays that it writes."""
        return self._outputs

    @property
    def scalars(self) -> Tuple[ScalarFacts, ...]:
        """The numbers that a run may be given: name, dtype, default."""
        return tuple(self._scalars.values())

    def __repr__(self) -> str:
        arrays = [f"{a.name} ({a.dtype}, {a.ndim}-d)" for a in self._compiled.arrays]
        split = len(self._inputs)
        numbers = f", {joined(self._scalars)}" if self._scalars else ""
        return f"<mica.Pipeline {self.name} on {self.target}: {joined(arrays[:split])}{numbers} -> {joined(arrays[split:])}>"

    def __call__(self, /, *, origin: Optional[Origin] = None, stream: Optional[int] = None, **arrays: Any) -> Any:
        """Runs the pipeline: see run(). Arrays and numbers are keywords."""
        return self.run(arrays, origin=origin, stream=stream)

    def run(self, arrays: Mapping[str, Any], *, origin: Optional[Origin] = None, stream: Optional[int] = None) -> Any:
        """Runs the pipeline, in place, and returns the output or, of several, a tuple.

        arrays: arrays and numbers by name. NumPy arrays, or CPU tensors with __dlpack__, for "host" and "emulator"; tensors on
            the pipeline's GPU for "cuda". Axes are Mica's dimensions in the opposite order, u[z, y, x] for u(x, y, z), whatever
            the strides.
        origin: the coordinates of arrays' first elements by name, an integer for each axis or one for all. Without, an input
            begins at 0, and an output of mica.pipeline lies where every tap of the inputs has a value (output_box); of
            mica.load at 0. An output that is not given is made of that box, as a NumPy array.
        stream: a CUstream as an integer (0: the default stream). The run is then only enqueued; whoever gave the stream waits
            for it. Without, the run is complete when the call returns. The host has no streams.

        UserError before anything runs: arrays are untouched. DeviceError: what the outputs hold is unknown.
        """
        given = self._by_their_names(arrays)
        origins = self._origins(origin)
        handle = self._stream(stream)
        scalars = [_scalar_bytes(s, given.pop(s.name, s.default)) for s in self._scalars.values()]
        views = self._views(given, self._compiled.arrays, handle)
        boxes = self._input_boxes(views, origins)
        memories = [self._memory(views[a.name], *boxes[a.name]) for a in self._inputs]
        results = []
        for output in self._outputs:
            view = views.get(output.name)
            box = self._place(output, view, boxes, origins)
            if view is None:
                given[output.name] = self._make(output, box)
                view = view_of(given[output.name], output, self._compiled.place, None)
            memories.append(self._memory(view, *box))
            results.append(given[output.name])
        self._compiled.run(memories, scalars, handle or 0)
        return results[0] if len(results) == 1 else tuple(results)

    def output_box(self, *, origin: Optional[Origin] = None, **inputs: Any) -> Box:
        """Origin and shape of the box where every tap of these inputs has a value: what run() makes outputs of."""
        given = self._by_their_names(inputs)
        views = self._views(given, self._inputs, None)
        box = self._whole_box(self._input_boxes(views, self._origins(origin)))
        if box is None:
            raise UserError(f"{self.name} is an exported pipeline, which does not say how far its taps reach: its outputs have "
                            "the shapes that you give them")
        return box

    # ---- arguments ----

    def _by_their_names(self, arrays: Mapping[str, Any]) -> Dict[str, Any]:
        given = dict(arrays)
        if "out" in given and "out" not in self._by_name and "out" not in self._scalars:
            out = given.pop("out")
            several = len(self._outputs) > 1
            outs = (tuple(out) if isinstance(out, (tuple, list)) else (out,)) if several and out is not None else (out,)
            if out is not None and len(outs) != len(self._outputs):
                raise UserError(f"out holds {len(outs)} of the {len(self._outputs)} outputs of {self.name}: give a tuple of "
                                f"{joined(o.name for o in self._outputs)}")
            for facts, value in zip(self._outputs, outs):
                if given.get(facts.name) is not None:
                    raise UserError(f"output {facts.name} is given twice, as {facts.name} and as out")
                given[facts.name] = value
        for name in given:
            if name not in self._by_name and name not in self._scalars:
                known = [*self._by_name, *self._scalars]
                raise UserError(f"{self.name} has no array or number {name}{did_you_mean(name, known)}: its inputs are "
                                f"{joined(a.name for a in self._inputs)}, its outputs {joined(a.name for a in self._outputs)}, its "
                                f"numbers {joined(self._scalars)}")
        return {name: value for name, value in given.items() if value is not None}

    def _origins(self, origin: Optional[Origin]) -> Dict[str, Tuple[int, ...]]:
        if origin is not None and not isinstance(origin, Mapping):
            raise UserError(f"origin is {origin!r}: give a dict, as in origin={{\"{self._inputs[0].name if self._inputs else 'u'}\": -1}}")
        origins = {}
        for name, first in (origin or {}).items():
            if name == "out" and name not in self._by_name and len(self._outputs) == 1:
                name = self._outputs[0].name
            if name not in self._by_name:
                raise UserError(f"origin names {name}{did_you_mean(name, self._by_name)}, which is no array of {self.name}: they are "
                                f"{joined(self._by_name)}")
            ndim = self._by_name[name].ndim
            axes = (first,) * ndim if not isinstance(first, (tuple, list, numpy.ndarray)) else tuple(first)
            if len(axes) != ndim:
                raise UserError(f"origin has {len(axes)} integer{'s' * (len(axes) != 1)} for {name}, which has {ndim} axes")
            origins[name] = tuple(_integer(axis, f"origin of {name}") for axis in axes)
            for axis in origins[name]:
                if abs(axis) > _LARGEST_ORIGIN:
                    raise UserError(f"origin of {name} is {axis}: coordinates begin at -{_LARGEST_ORIGIN} to {_LARGEST_ORIGIN}")
        return origins

    def _stream(self, stream: Optional[int]) -> Optional[int]:
        if stream is None or self._compiled.place.gpu is None:
            return None
        handle = _integer(stream, "stream")
        if handle < 0:
            raise UserError(f"stream is {handle}: give a CUstream as an integer, as torch.cuda.current_stream().cuda_stream or "
                            "cupy.cuda.Stream().ptr")
        return handle or 1  # CU_STREAM_LEGACY: 0 would be Mica's own

    def _views(self, given: Mapping[str, Any], wanted: Sequence[ArrayFacts], stream: Optional[int]) -> Dict[str, View]:
        for facts in wanted:
            if not facts.is_output and facts.name not in given:
                raise UserError(f"input {facts.name} of {self.name} is not given: its inputs are {joined(a.name for a in self._inputs)}")
        return {facts.name: view_of(given[facts.name], facts, self._compiled.place, stream) for facts in wanted if facts.name in given}

    # ---- where arrays lie ----

    def _input_boxes(self, views: Mapping[str, View], origins: Mapping[str, Tuple[int, ...]]) -> Dict[str, Box]:
        return {a.name: Box(origins.get(a.name, (0,) * a.ndim), views[a.name].shape) for a in self._inputs}

    def _whole_box(self, inputs: Mapping[str, Box]) -> Optional[Box]:
        """run()'s rule: inside the hull of the inputs of as many dimensions."""
        ndim = self._outputs[0].ndim
        ranges = [_ranges(*inputs[a.name]) for a in self._inputs]
        alike = [box for box in ranges if len(box) == ndim]
        if not alike:
            raise UserError(f"{self.name} has no input of the {ndim} dimensions of its output: give the output, and its origin")
        within = []
        for dims in zip(*alike):
            first = min(low for low, _ in dims)
            within.append((first, max(low + extent for low, extent in dims) - first))
        try:
            box = self._box_inside(tuple(within), tuple(ranges))
        except UserError as error:
            given = [f"input {name} of shape {shape} from {origin} on" for name, (origin, shape) in inputs.items()]
            raise UserError(f"{self.name} has no point at which every tap has a value, with {joined(given)}: give larger arrays") from error
        return None if box is None else Box(*(tuple(axes) for axes in zip(*reversed(box))))

    def _place(self, output: ArrayFacts, view: Optional[View], inputs: Mapping[str, Box],
               origins: Mapping[str, Tuple[int, ...]]) -> Box:
        origin = origins.get(output.name)
        if view is None and origin is not None:
            raise UserError(f"origin names output {output.name}, which is not given, so that its shape is unknown: give both or none")
        if view is not None and origin is not None:
            return Box(origin, view.shape)
        whole = self._whole_box(inputs)
        if whole is None:
            if view is None:
                raise UserError(f"output {output.name} is not given, and {self.name}, an exported pipeline, does not say how far its "
                                "taps reach: give out")
            return Box((0,) * output.ndim, view.shape)
        if view is not None and view.shape != whole.shape:
            raise UserError(f"output {output.name} has shape {view.shape}, and the points at which every tap of the inputs has a value "
                            f"have shape {whole.shape}, from {whole.origin} on: give an array of that shape, or the coordinates of its "
                            f"first element, as in origin={{\"{output.name}\": {whole.origin}}}")
        return whole

    def _make(self, output: ArrayFacts, box: Box) -> "numpy.ndarray[Any, Any]":
        if self._compiled.place.gpu is not None:
            raise UserError(f"output {output.name} is not given, and there is no library here to make an array {self._compiled.place.text} "
                            f"with: give one of {output.dtype} and shape {box.shape}")
        return numpy.empty(box.shape, numpy_type(output))

    @staticmethod
    def _memory(view: View, origin: Sequence[int], shape: Sequence[int]) -> Memory:
        return Memory(view.address, tuple(zip(origin[::-1], shape[::-1], view.strides[::-1])))
