"""A run in its place: swapped in as a whole, and never a failed one over a finished one."""

import contextlib
import ctypes
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from nsr.book.leftovers import unfinished
from nsr.book.locks import locked
from nsr.book.run_records import metrics_of, sync_folder

FAILED = "failed_"  # before the name of a folder: a run that failed after another one had finished
_HERE, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux


def publish(working: Path, folder: Path, good: bool) -> Path:
    """Put a run in its place and return the place: a failed run stands beside a finished one, and goes when
    another finishes."""
    beside = folder.with_name(FAILED + folder.name)
    with locked(folder):
        place = folder if good or metrics_of(folder).get("status") != "ok" else beside
        replace_folder(working, place)
        sync_folder(place.parent)
        if place == folder:
            shutil.rmtree(beside, ignore_errors=True)
    return place


def made_once(place: Path, make: Callable[[Path], object]) -> Path:
    """The folder `place`, which whoever asks first makes and all others wait for; `make` is given a folder
    beside it, which is moved there, so that what lies there is whole."""
    if not place.exists():
        place.parent.mkdir(parents=True, exist_ok=True)
        with locked(place):
            if not place.exists():  # else whoever had the lock before us has made it
                working = unfinished(place)
                working.mkdir()
                try:
                    make(working)
                    os.rename(working, place)
                finally:
                    shutil.rmtree(working, ignore_errors=True)
    return place


def replace_folder(new: Path, folder: Path) -> None:
    """Put the folder `new` where `folder` is or will be; in one step where the system can do that, else in
    two."""
    if exchange(new, folder):
        shutil.rmtree(new, ignore_errors=True)  # what was there before
        return
    old = new.with_name(new.name + "-old")
    for _ in range(100):
        with contextlib.suppress(FileNotFoundError):
            os.rename(folder, old)
        try:
            os.rename(new, folder)
        except OSError:
            # This fails if somebody else's folder came in between: then that one is there.
            with contextlib.suppress(OSError):
                os.rename(old, folder)
            time.sleep(0.01)
        else:
            return
        finally:
            if folder.exists():
                shutil.rmtree(old, ignore_errors=True)
    raise OSError(f"could not replace {folder.name}")


def exchange(one: Path, other: Path) -> bool:
    """Swap two folders so that nobody ever sees one missing; False if one is missing or the system cannot do
    it."""
    try:
        swap = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):  # not Linux, or an old library
        return False
    return swap(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0
