"""Regressor: a formula for a table of the user's own.

A table comes in, as arrays, as a data frame or as a file; formulas in the names and units of its columns go
out.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    **{
        "estimator": "NSRegressor",
        "baselines": "BASELINES OURS as_prefix available same_time",
        "recovery": "BUDGETS NOISES RECOVERED WITHOUT SEEDS YARDSTICKS black_box_jobs published recovery_jobs release_jobs",
    },
)
