"""Test-time strategies: each is a frozen dataclass whose `search` reads like its algorithm for one problem (see nsr.engine)."""
from nsr.strategies.beam import BeamSearch
from nsr.strategies.gvs import GVS
from nsr.strategies.tpsr import TPSR

__all__ = ["GVS", "TPSR", "BeamSearch"]
