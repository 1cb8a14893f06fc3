"""A tiny network with all operators, trained once per session for every test that needs one."""
from functools import cache

from nsr.checkpoint import Trained
from nsr.evaluation import network_for


@cache
def tiny_full() -> Trained:
    return network_for("", "full")
