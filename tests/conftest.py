"""What every test shares: the project's folder, an order in which two workers finish together, hypothesis
without a stopwatch, and a way to call the command line as a reader would."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# the workers share the cores: one thread each, also in what they start
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.update({f"{name}_NUM_THREADS": "1" for name in ("OMP", "MKL", "OPENBLAS", "NUMBA")})

# All numbers are compared with those of a CPU, also on a machine with a GPU, where the tests marked `cuda` use
# it.
os.environ["NSR_DEVICE"] = "cpu"

# Files that execute notebooks, train networks or start processes, the longest first.
SLOW = (
    "test_replication",
    "test_browser",
    "test_sweeps",
    "test_estimator",
    "test_options",
    "test_reports",
    "test_training",
    "test_faults",
    "test_promises",
    "test_runner",
    "test_practical",
    "test_hints",
    "test_skeleton_tables",
    "test_tiny_networks",
    "test_contributing",
    "test_golden",
    "test_names",
    "test_novel_steps",
    "test_compiling",
    "test_checkpoints",
)
# a test of these waits for no other of its file
SPREAD = ("test_sweeps", "test_faults", "test_training", "test_tiny_networks")

# The suite shares its cores with others, so no example is ever failed for being slow; and a failure can be
# seen again.
settings.register_profile("nsr", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("nsr")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Slow tests come first, so that no worker is left with one at the end."""
    for item in items:
        if item.path.stem in SLOW:
            item.add_marker("slow")
    ranks = {file: rank for rank, file in enumerate(("test_notebooks", *SLOW))}
    last = len(ranks)
    items.sort(key=lambda item: ranks.get(item.path.stem, last) if item.get_closest_marker("slow") else last)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """What needs a CUDA device is skipped where there is none."""
    if item.get_closest_marker("cuda"):
        import torch

        if not torch.cuda.is_available():
            pytest.skip("there is no CUDA device")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """A file stays with one worker, which makes its fixtures once, unless its tests are independent; then
    each goes to whoever is free.

    pytest-xdist 3.8 has groups for this (`--dist=loadgroup`), but pytest 9.2 does not read the ids that
    carry them.
    """
    if config.getoption("dist") != "loadscope":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return nodeid if Path(file).stem in SPREAD else file

    return ByFile(config, log)


@pytest.fixture(scope="session", autouse=True)
def tiny_networks_are_trained_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All tests of a session and the notebooks that they run share their tiny networks, also those of another
    worker."""
    folder = tmp_path_factory.getbasetemp()
    os.environ["NSR_NETWORKS"] = str(
        (folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder) / "networks"
    )


@pytest.fixture(scope="session")
def nsr_command() -> Callable[..., subprocess.CompletedProcess]:
    """`nsr_command("run", "00", cwd=..., NSR_OUTPUTS=...)` runs `python -m nsr run 00` and returns what came
    of it."""

    def call(
        *words: str, cwd: Path = ROOT, timeout: float = 600, **environment: str
    ) -> subprocess.CompletedProcess:
        variables = os.environ | {"PYTHONPATH": str(ROOT)} | environment
        return subprocess.run(
            [sys.executable, "-m", "nsr", *words],
            cwd=cwd,
            env=variables,
            capture_output=True,
            text=True,
            timeout=timeout,
        )

    return call
