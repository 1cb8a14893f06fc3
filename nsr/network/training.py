"""The loop: resumable, on a CPU, a CUDA device or several processes, with the same stream of batches on all
of them.

    loss(θ) = − mean over target tokens of  log p_θ(token | tokens before it, points)          (teacher forcing)

`python -m nsr train nesymres --scale laptop` starts a run or goes on with it; under torchrun each process
takes its share of every batch.
"""

import contextlib
import hashlib
import math
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nsr.book.foreign_files import need, read_json
from nsr.book.run_records import EVERY, clock, code_digest, headless, new_record, short
from nsr.data.hints import hint_words
from nsr.formulas.expressions import END, START, ExpressionError, Prefix, Vocabulary
from nsr.formulas.notation import to_infix
from nsr.network import checkpoints
from nsr.network.batches import Background, Batch, Draw, Hints, Prompts, Stream, make_draw, make_hints
from nsr.network.checkpoints import CHECKPOINT, DESCRIPTION, CheckpointError
from nsr.network.devices import Learner, Objective, Place, joined, wants_bf16, wants_compiling
from nsr.network.model import Network
from nsr.network.optimisers import learning_rate, make_optimisers
from nsr.network.recipes import FREE, Settings, SettingsError, read_settings
from nsr.network.shown import Seen, Shown
from nsr.numbers import random_streams

Source = tuple[Sequence[Prefix], Draw]  # training templates, and how items are drawn from them
TRAINED_BY = ("formulas", "numbers", "data", "network")  # the rooms whose code decides the weights


@dataclass
class Progress:
    """How far a run has come; all of it is in the checkpoint."""

    step: int = 0
    seconds: float = 0.0
    loss_sum: float = 0.0  # since the last row of the history
    token_sum: float = 0.0
    history: list[dict[str, float]] = field(default_factory=list)
    shown: Shown = field(default_factory=Shown)


@torch.no_grad()
def greedy(
    network: Network, vocabulary: Vocabulary, points: Tensor, limit: int = 30, hints: Tensor | None = None
) -> Prefix:
    """The most likely token again and again, for one item's points (1, P, D+1): the probe shown while
    training."""
    memory = network.encode(points, None, hints)
    logits, state = network.prefill(memory, torch.tensor([[vocabulary.ids[START]]]))
    written: list[int] = []
    while len(written) < min(limit, network.config.positions - 1):
        token = logits.argmax(-1)  # (1,)
        if int(token) == vocabulary.ids[END]:
            break
        written.append(int(token))
        logits, state = network.step(token, state)
    return tuple(vocabulary.tokens[i] for i in written)


def _readable(prefix: Prefix) -> str:
    try:
        return to_infix(prefix)
    except ExpressionError:
        return "(" + " ".join(prefix) + ")"


class Run:
    """One training run: network, optimisers, stream and progress, with the way to and from disk."""

    def __init__(
        self, settings: Settings, folder: Path, source: Source, place: Place, hints: Hints | None = None
    ):
        templates, draw = source
        self.settings, self.folder, self.templates, self.place = settings, folder, templates, place
        t, d = settings.training, settings.data
        torch.manual_seed(t.seed)  # only the first weights are drawn from it
        self.network = Network(settings.config()).to(place.device)
        self.began_with: dict[str, Any] = {}  # what is known of the network that this one goes on from
        if t.start_from:
            found, kept = checkpoints.load(t.start_from), ("steps", "samples", "birth", "began_with")
            self.began_with = {"name": t.start_from}
            self.began_with |= {key: found.about[key] for key in kept if key in found.about}
            self.began_with["weights"] = checkpoints.weights_digest(found)
            missing = self.network.load_state_dict(found.network.state_dict(), strict=False)
            own = [key for key in missing.missing_keys if not key.startswith(("hint_", "anchors"))]
            if missing.unexpected_keys or own:
                raise SettingsError(f"start_from {t.start_from!r} is a network of another size.")
        if t.freeze_encoder:
            for part in (self.network.embed, self.network.blocks, self.network.pool):
                part.requires_grad_(False)
        names = ("weight_decay", "muon_lr", "muon_momentum", "muon_weight_decay", "muon_iterations", "beta2")
        self.bf16 = wants_bf16(t.precision, place.device)
        options = {name: getattr(t, name) for name in names}
        self.optimisers = make_optimisers(self.network, t.optimiser, t.lr, bf16=self.bf16, **options)
        prompts = Prompts(d.prompt_empty, d.prompt_longest, d.prompt_total) if d.prompted else None
        self.stream = Stream(
            draw, settings.vocabulary, t.seed, t.batch, (d.points_min, d.points_max), d.pool, self.network.config.positions, prompts, hints, d.hint_only, d.hint_copy,
            pad_to=4 if wants_compiling(t.compile, place.device) else 1, rank=place.rank, world=place.world,
        )  # fmt: skip
        self.progress = Progress()
        # what the first training showed has been seen, if its log came along
        if t.start_from and found.has_seen:
            self.progress.shown = Shown(found.seen)
        self.learn = Learner(Objective(self.network, t.label_smoothing), place, t.compile)

    @cached_property
    def templates_digest(self) -> str:
        return checkpoint_digest(self.templates)

    # ---- disk -----------------------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        own = {f"network.{name}": tensor for name, tensor in self.network.state_dict().items()}
        for optimiser in self.optimisers:
            own |= {f"optimiser.{name}": tensor for name, tensor in optimiser.tensors().items()}
        return own

    def save(self) -> None:
        p, kept = self.progress, ("step", "seconds", "loss_sum", "token_sum", "history")
        about = {"settings": self.settings.flat(), "templates": self.templates_digest}
        about |= {name: getattr(p, name) for name in kept}
        checkpoints.write(self.folder / checkpoints.LATEST, self.tensors() | p.shown.seen().tensors(), about)

    def resume(self) -> None:
        """Go on from latest.safetensors if there is one; refuse one that belongs to other settings."""
        path = self.folder / checkpoints.LATEST
        if not path.exists():
            return
        found, about = checkpoints.read(path)
        number, made = (int, float), f"{short(path)} was made with"
        with CHECKPOINT.of(path):
            need(about, settings=dict, step=int, history=list)
            need(about, seconds=number, loss_sum=float, token_sum=number)
        # a setting it did not have yet had its default
        now, before = (self.settings.flat(), Settings().flat() | about["settings"])
        for key in sorted(now.keys() | before.keys()):
            if key not in FREE and now.get(key) != before.get(key):
                values = f"{key} = {before.get(key)!r}, not {now.get(key)!r}"
                raise CheckpointError(f"{made} {values}. Move it away, or train with that.")
        if about.get("templates") != self.templates_digest:
            raise CheckpointError(f"{made} other training templates. Move it away to train anew.")
        own, there = self.tensors(), {k: v.shape for k, v in found.items() if not k.startswith("seen.")}
        if {k: v.shape for k, v in own.items()} != there:
            raise CheckpointError(f"{short(path)} holds the tensors of another network or optimiser.")
        with torch.no_grad():
            for name, tensor in own.items():
                tensor.copy_(found[name])
        shown = Shown(Seen.from_tensors(found))
        self.progress = Progress(
            about["step"], about["seconds"], about["loss_sum"], about["token_sum"], about["history"], shown
        )

    def snapshot(self) -> None:
        weights = {name: tensor.half() for name, tensor in self.network.state_dict().items()}
        path = self.folder / "snapshots" / f"step-{self.progress.step:08d}.safetensors"
        checkpoints.write(path, weights, {"step": self.progress.step})

    def finish(self) -> Path:
        p, t = self.progress, self.settings.training
        flat, vocabulary = self.settings.flat(), self.settings.vocabulary
        about = {"settings": flat, "history": p.history, "steps": p.step, "samples": p.step * t.batch}
        if self.settings.data.hinted:
            about["hint_words"] = list(hint_words(vocabulary))
        made = new_record(flat, t.seed, round(p.seconds, 1)) | {"code": code_digest(TRAINED_BY)}
        made["precision"] = "bf16" if self.bf16 else "float32"  # what `auto` was here
        about |= {"birth": made, "began_with": self.began_with}
        learned = self.network, vocabulary, set(self.templates), p.shown.seen()
        return checkpoints.export(self.folder / "final", *learned, about)

    # ---- one step -------------------------------------------------------------------------------------------------------------

    def step(self, batch: Batch) -> None:
        t, p, place = self.settings.training, self.progress, self.place
        factor = learning_rate(p.step, t.schedule, t.steps, t.warmup, t.constant, t.decay)
        on_device = batch.to(place.device)
        if self.network.config.dropout:  # a resumed run drops the same units
            torch.manual_seed(t.seed + random_streams.DROPOUT * (p.step * place.world + place.rank + 1))
        # Gradients are averaged over processes: the sum over the whole batch, per target, is that average
        # times their number.
        inputs = (on_device.points, on_device.tokens, on_device.targets, on_device.hints, on_device.hint_only)
        total = self.learn(inputs, place.world / batch.weight, self.bf16)
        if t.clip:
            nn.utils.clip_grad_norm_(self.network.parameters(), t.clip)
        for optimiser in self.optimisers:
            optimiser.lr = optimiser.base_lr * factor
            optimiser.step()
            optimiser.zero_grad()
        self._loss = total.double() + (self._loss if self._loss is not None else 0.0)
        p.step += 1
        p.token_sum += batch.weight
        if place.rank == 0:  # it writes the log for all
            p.shown.add(batch.shown)

    _loss: Tensor | None = None  # on the device, so that a step need not wait for it

    def collect_loss(self) -> None:
        """Bring the summed loss of all processes home into the progress."""
        if self._loss is not None:
            if self.place.world > 1:
                dist.all_reduce(self._loss)
            self.progress.loss_sum += float(self._loss)
            self._loss = None

    def record(self, seconds: float) -> None:
        """One row of history: mean loss per token since the last one."""
        t, p = self.settings.training, self.progress
        self.collect_loss()
        loss = p.loss_sum / p.token_sum
        if not math.isfinite(loss):
            again = f"Delete {short(self.folder)} and train with a smaller lr, or clip."
            raise FloatingPointError(f"The loss is {loss} at step {p.step}. {again}")
        factor = learning_rate(p.step - 1, t.schedule, t.steps, t.warmup, t.constant, t.decay)
        row = {"step": p.step, "samples": p.step * t.batch, "loss": loss, "lr": factor}
        p.history.append(row | {"seconds": round(seconds, 2)})
        p.loss_sum = p.token_sum = 0.0


def checkpoint_digest(templates: Iterable[Prefix]) -> str:
    """A short name for templates in this order: the 64 bits of them all as one line."""
    whole, between = hashlib.blake2b(digest_size=8), ""
    for template in templates:
        whole.update((between + " ".join(template)).encode())
        between = " "
    return whole.hexdigest()


def snapshot_steps(steps: int, count: int) -> set[int]:
    """`count` evenly spread steps, the last one included.

    >>> sorted(snapshot_steps(100, 4))
    [25, 50, 75, 100]
    """
    return {round(steps * (i + 1) / count) for i in range(count)}


def train(
    settings: Settings,
    folder: Path,
    source: Source | None = None,
    hints: Hints | None = None,
    stop_after: int | None = None,
) -> Path | None:
    """Train until `steps` (or for `stop_after` steps more) and return the folder with the finished network,
    or None if not finished.

    `source` replaces the project's own templates and item generator, `hints` what the settings say about
    hints.
    """
    t, path = settings.training, folder / "final" / "about.json"
    if path.exists():
        done = read_json(path, DESCRIPTION)
        with DESCRIPTION.of(path):
            need(done, steps=int)
        if done["steps"] >= t.steps:
            print(f"{short(folder)} is finished ({done['steps']:,} steps).", flush=True)
            return folder / "final"
    if t.threads:
        torch.set_num_threads(t.threads)
    with _flushed_denormals(), joined(t.device) as place:
        source = source or make_draw(settings, folder.parent)
        run = Run(settings, folder, source, place, hints or make_hints(settings))
        run.resume()
        first = run.progress.step
        last = t.steps if stop_after is None else min(t.steps, first + stop_after)
        probe = run.stream.pool_of(2**31)[0]  # a batch never reached
        batches = Background(run.stream.from_step(first, last))
        try:
            _loop(run, batches, last, probe)
        except KeyboardInterrupt:
            again = "The same command goes on from the last checkpoint."
            print(f"\nStopped at step {run.progress.step:,}. {again}", flush=True)
            raise
        finally:
            batches.close()
        if place.rank == 0 and run.progress.step == t.steps:
            return run.finish()
    return None


@contextlib.contextmanager
def _flushed_denormals() -> Iterator[None]:
    """Numbers below 1e-38 are zero, which is faster. However it ends, whoever called us may want to fit
    something with small numbers next."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


def _loop(run: Run, batches: Background, last: int, probe: Batch) -> None:
    """The steps from here to `last`, with history, checkpoints, snapshots and a line of progress."""
    t, p, rank = run.settings.training, run.progress, run.place.rank
    keep = snapshot_steps(t.steps, t.snapshots) if t.snapshots else set()
    lead, quiet = rank == 0, headless()
    started = told = time.perf_counter()
    before, first, bar = p.seconds, p.step, None
    if lead and not quiet:
        from tqdm.auto import tqdm

        bar = tqdm(total=t.steps, initial=first, desc="training", unit="step")
    for batch in batches:
        run.step(batch)
        now = time.perf_counter()
        p.seconds = before + now - started
        if p.step % t.record_every == 0 or p.step == t.steps:
            run.record(p.seconds)
        if p.step % t.save_every == 0 or p.step == last:
            run.collect_loss()
            if lead:
                run.save()
        if lead and p.step in keep:
            run.snapshot()
        if bar is not None:
            bar.update()
        if lead and (now - told >= EVERY or p.step == last):
            told = now
            words = _line(run, first, now - started, batches.waited, probe)
            if bar is not None:
                bar.set_postfix_str(words)
            else:
                print(f"step {p.step:,} of {t.steps:,}, {words}", flush=True)
    if bar is not None:
        bar.close()


def _line(run: Run, first: int, seconds: float, waited: float, probe: Batch) -> str:
    """Loss, speed, waiting, time left and one fixed item decoded."""
    t, p = run.settings.training, run.progress
    speed = (p.step - first) / seconds
    loss = f"loss {p.history[-1]['loss']:.3f}" if p.history else "loss –"
    hints = None if probe.hints is None else probe.hints[:1]
    guess = greedy(run.network, run.settings.vocabulary, probe.points[:1], hints=hints)
    clocks = f"waiting {waited / seconds:.1%}, {clock((t.steps - p.step) / speed)} left"
    written = f"probe {_readable(probe.shown[0])} → {_readable(guess)}"
    return f"{loss}, {speed * t.batch:,.0f} samples/s, {clocks}, {written}"


def main(name: str, scale: str = "laptop", overrides: Mapping[str, Any] | None = None) -> Path | None:
    """Train the network `name` at a scale, or go on with it: params/training/<scale>/<name>.yaml →
    outputs/training/<scale>/<name>/."""
    folder = checkpoints.training_folder(f"{scale}/{name}")
    try:
        return train(read_settings(name, scale, overrides), folder)
    except (SettingsError, CheckpointError) as error:
        sys.exit(str(error))
    except OSError as error:
        again = "Make room or make it writable; the same command then goes on from the last checkpoint."
        sys.exit(f"Cannot write {short(folder)} ({error.strerror or error}). {again}")
