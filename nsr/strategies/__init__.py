"""Test-time strategies: each is a frozen dataclass whose `search` reads like its algorithm for one problem (see nsr.engine)."""
from nsr.strategies.beam import BeamSearch
from nsr.strategies.families import Families
from nsr.strategies.gvs import GVS
from nsr.strategies.local import LastLeaf, LocalSearch
from nsr.strategies.nsrwh import NSRwH
from nsr.strategies.tpsr import TPSR

__all__ = ["GVS", "NSRwH", "TPSR", "BeamSearch", "Families", "LastLeaf", "LocalSearch"]
