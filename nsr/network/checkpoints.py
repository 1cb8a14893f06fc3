"""Checkpoints: tensors as safetensors, everything else as JSON, written atomically; and `load(name)` for the
trained networks.

A run in progress keeps one file, `latest.safetensors`: weights, optimiser and log of shown sequences as
tensors, the rest as JSON in the file's own header, so that one rename replaces all of it. A finished network
is a folder in outputs/reference/<scale>/<name>/:

    weights.safetensors   about.json   templates.txt.gz   seen.safetensors

The last one, the log of shown sequences, is left out where it is too large to be committed.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import MISSING, asdict, dataclass, fields
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.overrides import TorchFunctionMode

from nsr.book.run_records import OUTPUTS, REFERENCE, atomic_write, short, to_json
from nsr.data.hints import hint_words
from nsr.formulas.expressions import VOCABULARIES, Prefix, Vocabulary
from nsr.network.model import Config, Network

FORMAT = "nsr-checkpoint-1"
LAYERS, SIZE = 1000, 2**20  # no network that we could load is larger
LATEST = "latest.safetensors"
SEEN = "seen.safetensors"
# bytes: a log of shown sequences above this is not published, for a network may take 15 MB in all
LARGEST_LOG = 4_000_000


class CheckpointError(RuntimeError):
    """A file that cannot be used as a checkpoint, and why."""


def sequence_hash(prefix: Iterable[str]) -> int:
    """64 bits that stand for a token sequence; two of a million sequences collide with probability below
    1e-7.

    >>> sequence_hash(("sin", "x1")) == sequence_hash(["sin", "x1"]) != sequence_hash(("sin", "x2"))
    True
    """
    return int.from_bytes(
        hashlib.blake2b(" ".join(prefix).encode(), digest_size=8).digest(), "big", signed=True
    )


@dataclass(frozen=True)
class Seen:
    """The log of target sequences really shown in training: `("sin", "x1") in seen`, `seen.count(("sin",
    "x1"))`."""

    hashes: np.ndarray  # (N,) int64, sorted
    counts: np.ndarray  # (N,) int32, how often each was shown

    @classmethod
    def from_counts(cls, counts: Mapping[int, int]) -> Seen:
        hashes = np.fromiter(counts.keys(), np.int64, len(counts))
        order = np.argsort(hashes)
        return cls(hashes[order], np.fromiter(counts.values(), np.int32, len(counts))[order])

    def as_counts(self) -> dict[int, int]:
        return dict(zip(self.hashes.tolist(), self.counts.tolist()))

    def count(self, prefix: Iterable[str]) -> int:
        key = sequence_hash(prefix)
        at = int(np.searchsorted(self.hashes, key))
        return int(self.counts[at]) if at < len(self.hashes) and self.hashes[at] == key else 0

    def __contains__(self, prefix: Iterable[str]) -> bool:
        return self.count(prefix) > 0

    def __len__(self) -> int:
        return len(self.hashes)

    def tensors(self) -> dict[str, Tensor]:
        return {"seen.hashes": torch.from_numpy(self.hashes), "seen.counts": torch.from_numpy(self.counts)}


class TemplateSet(Set):
    """A set of templates as one sorted list of lines: exactly what a frozenset of tuples says, in a ninth of
    its memory.

    >>> known = TemplateSet(["sin x1", "add x1 x2"])
    >>> ("sin", "x1") in known, ("sin", "x2") in known, list(known) == [("add", "x1", "x2"), ("sin", "x1")]
    (True, False, True)
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = [line for line, _ in groupby(sorted(lines))]

    @classmethod
    def _from_iterable(cls, templates: Iterable[Prefix]) -> TemplateSet:
        """What unions and differences are made by."""
        return cls(map(" ".join, templates))

    def __contains__(self, template: Iterable[str]) -> bool:
        line = " ".join(template)
        at = bisect_left(self.lines, line)
        return at < len(self.lines) and self.lines[at] == line

    def __iter__(self) -> Iterator[Prefix]:
        return (tuple(line.split()) for line in self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __eq__(self, other: object) -> bool:
        return self.lines == other.lines if isinstance(other, TemplateSet) else super().__eq__(other)

    def __hash__(self) -> int:
        return self._kept_hash

    @cached_property
    def _kept_hash(self) -> int:
        return self._hash()  # that of an equal frozenset

    def __reduce__(self) -> tuple:  # without the hash, for that of a text is another one in every process
        return TemplateSet, (self.lines,)


def write(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> Path:
    """Tensors and a JSON-able description into one safetensors file, atomically."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return atomic_write(path, save(plain, {"format": FORMAT, "about": json.dumps(about)}))


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The inverse of `write`; refuses what is truncated or was not written by it."""
    try:
        with safe_open(str(path), framework="pt") as file:
            header = file.metadata() or {}
            if header.get("format") != FORMAT:
                raise CheckpointError(
                    f"{short(path)} was not written by this project (no {FORMAT} in its header). Move it away and train anew."
                )
            return {name: file.get_tensor(name) for name in file.keys()}, json.loads(header["about"])
    except (SafetensorError, OSError, ValueError) as error:
        raise CheckpointError(
            f"{short(path)} cannot be read as a checkpoint, it may be truncated ({error}). Delete it to train anew."
        ) from None


def make_config(values: Mapping[str, Any]) -> Config:
    unknown = set(values) - {field.name for field in fields(Config)}
    if unknown:
        raise CheckpointError(
            f"The checkpoint's network has sizes this version does not know: {', '.join(sorted(unknown))}."
        )
    kinds = {
        field.name: type(field.default) if field.default is not MISSING else int for field in fields(Config)
    }
    # a file must not make us reserve all memory before its tensors are looked at
    for name, value in values.items():
        most = LAYERS if name.endswith(("_layers", "_blocks")) else SIZE
        least = 0 if name in ("encoder_feedforward", "hint_vocabulary") else 1
        if type(value) is not kinds[name] or kinds[name] is int and not least <= value <= most:
            raise CheckpointError(
                f"The checkpoint's network has {name} = {value!r}, which is nothing that a network has."
            )
    # the first networks were trained before this size existed, with biases
    return Config(**{"bias": True, **values})


class _WithoutDraws(TorchFunctionMode):
    """Within it nothing is drawn from a normal distribution. On the device "meta", whose tensors have shapes
    but no numbers, such a draw would import all of torch's own compiler: a second and 75 MB."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.init.normal_:
            return kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def _network_of(config: Config, tensors: Mapping[str, Tensor], path: Path) -> Network:
    """The network of these sizes with these weights, which must have its names and shapes: no memory is taken
    for it, and no random number drawn, before that is known."""
    with torch.device("meta"), _WithoutDraws():
        network = Network(config)
    own = network.state_dict()
    wrong = [name for name in own if name not in tensors or tensors[name].shape != own[name].shape] + [
        name for name in tensors if name not in own
    ]
    if wrong:
        raise CheckpointError(
            f"{short(path)} holds another network: {wrong[0]} and {len(wrong) - 1} more tensors differ."
        )
    weights = {name: tensor.to(torch.float32, copy=True) for name, tensor in tensors.items()}
    network.load_state_dict(weights, assign=True)
    return network.eval().requires_grad_(False)


@dataclass(frozen=True)
class Trained:
    """A trained network with all that is known about it."""

    name: str
    network: Network
    vocabulary: Vocabulary
    about: dict[str, Any]
    folder: Path

    def __repr__(self) -> str:
        size = sum(parameter.numel() for parameter in self.network.parameters())
        return f"Trained({self.name!r}: {size:,} parameters, vocabulary {self.vocabulary.name})"

    @property
    def config(self) -> Config:
        return self.network.config

    @property
    def history(self) -> list[dict[str, float]]:
        """Rows of step, samples, loss, lr, seconds."""
        return self.about["history"]

    @property
    def settings(self) -> dict[str, Any]:
        return self.about["settings"]

    @cached_property
    def templates(self) -> TemplateSet:
        """The training templates E_templ, without constants."""
        with gzip.open(self.folder / "templates.txt.gz", "rt", encoding="utf-8") as lines:
            return TemplateSet(map(str.rstrip, lines))

    @cached_property
    def seen(self) -> Seen:
        """The sequences really shown, constants included as C; see `has_seen`."""
        if not self.has_seen:
            raise CheckpointError(
                f"The log of what {self.name!r} was shown is too large to be shipped with it; its training templates are there. "
                f"Training it here makes the log: {train_command(self.name)}"
            )
        tensors, _ = read(self.folder / SEEN)
        return Seen(tensors["seen.hashes"].numpy(), tensors["seen.counts"].numpy())

    @property
    def has_seen(self) -> bool:
        """Whether the log of shown sequences came along."""
        return (self.folder / SEEN).exists()

    def snapshots(self) -> dict[int, Path]:
        """The steps at which weights were kept, with their files (in half precision); only where the network
        was trained."""
        places = (
            self.folder / "snapshots",
            self.folder.parent / "snapshots",
            training_folder(self.name) / "snapshots",
        )
        files = [path for place in places for path in sorted(place.glob("step-*.safetensors"))]
        return {int(path.stem.removeprefix("step-")): path for path in files}

    def at(self, step: int) -> Network:
        """The network as it was at one of the `snapshots()`, on the same device."""
        files = self.snapshots()
        if step not in files:
            raise CheckpointError(
                f"No snapshot of {self.name!r} at step {step}; there are {sorted(files) or 'none here'}."
            )
        return _network_of(self.config, read(files[step])[0], files[step]).to(self.network.device)


def training_folder(name: str) -> Path:
    """Where a run in progress lives: outputs/training/<scale>/<name>."""
    return OUTPUTS / "training" / name


def train_command(name: str) -> str:
    """What to type to train a network.

    >>> train_command("laptop/full"), train_command("tiny/gvs")
    ('python -m nsr train full', 'python -m nsr train gvs --scale tiny')
    """
    scale, _, short_name = name.rpartition("/")
    return f"python -m nsr train {short_name}" + (f" --scale {scale}" if scale not in ("", "laptop") else "")


def load(name: str, device: str | torch.device = "cpu") -> Trained:
    """A trained network by name, e.g. `load("laptop/nesymres")`: shipped in outputs/reference, or just
    trained here."""
    name = name if "/" in name else f"laptop/{name}"
    places = [
        folder
        for folder in (OUTPUTS / "reference" / name, REFERENCE / name, training_folder(name) / "final")
        if (folder / "about.json").exists()
    ]
    if not places:
        raise FileNotFoundError(f"No weights for {name!r} in outputs/reference. Run: {train_command(name)}")
    return load_folder(places[0], name, device)


def load_folder(folder: Path, name: str = "", device: str | torch.device = "cpu") -> Trained:
    """A trained network from the folder that `export` wrote."""
    about_path = folder / "about.json"
    try:
        about = json.loads(about_path.read_text())
        config, vocabulary = make_config(about["config"]), about["vocabulary"]
        vocabulary = VOCABULARIES[vocabulary["name"]].with_variables(vocabulary["n_variables"])
        if list(vocabulary.tokens) != about["vocabulary"]["tokens"]:
            raise CheckpointError(
                f"{short(about_path)} was made with other token ids than this version's {vocabulary.name}."
            )
        if about.get("hint_words", list(hint_words(vocabulary))) != list(hint_words(vocabulary)):
            raise CheckpointError(
                f"{short(about_path)} was made with other words for hints than this version's."
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CheckpointError(
            f"{short(about_path)} is not the description of a network of this project ({error!r})."
        ) from None
    weights = folder / "weights.safetensors"
    network = _network_of(config, read(weights)[0], weights).to(device)
    return Trained(name or folder.name, network, vocabulary, about, folder)


def export(
    folder: Path,
    network: Network,
    vocabulary: Vocabulary,
    templates: Iterable[Prefix],
    seen: Seen,
    about: Mapping[str, Any],
) -> Path:
    """Write a finished network as a folder; about.json last, so that a folder with it is complete."""
    spelled = {
        "name": vocabulary.name,
        "n_variables": vocabulary.n_variables,
        "tokens": list(vocabulary.tokens),
    }
    lines = "\n".join(sorted(" ".join(template) for template in templates)) + "\n"
    write(folder / "weights.safetensors", network.state_dict(), {})
    write(folder / SEEN, seen.tensors(), {})
    atomic_write(folder / "templates.txt.gz", gzip.compress(lines.encode(), mtime=0))
    atomic_write(
        folder / "about.json",
        to_json({"config": asdict(network.config), "vocabulary": spelled, **about}) + "\n",
    )
    return folder


def publish(name: str) -> Path:
    """Copy a finished network from outputs/training to outputs/reference, the folder that is committed; a
    large log stays behind."""
    source, target = training_folder(name) / "final", OUTPUTS / "reference" / name
    if not (source / "about.json").exists():
        raise CheckpointError(
            f"The training of {name!r} has not finished: there is no {short(source)}. Run: {train_command(name)}"
        )
    target.mkdir(parents=True, exist_ok=True)
    (target / "about.json").unlink(missing_ok=True)  # without it the folder counts as incomplete
    small = (source / SEEN).stat().st_size <= LARGEST_LOG
    (target / SEEN).unlink(missing_ok=True)
    for part in ("weights.safetensors", "templates.txt.gz", *([SEEN] if small else []), "about.json"):
        atomic_write(target / part, (source / part).read_bytes())
    return target
