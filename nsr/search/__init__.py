"""Search: from points and a network to verified candidates.

A strategy is a coroutine that asks by `yield` for next tokens, completions and verifications; the engine
answers the questions of all problems together, the oracle fits and counts, and a `Result` comes out.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    **{
        "engine": "Budget Search View solve solve_all",
        "oracle": "Oracle Verify r2_fresh",
        "decoding": "Complete Hypothesis NextTokens",
        "result": "r2_text",
        "pruning": "cost pruned",
        "protocol": "PROTOCOLS Protocol",
        "dimensions": "Dimensions",
        "physical_units": "read_unit unit_text",
        "outer": "Outer",
        "strategies": "strategies",
        "strategies.beam": "BeamSearch",
        "strategies.tpsr": "PUBLISHED TPSR Rollout",
        "strategies.gvs": "GVS pieces random_subtrees",
        "strategies.nsrwh": "GIVEN KINDS NSRwH",
        "strategies.families": "Book Families alike family_of key_of starts_of",
        "strategies.local": "LastLeaf LocalSearch random_templates",
        "strategies.offtree": "OffTree",
        "strategies.greedy": "Greedy",
        "strategies.names": "by_name kind_of",
    },
)
