"""A tiny network with all operators, trained once per session for every test that needs one."""

from functools import cache

from nsr.evidence.measuring import network_for
from nsr.network.checkpoints import Trained


@cache
def tiny_full() -> Trained:
    return network_for("", "full")
