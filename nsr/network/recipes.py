"""The settings of a training run: flat keys in params/training/<scale>/<name>.yaml, every one of them known
by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import yaml

from nsr.book.run_records import ROOT
from nsr.book.spelling import refuse_unknown
from nsr.data.hints import hint_words
from nsr.formulas.expressions import VOCABULARIES, Vocabulary
from nsr.network.model import Config


class SettingsError(ValueError):
    """A setting that does not exist or cannot have this value."""


@dataclass(frozen=True)
class Data:
    """What is shown: templates once, constants, supports and points anew for every item."""

    vocabulary: str = "SIMPLIFIED"
    n_variables: int = 5
    min_operators: int = 2
    max_operators: int = 5
    draws: int = 5000  # templates drawn from p_E, repetitions included
    template_seed: int = 0
    # transformer4sr: size of a fixed set of tables, shown again every epoch; 0 = fresh items of the templates
    items: int = 0
    tables: int = 25  # of each of its skeletons
    max_constants: int = 6  # the published rule then draws 0 to 5 of them
    points_min: int = 40  # points per item: uniform between the two, the same within a batch
    points_max: int = 40
    pool: int = 6  # batches drawn together and sorted by length
    prompted: bool = False  # subtrees of the target before it (NSR-gvs)
    prompt_empty: float = 0.2
    prompt_longest: int = 9
    prompt_total: int = 20
    # NSRwH: the network is told something true about the target, each kind with its published probability
    hinted: bool = False
    hint_complexity: float = 0.3
    hint_symmetry: float = 0.2
    hint_positives: float = 0.3
    hint_negatives: float = 0.3
    hint_values: float = 0.15  # a positive shows the value of each of its constants with this probability


@dataclass(frozen=True)
class Training:
    """How it is learned."""

    steps: int = 1000
    epochs: int = 0  # passes over a fixed set, instead of steps
    batch: int = 128  # items per step, over all processes
    seed: int = 0
    optimiser: str = "muon"  # muon | adamw
    lr: float = 1e-3  # of AdamW
    weight_decay: float = 0.01
    beta2: float = 0.999
    muon_lr: float = 3e-3
    muon_momentum: float = 0.95
    muon_weight_decay: float = 0.0
    muon_iterations: int = 5
    clip: float = 0.0  # largest norm of the gradient; 0 = none
    schedule: str = "wsd"  # constant | inverse_sqrt | wsd | noam
    warmup: int = 0
    constant: int = 4000  # steps before inverse_sqrt begins
    decay: float = 0.2  # last fraction of the steps over which wsd goes to zero
    start_from: str = ""  # name of a trained network to begin with
    freeze_encoder: bool = False
    save_every: int = 500  # steps between checkpoints
    record_every: int = 50  # steps between rows of the history
    snapshots: int = 10  # weights kept at so many evenly spread steps
    device: str = "auto"  # auto | cpu | cuda
    precision: str = "auto"  # auto (bf16 on CUDA) | float32 | bf16
    compile: str = "auto"  # auto (on CUDA) | on | off
    threads: int = 0  # of PyTorch; 0 = as found


# may change when a run is resumed
FREE = {"steps", "epochs", "decay", "save_every", "snapshots", "device", "precision", "compile", "threads"}
_DERIVED = {"vocabulary", "n_variables"}  # of the network, known from the data


@dataclass(frozen=True)
class Settings:
    """Data, network and training, read from one flat mapping."""

    data: Data = field(default_factory=Data)
    network: Mapping[str, Any] = field(default_factory=dict)  # sizes of Config other than its defaults
    training: Training = field(default_factory=Training)

    @property
    def vocabulary(self) -> Vocabulary:
        return VOCABULARIES[self.data.vocabulary].with_variables(self.data.n_variables)

    def config(self) -> Config:
        words = {"hint_vocabulary": len(hint_words(self.vocabulary))} if self.data.hinted else {}
        return Config(
            vocabulary=len(self.vocabulary), n_variables=self.data.n_variables, **{**self.network, **words}
        )

    def flat(self) -> dict[str, Any]:
        """All keys with their values, defaults included."""
        sizes = {key: value for key, value in asdict(self.config()).items() if key not in _DERIVED}
        return asdict(self.data) | sizes | asdict(self.training)


def _typed(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values in the type of the defaults; YAML reads 3e-3 as text and 1 as an integer."""
    out = {}
    for key, value in values.items():
        kind = type(next(f.default for f in fields(cls) if f.name == key))
        try:
            good = (
                isinstance(value, bool)
                if kind is bool
                else not isinstance(value, bool)
                and kind(value) == (float(value) if kind is not str else value)
            )
        except (TypeError, ValueError, OverflowError):
            good = False
        if not good:
            raise SettingsError(
                f"{key} is {value!r}; it wants {'true or false' if kind is bool else f'a value like {kind.__name__}'}."
            )
        out[key] = kind(value)
    return out


def make_settings(values: Mapping[str, Any]) -> Settings:
    """Settings from flat keys; an unknown key is refused by name.

    >>> make_settings({"steps": 10, "width": 64}).flat()["width"]
    64
    >>> make_settings({"stepps": 10})
    Traceback (most recent call last):
    nsr.network.recipes.SettingsError: There is no setting 'stepps'. Did you mean 'steps'?
    """
    groups: dict[type, dict[str, Any]] = {Data: {}, Config: {}, Training: {}}
    # Data comes last: the vocabulary is a key of Config, too, and belongs to the data.
    owner = {f.name: cls for cls in (Config, Training, Data) for f in fields(cls)}
    refuse_unknown(values, owner, "setting", SettingsError)
    for key, value in values.items():
        groups[owner[key]][key] = value
    settings = Settings(
        Data(**_typed(Data, groups[Data])),
        _typed(Config, groups[Config]),
        Training(**_typed(Training, groups[Training])),
    )
    refuse_unknown([settings.data.vocabulary], VOCABULARIES, "vocabulary", SettingsError)
    try:
        settings.config()
    except ValueError as error:
        raise SettingsError(str(error)) from None
    t, items = settings.training, settings.data.items
    return (
        replace(settings, training=replace(t, steps=-(-t.epochs * items // t.batch)))
        if t.epochs and items
        else settings
    )


def read_settings(name: str, scale: str = "laptop", overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of params/training/<scale>/<name>.yaml with some keys replaced.

    `t4sr-1600` is `t4sr` with 1600 items. `nesymres@2` is another network of the same recipe: both of its
    seeds are two higher, so that its templates are others, and where it begins with a trained network, it
    begins with that one's `@2`.
    """
    name, _, number = name.partition("@")
    folder = ROOT / "params" / "training" / scale
    path, (base, _, size), sized = folder / f"{name}.yaml", name.rpartition("-"), {}
    if not path.exists() and size.isdigit() and (folder / f"{base}.yaml").exists():
        path, sized = folder / f"{base}.yaml", {"items": int(size)}
    if not path.exists():
        recipes = sorted(file.stem for file in folder.glob("*.yaml"))
        refuse_unknown([name], recipes, "recipe", SettingsError, f"at the scale {scale!r}")
    values = (yaml.safe_load(path.read_text()) or {}) | sized
    return make_settings(_numbered(values, number) | dict(overrides or {}))


def _numbered(values: Mapping[str, Any], number: str) -> dict[str, Any]:
    """The recipe of the network with this number; the one without a number is number 0."""
    if not number:
        return dict(values)
    if not number.isdecimal() or len(number) > 4 or number != str(int(number)) or number == "0":
        raise SettingsError(f"A network's number is 1, 2, 3 and so on, not {number!r}.")
    seeds = {key: values.get(key, 0) + int(number) for key in ("seed", "template_seed")}
    start = {"start_from": f"{values['start_from']}@{number}"} if values.get("start_from") else {}
    return {**values, **seeds, **start}
