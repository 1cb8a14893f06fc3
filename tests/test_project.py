"""The project around the code: one list of dependencies, pinned once, and rules that hold for every file."""

import ast
import re
import subprocess
import sys
import tomllib
from itertools import chain
from pathlib import Path

import pytest
import yaml
from conftest import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import nsr

pytestmark = pytest.mark.static
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
# other names, or parts of a declared package that it always brings
BROUGHT = {"sklearn", "yaml", "IPython", "traitlets", "pygments", "llvmlite"}
SOURCES = sorted([*(ROOT / "nsr").rglob("*.py"), *(ROOT / "notebooks").rglob("*.py")])


def pins() -> dict[str, str]:
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if line and not line.startswith("#")
    ]
    return {canonicalize_name(name): version for name, version in (line.split("==") for line in lines)}


def requirements() -> list[Requirement]:
    return [
        Requirement(line)
        for line in [*PYPROJECT["dependencies"], *chain(*PYPROJECT["optional-dependencies"].values())]
    ]


def tracked_files() -> list[str]:
    found = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, text=True)
    if found.returncode or not found.stdout:
        pytest.skip("not a git repository with files in it")
    return found.stdout.strip("\0").split("\0")


def test_every_dependency_is_pinned_inside_its_range():
    for requirement in requirements():
        version = pins()[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} is pinned to {version}"


def test_pins_are_exact_and_name_no_build():
    assert pins()["torch"] == "2.13.0"
    assert not [
        name
        for name, version in pins().items()
        if not re.fullmatch(r"\d+(\.\d+)*([a-z]+\d+)?(\.post\d+)?", version)
    ]


def test_conda_environment_installs_from_pyproject_and_nothing_else():
    *packages, pip = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    assert packages == [f"python{PYPROJECT['requires-python']}", "pip"]
    assert pip == {"pip": ["-c constraints.txt", "-e .[test]"]}


def test_the_version_is_said_in_one_place():
    assert PYPROJECT["dynamic"] == ["version"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == nsr.__version__


def test_makefile_installs_the_same_way():
    makefile = (ROOT / "Makefile").read_text()
    assert "-c constraints.txt -e '.[test]'" in makefile
    assert "--require-hashes --no-deps -r $(LOCK)" in makefile and "LOCK   ?= requirements.lock" in makefile
    assert "(3, 11)" in makefile and PYPROJECT["requires-python"] == ">=3.11"


def test_the_lock_holds_a_hash_of_every_pinned_package_but_torch():
    """And of packages that other systems and versions of Python need besides; no line names a machine."""
    text = (ROOT / "requirements.lock").read_text()
    entries = re.split(r"\n(?=\S)", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).strip())
    found = {}
    for entry in entries:
        first, *hashes = entry.replace("\\\n", "").split("--hash=")
        requirement = Requirement(first.strip())
        ((operator, version),) = [(one.operator, one.version) for one in requirement.specifier]
        assert operator == "==" and hashes, entry
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", one.strip()) for one in hashes), entry
        found[canonicalize_name(requirement.name)] = version
    more = {
        canonicalize_name(Requirement(line).name) for line in PYPROJECT["optional-dependencies"]["baselines"]
    }
    more |= {canonicalize_name(Requirement(line).name) for line in PYPROJECT["optional-dependencies"]["data"]}
    assert pins().keys() - found.keys() == more | {"torch"}
    assert {name: version for name, version in found.items() if name in pins()}.items() <= pins().items()


def test_the_build_backend_is_held():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]
    assert build["requires"] == [f"setuptools=={pins()['setuptools']}"]


def test_installed_packages_fit_together():
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    if "No module named pip" in done.stderr:
        pytest.skip("this environment was made without pip")
    assert done.returncode == 0, done.stdout


def test_ci_runs_the_suite():
    script = ROOT / ".ci" / "run"
    assert "make test" in script.read_text()
    assert script.stat().st_mode & 0o111


def test_imported_packages_are_declared():
    """Whatever nsr and the notebooks import comes with Python, with nsr, or from pyproject.toml."""
    declared = {requirement.name.lower().replace("-", "_") for requirement in requirements()} | BROUGHT
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and node.level == 0:
                names = [node.module]
            for top in {name.split(".")[0] for name in names}:
                assert top in declared or top in sys.stdlib_module_names or top == "nsr", (
                    f"{path.name} imports {top}"
                )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_nothing_is_ever_evaluated_or_unpickled(path: Path):
    """Text from files, models and users never becomes code: no eval, exec, sympify, pickle or open
    torch.load."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {alias.name for alias in node.names} | {getattr(node, "module", None)}
            assert not names & {
                "pickle",
                "cPickle",
                "dill",
                "cloudpickle",
                "joblib",
                "sympify",
                "parse_expr",
            }, f"line {node.lineno}"
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {
                "eval",
                "exec",
                "sympy.sympify",
                "sympy.S",
                "sympy.parse_expr",
                "__import__",
            }, f"line {node.lineno}: {called}"
            if called == "torch.load":
                assert any(
                    word.arg == "weights_only" and ast.unparse(word.value) == "True" for word in node.keywords
                ), f"line {node.lineno}"


def test_no_executed_notebook_and_no_run_is_committed():
    names = tracked_files()
    assert not [name for name in names if name.endswith(".ipynb")]
    assert not [
        name for name in names if name.startswith("outputs/") and not name.startswith("outputs/reference/")
    ]


def test_no_file_knows_the_machine_it_was_written_on():
    for name in tracked_files():
        path = ROOT / name
        if (
            path.suffix in {".py", ".yaml", ".yml", ".toml", ".txt", ".md", ".json", ".csv", ""}
            and path.is_file()
        ):
            found = re.search(r"/(?:home|root|Users|work|opt)/\w+", path.read_text(errors="ignore"))
            assert not found or name == "tests/test_project.py", f"{name} mentions {found.group()}"
