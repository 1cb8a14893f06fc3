"""A room's door: the names that a room offers, each loaded from its file when it is first asked for.

So a chapter imports from rooms and never from files, `import nsr` is instant, and reading a formula never
loads torch.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any


def door(room: str, **names_of: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a room; `names_of` a file are those that it offers, its own name
    among them or not.

    >>> offer, _, names = door("nsr.formulas", parsing="parse")
    >>> offer("parse")("sin(x1)")
    (('sin', 'x1'), ())
    """
    file_of = {name: file for file, names in names_of.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name not in file_of:
            raise AttributeError(f"{room} has no {name!r}; it offers {', '.join(sorted(file_of))}")
        value = importlib.import_module(f"{room}.{file_of[name]}")
        if name != file_of[name]:  # else it is the file that is asked for
            value = getattr(value, name)
        setattr(sys.modules[room], name, value)
        return value

    def __dir__() -> list[str]:
        return sorted({*vars(sys.modules[room]), *file_of})

    return __getattr__, __dir__, [*file_of]
