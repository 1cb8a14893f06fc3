"""Leftovers of killed processes. What is not finished has a hidden name that says whose it is; whoever writes
there next removes what belongs to no living process of this machine."""

import atexit
import contextlib
import hashlib
import os
import platform
import re
import secrets
import shutil
import tempfile
from pathlib import Path

MACHINE = hashlib.blake2b(platform.node().encode(), digest_size=3).hexdigest()
NAME = re.compile(rf"\.(?P<of>.+)\.partial-{MACHINE}-(?P<pid>\d{{1,9}})-[0-9a-f]{{8}}(?P<old>-old)?")


def unfinished(path: Path) -> Path:
    """A hidden name beside `path` for what will become it; the leftovers in that folder are removed."""
    clear(path.parent)
    return path.with_name(f".{path.name}.partial-{MACHINE}-{os.getpid()}-{secrets.token_hex(4)}")


def temporary_folder(where: str | None = None) -> Path:
    """A folder of our own among the temporary files, which goes when this process ends, however it ends: at
    once, or with the next one that is made."""
    folder = unfinished(Path(where or tempfile.gettempdir()) / "nsr")
    folder.mkdir(mode=0o700)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def clear(folder: Path) -> None:
    """Remove from a folder what processes left that are gone. A run that was being replaced when its process
    was killed goes back to its place."""
    with contextlib.suppress(OSError):  # a folder that is not there yet, or is not ours
        for name in os.listdir(folder):
            found = NAME.fullmatch(name)
            if found is None or _is_alive(int(found["pid"])):
                continue
            leftover, place = folder / name, folder / found["of"]
            if found["old"] and not place.exists():
                os.rename(leftover, place)
            elif leftover.is_dir():
                shutil.rmtree(leftover, ignore_errors=True)
            else:
                leftover.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    import psutil  # late: it is seldom needed

    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
    except psutil.Error:
        return True
