"""The errors of the package, and how their texts are made."""

import difflib
from typing import Iterable


class UserError(ValueError):
    """An argument, a schedule or an array is wrong. The message has both numbers or names and what to do."""


class DeviceError(RuntimeError):
    """A call of the GPU's driver or of the operating system failed, or memory ran out; the message names it."""


UserError.__module__ = DeviceError.__module__ = "mica"


def joined(names: Iterable[str]) -> str:
    """ "u, v"; "none" for an empty list."""
    return ", ".join(names) or "none"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """ " (did you mean u?)", or "" where nothing in `known` looks like `name`."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {found[0]}?)" if found else ""
