"""A lock on something that several processes write. The system releases it when its holder ends, however it
ends."""

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None
    import msvcrt

_NO_LOCKS_HERE = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP}  # some network disks


@contextlib.contextmanager
def locked(path: Path | str) -> Iterator[None]:
    """Be the only one, of all processes and threads that ask, at work on `path`; whoever asks twice at once
    waits forever.

    The lock is the hidden file `.<name>.lock` beside the path, and is removed by its holder. A file that a
    killed holder left is free. On a disk without locks nobody waits.
    """
    file = Path(path).with_name(f".{Path(path).name}.lock")
    file.parent.mkdir(parents=True, exist_ok=True)
    held = False
    while not held:
        handle = os.open(file, os.O_RDONLY | os.O_CREAT, 0o666)
        try:
            _wait_for(handle)
            # If it is not, the last holder has just removed it, and others now use a new one.
            held = _is_still(file, handle)
            if held:
                try:
                    yield
                finally:
                    with contextlib.suppress(OSError):  # Windows keeps open files
                        file.unlink()
        finally:
            os.close(handle)  # this releases it


def _wait_for(handle: int) -> None:
    while fcntl is None:
        try:
            return msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            time.sleep(0.05)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise


def _is_still(file: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(file), os.fstat(handle))
    except FileNotFoundError:
        return False
