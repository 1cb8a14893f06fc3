"""A name that nobody knows or a value that cannot be: in a file, on a command line, in a call. It is refused in
the same words everywhere."""

import difflib
import reprlib
from collections.abc import Iterable

SHOWN = 100  # names in a message


def refuse_unknown(
    given: Iterable[object], known: Iterable[str], what: str, error: type[Exception], where: str = ""
) -> None:
    """Raise an error if some of the given names are not known; it says which are near, or else all there are.

    >>> refuse_unknown(["steps"], ["seed", "steps"], "setting", ValueError)
    >>> refuse_unknown(["stepps"], ["seed", "steps"], "setting", ValueError, "in tiny.yaml")
    Traceback (most recent call last):
    ValueError: There is no setting 'stepps' (in tiny.yaml). Did you mean 'steps'?
    >>> refuse_unknown(["beam"], ["seed", "steps"], "setting", ValueError)
    Traceback (most recent call last):
    ValueError: There is no setting 'beam'. There are: seed, steps.
    """
    known = list(known)
    unknown = [name if isinstance(name, str) else shown(name) for name in given if name not in known][:5]
    if unknown:
        near = [match for name in unknown for match in difflib.get_close_matches(name[:40], known, 1)]
        more = f" and {len(known) - SHOWN:,} more" if len(known) > SHOWN else ""
        listed = f"There are: {', '.join(known[:SHOWN]) or 'none'}{more}."
        choice = f"Did you mean {_either(near)}?" if near else listed
        raise error(f"There is no {what} {_either(unknown)}{f' ({where})' if where else ''}. {choice}")


def _either(names: Iterable[str]) -> str:
    return " or ".join(map(shown, names))


class _Short(reprlib.Repr):
    def repr_int(self, value: int, level: int) -> str:
        return super().repr_int(value, level) if abs(value) < 10**100 else "a number of very many digits"


_short = _Short()
_short.maxstring = _short.maxother = _short.maxlong = 60


def shown(value: object) -> str:
    """A value as a message shows it, however long it is.

    >>> shown("beam"), shown(2.5), len(shown("9" * 5000)), shown(10**5000)
    ("'beam'", '2.5', 60, 'a number of very many digits')
    """
    return _short.repr(value)
