"""Named algorithms under schedules, compiled by libmica."""

import os
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _mica
from ._arrays import ArrayFacts, Place
from ._errors import UserError
from ._pipeline import Memory, Pipeline, Ranges, ScalarFacts, _integer


class Algorithm(NamedTuple):
    """An algorithm that mica.pipeline has."""

    name: str
    description: str
    schedule: str  #: a named schedule that suits it on a GPU


class Parameter(NamedTuple):
    """A number that a named schedule may be given."""

    name: str
    value: int  #: default
    min: int
    max: int
    meaning: str


class Schedule(NamedTuple):
    """A named schedule."""

    name: str
    description: str
    document: str  #: where the kernel is described
    on_gpu: bool
    min_dimensions: int
    max_dimensions: int
    parameters: Tuple[Parameter, ...]


def algorithms() -> Dict[str, Algorithm]:
    """The algorithms that mica.pipeline has, by name."""
    return {name: Algorithm(name, *facts) for name, facts in _mica.algorithms().items()}


def schedules() -> Dict[str, Schedule]:
    """The named schedules, with their parameters, by name."""
    return {name: Schedule(name, *facts[:5], tuple(Parameter(*p) for p in facts[5])) for name, facts in _mica.schedules().items()}


class _Named:
    """A Compiled (mica._pipeline) of libmica's."""

    scalars: Sequence[ScalarFacts] = ()

    def __init__(self, name: str, code: "_mica.NamedPipeline"):
        self.name = name
        target = code.target
        self.place = Place(target, int(target.partition(":")[2]) if target.startswith("cuda:") else None)
        self.arrays = [ArrayFacts(*facts) for facts in code.arrays()]
        self._code = code

    def output_box(self, within: Ranges, inputs: Sequence[Ranges]) -> Optional[Ranges]:
        return tuple(self._code.output_box(within, inputs))

    def run(self, arrays: Sequence[Memory], scalars: Sequence[bytes], stream: int) -> None:
        self._code.run(arrays, stream)


def pipeline(algorithm: str, schedule: "Union[str, os.PathLike[str], None]" = None,
             parameters: Optional[Mapping[str, int]] = None, target: Optional[str] = None) -> Pipeline:
    """Compiles a named algorithm under a schedule.

    algorithm: one of mica.algorithms().
    schedule: one of mica.schedules(); the file that `mica tune -o` or save_schedule has written, by its path (a pathlib.Path, or a
        str that ends in ".json"), or that file's text. None: the compiler chooses.
    parameters: of a named schedule, those that are not to have their defaults.
    target: "host", "emulator" (GPU kernels on the CPU, checked), "host-checked" (the host's code, checked), "cuda", "cuda:1". None: the
        first GPU, else the host, or what the environment variable MICA_TARGET names.

    UserError: no such name, or a schedule that does not suit the algorithm. DeviceError: no such GPU.
    """
    for what, word in (("algorithm", algorithm), ("target", target)):
        if word is not None and not isinstance(word, str):
            raise UserError(f"{what} is {word!r}, which is no str: give a name")
    kinds: Dict[str, Any] = {"schedule": None, "json": None, "file": None}
    if schedule is not None:
        text = os.fspath(schedule)
        is_text = isinstance(schedule, str)
        kind = "json" if is_text and text.lstrip().startswith("{") else \
            "file" if not is_text or text.endswith(".json") else "schedule"
        kinds[kind] = text
    if parameters and kinds["schedule"] is None:
        raise UserError(f"parameters {dict(parameters)} are given with {'no schedule' if schedule is None else 'a schedule from a file'}: "
                        "only named schedules have parameters")
    numbers = {name: _integer(value, f"parameter {name}") for name, value in (parameters or {}).items()}
    code = _mica.NamedPipeline(algorithm=algorithm, parameters=numbers, target=target, **kinds)
    return Pipeline(_Named(algorithm, code))
