"""Tiny networks: each is trained once for its recipe and this version of the code, and kept for whoever asks
next.

    outputs/tiny/networks/<kind>-<digest>/   as `nsr.network.training.train` leaves it

The variable NSR_NETWORKS names another place than outputs/tiny/networks.
"""

import os
from pathlib import Path
from typing import Any

from nsr.book.leftovers import temporary_folder
from nsr.book.publishing import made_once
from nsr.book.run_records import OUTPUTS, PACKAGE, digest, to_json, versions
from nsr.network.checkpoints import Trained, load_folder
from nsr.network.recipes import Settings, read_settings
from nsr.network.training import train


def tiny_network(kind: str, device: str = "cpu", **changes: Any) -> Trained:
    """The tiny network of this kind, trained now unless that has been done before; `changes` are settings in
    which its recipe differs: `tiny_network("t4sr-160", epochs=100)`."""
    settings = read_settings(kind, "tiny", changes)
    place = networks_folder() / f"{kind}-{recipe_digest(settings)}"
    try:
        final = made_once(place, lambda folder: train(settings, folder)) / "final"
    except OSError:  # nothing can be kept here; the network is needed all the same
        final = train(settings, temporary_folder())
    return load_folder(final, f"tiny/{kind}", device)


def networks_folder() -> Path:
    """Where tiny networks are kept."""
    return Path(os.environ.get("NSR_NETWORKS") or OUTPUTS / "tiny" / "networks")


def recipe_digest(settings: Settings) -> str:
    """A short hash of all that decides the weights: the settings, the source of nsr and the versions of what
    it stands on."""
    files = sorted(PACKAGE.rglob("*.py"))
    names = [path.relative_to(PACKAGE).as_posix() for path in files]
    return digest(to_json(settings.flat()), to_json(versions()), *names, *files)
