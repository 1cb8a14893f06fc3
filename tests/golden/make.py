"""What must not change while code is moved: answers, canonical forms, draws, a tiny training, verdicts.

    python tests/golden/make.py            # compare everything with the files beside this script, bit for bit
    python tests/golden/make.py --write    # write them anew, after a change that was meant

`tests/test_golden.py` compares a part of it in every test run. Floats are written with all digits; another
kind of processor may round some of them differently, so the test allows for that, and this script does not.
"""

import csv
import hashlib
import io
import json
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from nsr.book.run_records import REFERENCE
from nsr.data.items import TemplateBank, sample_items
from nsr.data.templates import TreeRecipe, draw_templates
from nsr.data.test_sets import test_set
from nsr.evidence.novelty import TrainingSet
from nsr.formulas.constant_places import saturate
from nsr.formulas.equivalence import family, template_of
from nsr.formulas.expressions import CONSTANT, FULL, SIMPLIFIED
from nsr.formulas.notation import to_infix
from nsr.network.checkpoints import load
from nsr.network.recipes import read_settings
from nsr.network.training import train
from nsr.numbers.fingerprints import fingerprint
from nsr.search.engine import solve_all
from nsr.search.strategies.names import MAKERS, by_name, kind_of

HERE = Path(__file__).parent
PROBLEMS = 40
# beams of 1 where a search is long; 5 for all others
SMALLEST = {"tpsr": 1, "gvs+tpsr": 1, "families+tpsr": 1}
COLUMNS = ("strategy", "problem", "answer", "r2", "novel", "candidates", "tokens")


def digest(parts: Iterable[object]) -> str:
    return hashlib.blake2b("\n".join(map(str, parts)).encode(), digest_size=12).hexdigest()


def in_thousands(lines: list[object]) -> list[str]:
    """One digest for every thousand lines, so that a difference can be found."""
    return [digest(lines[i : i + 1000]) for i in range(0, len(lines), 1000)]


def answers(name: str, n: int = PROBLEMS) -> list[dict[str, str]]:
    """The first n problems of `not_included`, searched by one strategy with the shipped weights."""
    trained = load(f"laptop/{kind_of(name)}")
    problems = test_set("not_included", load("laptop/nesymres").templates, PROBLEMS)[:n]
    training = TrainingSet.of(trained)
    rows = []
    for result in solve_all(problems, by_name(name, SMALLEST.get(name, 5)), trained, reference=training):
        found = result.answer
        text = "" if found is None else to_infix(found.prefix, found.constants or None)
        novel = training.novelty(found and found.prefix)["novel"]
        rows.append(
            dict(
                zip(
                    COLUMNS,
                    map(
                        str,
                        (
                            name,
                            result.problem.name,
                            text,
                            repr(float(result.r2)),
                            novel,
                            result.n_candidates,
                            result.n_tokens,
                        ),
                    ),
                )
            )
        )
    return rows


def all_answers() -> str:
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for name in MAKERS:
        print(f"  {name}", flush=True)
        writer.writerows(answers(name))
    return file.getvalue()


def formulas(name: str, most: int | None = None) -> dict[str, list[str]]:
    """Canonical template, family, fingerprint and saturation of a network's training templates."""
    templates = sorted(load(f"laptop/{name}").templates)[:most]
    return {
        "template": in_thousands([template_of(t) for t in templates]),
        "family": in_thousands([family(t) for t in templates]),
        "fingerprint": in_thousands([fingerprint(t, (1.0,) * t.count(CONSTANT)) for t in templates]),
        "saturation": in_thousands([saturate(t) for t in templates]),
    }


# full has 363,000; every network of its kind has the same
FORMULAS = {"nesymres": None, "t4sr": None, "full": 20_000}


def draws() -> dict[str, list[str]]:
    """2,000 templates of both generators and 2,000 items of the first."""
    found = {}
    for vocabulary in (SIMPLIFIED, FULL):
        templates = draw_templates(2000, TreeRecipe(vocabulary), seed=7)
        items = sample_items(TemplateBank(templates, vocabulary), np.random.default_rng(7), 2000, n_points=20)
        lines = [
            (items.prefix(i), items.values(i), items.X[i].tolist(), items.y[i].tolist())
            for i in range(len(items))
        ]
        found |= {
            f"templates {vocabulary.name}": in_thousands(templates),
            f"items {vocabulary.name}": in_thousands(lines),
        }
    return found


def training() -> dict[str, object]:
    """The weights and the losses of tiny trainings, and what they were shown."""
    found = {}
    for kind in ("nesymres", "gvs", "t4sr"):
        with tempfile.TemporaryDirectory() as folder:
            final = train(read_settings(kind, "tiny", {"steps": 40, "epochs": 0, "threads": 1}), Path(folder))
            about = json.loads((final / "about.json").read_text())
            found[kind] = {"weights": weights_of(final), "losses": [row["loss"] for row in about["history"]]}
    return found


def weights_of(folder: Path) -> str:
    from safetensors.numpy import load_file

    tensors = load_file(folder / "weights.safetensors")
    return digest(
        (name, tensors[name].dtype, tensors[name].shape, tensors[name].tobytes().hex())
        for name in sorted(tensors)
    )


def verdicts() -> dict[str, str]:
    with open(REFERENCE / "laptop" / "claims.csv", newline="") as file:
        return {f"{row['claim']}: {row['check']}": row["verdict"] for row in csv.DictReader(file)}


def as_json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


FILES: dict[str, Callable[[], str]] = {
    "formulas.json": lambda: as_json({name: formulas(name, most) for name, most in FORMULAS.items()}),
    "draws.json": lambda: as_json(draws()),
    "training.json": lambda: as_json(training()),
    "verdicts.json": lambda: as_json(verdicts()),
    "answers.csv": all_answers,
}


def main(words: list[str]) -> int:
    write, wanted = "--write" in words, [word for word in words if word != "--write"] or list(FILES)
    different = []
    for name in wanted:
        print(name, flush=True)
        text = FILES[name]()
        if write:
            (HERE / name).write_text(text)
        elif text != (HERE / name).read_text():
            different.append(name)
            (HERE / f".{name}.now").write_text(text)
            print(f"  DIFFERENT: compare with {HERE.name}/.{name}.now")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
