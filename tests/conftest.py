"""What every test shares: the project's folder, hypothesis without a stopwatch, and a way to call the command line as a reader would."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# The suite shares its cores with others, so no example is ever failed for being slow; and a failure can be seen again.
settings.register_profile("nsr", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("nsr")


@pytest.fixture(scope="session", autouse=True)
def tiny_networks_are_trained_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All tests of a session and the notebooks that they run share their tiny networks, also those of another worker."""
    folder = tmp_path_factory.getbasetemp()
    os.environ["NSR_NETWORKS"] = str((folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "networks")


@pytest.fixture(scope="session")
def nsr_command() -> Callable[..., subprocess.CompletedProcess]:
    """`nsr_command("run", "00", cwd=..., NSR_OUTPUTS=...)` runs `python -m nsr run 00` and returns what came of it."""

    def call(*words: str, cwd: Path = ROOT, timeout: float = 600, **environment: str) -> subprocess.CompletedProcess:
        variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        return subprocess.run([sys.executable, "-m", "nsr", *words], cwd=cwd, env=variables, capture_output=True, text=True, timeout=timeout)

    return call
