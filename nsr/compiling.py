"""How numba compiles this project's numerical code, and where it keeps the machine code between sessions.

numba renews a cached function when its own file changes, but not when a function that was compiled into it changes in another
file.  So the cache lives in a folder named after the contents of all compiled files: any change of any of them starts afresh.
"""
from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from numba import config

# fastmath stays off: nan and inf have to arrive where the mathematics is undefined.
COMPILE = {"nogil": True, "cache": True, "error_model": "numpy", "fastmath": False}


def cache_folder() -> Path:
    """A folder for this version's machine code: beside the package, or among the temporary files where that is read-only."""
    package = Path(__file__).parent
    sources = [text for path in sorted(package.rglob("*.py")) if b"njit" in (text := path.read_bytes())]
    name = f"numba-{hashlib.blake2b(b''.join(sources), digest_size=6).hexdigest()}"
    beside = package / "__pycache__" / name
    try:
        beside.mkdir(parents=True, exist_ok=True)
        if os.access(beside, os.W_OK):
            return beside
    except OSError:
        pass
    return Path(tempfile.gettempdir()) / f"nsr-{os.getuid() if hasattr(os, 'getuid') else 0}" / name


if not os.environ.get("NUMBA_CACHE_DIR"):
    config.CACHE_DIR = str(cache_folder())
