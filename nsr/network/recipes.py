"""The settings of a training run: flat keys in params/training/<scale>/<name>.yaml, every one of them known
by name."""

import contextlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Annotated, Any, Literal

from nsr.book.bounds import Amount, Between, Count, Natural, Share, refuse_outside
from nsr.book.foreign_files import Kind, read_yaml
from nsr.book.run_records import ROOT, short
from nsr.book.spelling import refuse_unknown, shown
from nsr.data.hints import hint_words
from nsr.formulas.expressions import VOCABULARIES, Vocabulary
from nsr.network.model import Config, Variables

Operators = Annotated[int, Between(0, 12)]  # as many as `nsr.data.templates.TreeRecipe` draws


class SettingsError(ValueError):
    """A setting that does not exist or cannot have this value."""


RECIPE = Kind("a recipe in plain YAML", SettingsError)


@dataclass(frozen=True)
class Data:
    """What is shown: templates once, constants, supports and points anew for every item."""

    vocabulary: str = "SIMPLIFIED"
    n_variables: Variables = 5
    min_operators: Operators = 2
    max_operators: Operators = 5
    draws: Count = 5000  # templates drawn from p_E, repetitions included
    template_seed: Natural = 0
    # as many templates more, each a drawn one with a subtree of another in place of one of its own
    exchanges: Natural = 0
    reordered: bool = False  # the terms of a target's sums stand in a random order, another for every item
    # transformer4sr: size of a fixed set of tables, shown again every epoch; 0 = fresh items of the templates
    items: Natural = 0
    tables: Count = 25  # of each of its skeletons
    max_constants: Natural = 6  # the published rule then draws 0 to 5 of them
    points_min: Count = 40  # points per item: uniform between the two, the same within a batch
    points_max: Count = 40
    pool: Count = 6  # batches drawn together and sorted by length
    prompted: bool = False  # subtrees of the target before it (NSR-gvs)
    prompt_empty: Share = 0.2
    prompt_longest: Count = 9
    prompt_total: Natural = 20
    # NSRwH: the network is told something true about the target, each kind with its published probability
    hinted: bool = False
    hint_complexity: Share = 0.3
    hint_symmetry: Share = 0.2
    hint_positives: Share = 0.3
    hint_negatives: Share = 0.3
    hint_values: Share = 0.15  # a positive shows the value of each of its constants with this probability
    hint_only: Share = 0.0  # of the items: their hints are shown, and no points
    # of the items: the target is its own tokens in a random order, no expression, and they are told in pieces
    hint_copy: Share = 0.0

    def __post_init__(self):
        refuse_unknown([self.vocabulary], VOCABULARIES, "vocabulary", SettingsError)
        refuse_outside(self, SettingsError)
        for low, high in (("min_operators", "max_operators"), ("points_min", "points_max")):
            if getattr(self, low) > getattr(self, high):
                raise SettingsError(f"{low} is {getattr(self, low)}; {high} must not be less.")
        # the tables of a fixed set are what they are, and a hint names the constants in their order
        for name, others in (("exchanges", ["items"]), ("reordered", ["items", "hinted"])):
            if getattr(self, name) and (other := [key for key in others if getattr(self, key)]):
                raise SettingsError(f"{name} does not go together with {other[0]}.")


@dataclass(frozen=True)
class Training:
    """How it is learned."""

    steps: Count = 1000
    epochs: Natural = 0  # passes over a fixed set, instead of steps
    batch: Count = 128  # items per step, over all processes
    seed: Natural = 0
    label_smoothing: Share = 0.0  # of the target's probability, spread evenly over the vocabulary
    optimiser: Literal["muon", "adamw"] = "muon"
    lr: Amount = 1e-3  # of AdamW
    weight_decay: Amount = 0.01
    beta2: Share = 0.999
    muon_lr: Amount = 3e-3
    muon_momentum: Share = 0.95
    muon_weight_decay: Amount = 0.0
    muon_iterations: Count = 5
    clip: Amount = 0.0  # largest norm of the gradient; 0 = none
    schedule: Literal["constant", "inverse_sqrt", "wsd", "noam"] = "wsd"
    warmup: Natural = 0
    constant: Count = 4000  # steps before inverse_sqrt begins
    decay: Share = 0.2  # last fraction of the steps over which wsd goes to zero
    start_from: str = ""  # name of a trained network to begin with
    freeze_encoder: bool = False
    save_every: Count = 500  # steps between checkpoints
    record_every: Count = 50  # steps between rows of the history
    snapshots: Natural = 10  # weights kept at so many evenly spread steps
    device: Literal["auto", "cpu", "cuda"] = "auto"
    precision: Literal["auto", "float32", "bf16"] = "auto"  # auto is bf16 where the device multiplies it
    compile: Literal["auto", "on", "off"] = "auto"  # auto is on with CUDA
    threads: Natural = 0  # of PyTorch; 0 = as found

    def __post_init__(self):
        refuse_outside(self, SettingsError)


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
        return Config(len(self.vocabulary), self.data.n_variables, **{**self.network, **words})

    def flat(self) -> dict[str, Any]:
        """All keys with their values, defaults included."""
        sizes = {key: value for key, value in asdict(self.config()).items() if key not in _DERIVED}
        return asdict(self.data) | sizes | asdict(self.training)


def _typed(cls: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """Numbers in the type of the defaults: YAML reads 3e-3 as text and 100.0 as a number that may not be whole.
    What is no number stays as it is, for the bounds to refuse."""
    kinds = {f.name: type(f.default) for f in fields(cls)}
    return {key: _number(value, kinds[key]) for key, value in values.items()}


def _number(value: Any, kind: type) -> Any:
    if kind in (int, float) and isinstance(value, str | int | float) and not isinstance(value, bool):
        with contextlib.suppress(ValueError, OverflowError):
            if kind(value) == float(value):
                return kind(value)
    return value


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
    data, sizes, training = (_typed(cls, given) for cls, given in groups.items())
    settings = Settings(Data(**data), sizes, Training(**training))
    try:
        settings.config()
    except ValueError as error:
        raise SettingsError(str(error)) from None
    t, items = settings.training, settings.data.items
    if t.epochs and items:
        return replace(settings, training=replace(t, steps=-(-t.epochs * items // t.batch)))
    return settings


def read_settings(name: str, scale: str = "laptop", overrides: Mapping[str, Any] | None = None) -> Settings:
    """The settings of params/training/<scale>/<name>.yaml with some keys replaced.

    `t4sr-1600` is `t4sr` with a fixed set of 1600 items, and `brief-1000` is `brief` with templates of 1000
    draws. `nesymres@2` is another network of the same recipe: both of its seeds are two higher, so that its
    templates are others, and where it begins with a trained network, it begins with that one's `@2`. A recipe
    that says `like: nesymres` has only what differs from that one.
    """
    name, _, number = name.partition("@")
    known = {file.stem: file for file in sorted((ROOT / "params" / "training" / scale).glob("*.yaml"))}

    def values_of(name: str) -> dict[str, Any]:
        refuse_unknown([name], known, "recipe", SettingsError, f"at the scale {scale!r}")
        values = read_yaml(known[name], RECIPE) or {}
        if not isinstance(values, dict):
            raise SettingsError(f"{short(known[name])} is no recipe. It needs lines like 'steps: 1000'.")
        return values

    base, _, size = name.rpartition("-")
    sized = name not in known and base in known and size.isdecimal() and len(size) < 10
    values = values_of(base if sized else name)
    if like := values.pop("like", ""):
        values = values_of(str(like)) | values
    if sized:
        values["items" if values.get("items") else "draws"] = int(size)
    return make_settings(_numbered(values, number) | dict(overrides or {}))


def _numbered(values: Mapping[str, Any], number: str) -> dict[str, Any]:
    """The recipe of the network with this number; the one without a number is number 0."""
    if not number:
        return dict(values)
    if not number.isdecimal() or len(number) > 4 or number != str(int(number)) or number == "0":
        raise SettingsError(f"A network's number is 1, 2, 3 and so on, not {shown(number)}.")
    known = make_settings(values).flat()
    seeds = {key: known[key] + int(number) for key in ("seed", "template_seed")}
    start = {"start_from": f"{known['start_from']}@{number}"} if known["start_from"] else {}
    return {**values, **seeds, **start}
