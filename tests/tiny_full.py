"""A tiny network with all operators, trained once per session for every test that needs one."""
from functools import cache

from nsr.network.checkpoints import Trained
from nsr.evidence.measuring import network_for


@cache
def tiny_full() -> Trained:
    return network_for("", "full")
