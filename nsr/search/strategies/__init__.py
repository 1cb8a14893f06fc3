"""Test-time strategies: each is a frozen dataclass whose `search` reads like its algorithm for one problem
(see nsr.search.engine)."""

from nsr.search.strategies.beam import BeamSearch
from nsr.search.strategies.families import Families
from nsr.search.strategies.gvs import GVS
from nsr.search.strategies.local import LastLeaf, LocalSearch
from nsr.search.strategies.nsrwh import NSRwH
from nsr.search.strategies.offtree import OffTree
from nsr.search.strategies.tpsr import TPSR

__all__ = ["GVS", "NSRwH", "TPSR", "BeamSearch", "Families", "LastLeaf", "LocalSearch", "OffTree"]
