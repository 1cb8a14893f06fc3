"""How numba compiles this project's numerical code, and where it keeps the machine code between sessions.

numba renews a cached function when its own file changes, but not when a function that was compiled into it
changes in another file.  So the cache lives in a folder named after the contents of all compiled files: any
change of any of them starts afresh, and folders that nobody has used for a week are removed. numba executes
what it finds there, so a folder that anybody else could write is not used.
"""

import contextlib
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from pathlib import Path

from numba import config

UNUSED = 7 * 24 * 3600.0  # seconds after which no process is expected to come back to its folder


def cache_folder() -> Path | None:
    """A folder for this version's machine code: beside the package, or among the temporary files where that
    is not ours; None if neither is."""
    beside = beside_the_package()
    with contextlib.suppress(OSError):
        beside.parent.mkdir(parents=True, exist_ok=True)
    if is_private(beside):
        return beside
    ours = temporary_folder()
    others_rename = ours.parent.stat().st_mode & (stat.S_IWOTH | stat.S_ISVTX) == stat.S_IWOTH
    private = not others_rename and is_private(ours) and is_private(ours / beside.name)
    return ours / beside.name if private else None


def beside_the_package() -> Path:
    package = Path(__file__).parents[1]
    sources = [text for path in sorted(package.rglob("*.py")) if b"njit" in (text := path.read_bytes())]
    return package / "__pycache__" / f"numba-{hashlib.blake2b(b''.join(sources), digest_size=6).hexdigest()}"


def temporary_folder() -> Path:
    return Path(tempfile.gettempdir()) / f"nsr-{os.geteuid() if hasattr(os, 'geteuid') else 0}"


def is_private(folder: Path) -> bool:
    """Make the folder for this user alone if it is not there; whether it is a folder that this user can write
    and nobody else."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError:
        return False
    others_write = about.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    alone = not hasattr(os, "geteuid") or about.st_uid == os.geteuid() and not others_write
    return stat.S_ISDIR(about.st_mode) and alone and os.access(folder, os.W_OK)


def remove_unused(folder: Path) -> None:
    """Note that this folder is in use, and remove those of other versions beside it that were not for long.

    A process that still runs with another version may write to its folder, so a recent one is left alone.
    """
    with contextlib.suppress(OSError):
        os.utime(folder)
    for other in folder.parent.glob("numba-*"):
        with contextlib.suppress(OSError):  # another process was faster
            if other.lstat().st_mtime < time.time() - UNUSED and is_private(other):
                shutil.rmtree(other)


if not os.environ.get("NUMBA_CACHE_DIR"):
    folder = cache_folder()
    config.CACHE_DIR = str(folder or "")
    if folder:
        remove_unused(folder)
    else:
        why = f"{temporary_folder()} is not a folder that only you can write"
        other = "Remove it, or set NUMBA_CACHE_DIR to a folder of your own."
        what = f"{why}, so the numerical code is compiled again in every session. {other}"
        warnings.warn(what, RuntimeWarning, stacklevel=2)

# fastmath stays off: nan and inf have to arrive where the mathematics is undefined. Without a folder there is
# no cache. Nobody calls the functions from C.
COMPILE = {"nogil": True, "cache": bool(config.CACHE_DIR), "error_model": "numpy", "no_cfunc_wrapper": True}
