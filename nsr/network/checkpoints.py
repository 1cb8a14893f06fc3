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
import json
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import asdict, dataclass, fields
from functools import cached_property, lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor
from torch.overrides import TorchFunctionMode

from nsr.book.foreign_files import Kind, need, parse_json, read_bytes, read_json, read_lines, read_tensor_file
from nsr.book.run_records import OUTPUTS, REFERENCE, atomic_write, digest, reference_only, short, to_json
from nsr.book.spelling import refuse_unknown, shown
from nsr.data.hints import hint_words
from nsr.formulas.expressions import VOCABULARIES, Prefix, Vocabulary
from nsr.network.model import Config, Network
from nsr.network.shown import Seen

FORMAT = "nsr-checkpoint-1"
LATEST = "latest.safetensors"
SEEN = "seen.safetensors"
TEMPLATES = "templates.txt.gz"
DTYPES = ("F16", "BF16", "F32", "F64", "I16", "I32", "I64")  # of our tensors
# bytes: a log of shown sequences above this is not published, for a network may take 15 MB in all
LARGEST_LOG = 4_000_000


class CheckpointError(RuntimeError):
    """A file that cannot be used as a checkpoint, and why."""


CHECKPOINT = Kind("a checkpoint", CheckpointError, "Delete it to train anew.")
DESCRIPTION = Kind("the description of a network", CheckpointError)
LISTING = Kind("a list of training templates", CheckpointError)


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
    """The inverse of `write`; refuses what is truncated, was not written by it, or holds no finite numbers."""
    header = read_tensor_file(path, CHECKPOINT)
    about = header.about
    if about.get("format") != FORMAT:
        why = f"was not written by this project (no {FORMAT} in its header)"
        raise CheckpointError(f"{short(path)} {why}. Move it away and train anew.")
    with CHECKPOINT.of(path):
        kinds = [dtype for dtype, *_ in header.tensors.values()]
        refuse_unknown(kinds, DTYPES, "type of numbers", ValueError)
        try:
            with safe_open(str(path), framework="pt") as file:
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        except SafetensorError as error:
            raise ValueError(f"it may be truncated: {error}") from None
        if wrong := [name for name, tensor in tensors.items() if not bool(torch.isfinite(tensor).all())]:
            raise ValueError(f"{shown(wrong[0])} holds numbers that are not finite")
        need(about, about=str)
        return tensors, parse_json(about["about"])


def tensors_digest(path: Path) -> str:
    """A short hash of all tensors of a file, whatever order they have in it."""
    return digest(*read_tensor_file(path, CHECKPOINT).content())


def make_config(values: Mapping[str, Any]) -> Config:
    unknown = set(values) - {field.name for field in fields(Config)}
    if unknown:
        names = ", ".join(sorted(unknown))
        raise CheckpointError(f"The checkpoint's network has sizes this version does not know: {names}.")
    # the first networks were trained before biases could be left out
    return Config(**{"bias": True, "vocabulary": 0, **values})


class _WithoutDraws(TorchFunctionMode):
    """Within it nothing is drawn from a normal distribution. On the device "meta", whose tensors have shapes
    but no numbers, such a draw would import all of torch's own compiler: a second and 75 MB."""

    def __torch_function__(self, function, types, args=(), kwargs=None):
        if function is torch.nn.init.normal_:
            return kwargs["tensor"]
        return function(*args, **(kwargs or {}))


def _network_of(config: Config, path: Path) -> Network:
    """The network of these sizes with the weights of a file, which must have its names and shapes: no memory
    is taken for it, and no random number drawn, before that is known."""
    if config.parameters_at_least > read_tensor_file(path, CHECKPOINT).numbers:
        raise CheckpointError(f"{short(path)} holds another network, with fewer numbers.")
    tensors, _ = read(path)
    with torch.device("meta"), _WithoutDraws():
        network = Network(config)
    own, found = ({n: t.shape for n, t in some.items()} for some in (network.state_dict(), tensors))
    if wrong := [name for name in own | found if own.get(name) != found.get(name)]:
        many = f"{wrong[0]} and {len(wrong) - 1} more tensors differ"
        raise CheckpointError(f"{short(path)} holds another network: {many}.")
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
        return TemplateSet(map(str.rstrip, read_lines(self.folder / TEMPLATES, LISTING)))

    @cached_property
    def seen(self) -> Seen:
        """The sequences really shown, constants included as C; see `has_seen`."""
        if not self.has_seen:
            why = "is too large to be shipped with it; its training templates are there"
            again = f"Training it here makes the log: {train_command(self.name)}"
            raise CheckpointError(f"The log of what {self.name!r} was shown {why}. {again}")
        tensors, _ = read(self.folder / SEEN)
        with CHECKPOINT.of(self.folder / SEEN):
            need(tensors, **dict.fromkeys(("seen.hashes", "seen.counts"), Tensor))
        return Seen.from_tensors(tensors)

    @property
    def has_seen(self) -> bool:
        """Whether the log of shown sequences came along."""
        return (self.folder / SEEN).exists()

    def snapshots(self) -> dict[int, Path]:
        """The steps at which weights were kept, with their files (in half precision); only where this very
        network was trained."""
        files = sorted((self.folder.parent / "snapshots").glob("step-*.safetensors"))
        return {int(path.stem.removeprefix("step-")): path for path in files}

    def at(self, step: int) -> Network:
        """The network as it was at one of the `snapshots()`, on the same device."""
        files = self.snapshots()
        if step not in files:
            known = sorted(files) or "none here"
            raise CheckpointError(f"No snapshot of {self.name!r} at step {step}; there are {known}.")
        return _network_of(self.config, files[step]).to(self.network.device)


def weights_digest(trained: Trained, step: int | None = None) -> str:
    """A short name of the very weights and training templates, whatever folder, order or compression they lie
    in."""
    file = trained.folder / "weights.safetensors" if step is None else trained.snapshots().get(step)
    files = (file, trained.folder / TEMPLATES)
    times = (path.stat().st_mtime_ns if path and path.exists() else 0 for path in files)
    return _digest_of(files, tuple(times))


@lru_cache(maxsize=256)  # every row asks for the digest of its network; a file that changed has another time
def _digest_of(files: tuple[Path | None, Path], times: tuple[int, int]) -> str:
    weights = tensors_digest(files[0]) if times[0] else "(missing)"
    return digest(weights, read_bytes(files[1], LISTING) if times[1] else "(missing)")


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


def places_of(name: str) -> list[Path]:
    """The folders in which a finished network of this name lies, the one that counts first: one that was
    trained here comes before the committed one, unless the reader asked for the reference."""
    own = [] if reference_only() else [training_folder(name) / "final"]
    return [folder for folder in (*own, REFERENCE / name) if (folder / "about.json").exists()]


def load(name: str, device: str | torch.device = "cpu") -> Trained:
    """A trained network by name, e.g. `load("laptop/nesymres")`: trained here, or shipped in
    outputs/reference."""
    name = name if "/" in name else f"laptop/{name}"
    places = places_of(name)
    if not places:
        raise FileNotFoundError(f"No weights for {name!r} in outputs/reference. Run: {train_command(name)}")
    return load_folder(places[0], name, device)


def load_folder(folder: Path, name: str = "", device: str | torch.device = "cpu") -> Trained:
    """A trained network from the folder that `export` wrote."""
    path = folder / "about.json"
    about = read_json(path, DESCRIPTION)
    with DESCRIPTION.of(path):
        need(about, config=dict, vocabulary=dict, settings=dict, history=list)
        need(about["settings"], min_operators=int, max_operators=int, max_constants=int)
        config, spelled = make_config(about["config"]), about["vocabulary"]
        refuse_unknown([spelled.get("name")], VOCABULARIES, "vocabulary", ValueError)
    vocabulary = VOCABULARIES[spelled["name"]].with_variables(config.n_variables)
    if list(vocabulary.tokens) != spelled.get("tokens"):
        ours = f"this version's {vocabulary.name}"
        raise CheckpointError(f"{short(path)} was made with other token ids than {ours}.")
    if about.get("hint_words", list(hint_words(vocabulary))) != list(hint_words(vocabulary)):
        raise CheckpointError(f"{short(path)} was made with other words for hints than this version's.")
    network = _network_of(config, folder / "weights.safetensors").to(device)
    return Trained(name or folder.name, network, vocabulary, about, folder)


def export(
    folder: Path,
    network: Network,
    vocabulary: Vocabulary,
    templates: Iterable[Prefix],
    seen: Seen,
    about: Mapping[str, Any],
) -> Path:
    """Write a finished network as a folder; about.json last, so that a folder with it is complete.

    Its weights are rounded to half precision, which halves the file: of 450 answers of a beam of five, 446
    stayed the same, and as many were accurate. Whoever loads it computes in float32.
    """
    spelled = {
        "name": vocabulary.name,
        "n_variables": vocabulary.n_variables,
        "tokens": list(vocabulary.tokens),
    }
    lines = "\n".join(sorted(" ".join(template) for template in templates)) + "\n"
    weights = {name: tensor.half() for name, tensor in network.state_dict().items()}
    write(folder / "weights.safetensors", weights, {})
    write(folder / SEEN, seen.tensors(), {})
    atomic_write(folder / TEMPLATES, gzip.compress(lines.encode(), mtime=0))
    known = {"config": asdict(network.config), "vocabulary": spelled, **about}
    atomic_write(folder / "about.json", to_json(known) + "\n")
    return folder


def publish(name: str) -> Path:
    """Copy a finished network from outputs/training to outputs/reference, the folder that is committed; a
    large log stays behind."""
    source, target = training_folder(name) / "final", REFERENCE / name
    if not (source / "about.json").exists():
        missing = f"there is no {short(source)}. Run: {train_command(name)}"
        raise CheckpointError(f"The training of {name!r} has not finished: {missing}")
    target.mkdir(parents=True, exist_ok=True)
    (target / "about.json").unlink(missing_ok=True)  # without it the folder counts as incomplete
    small = (source / SEEN).stat().st_size <= LARGEST_LOG
    (target / SEEN).unlink(missing_ok=True)
    for part in ("weights.safetensors", TEMPLATES, *([SEEN] if small else []), "about.json"):
        atomic_write(target / part, (source / part).read_bytes())
    return target
