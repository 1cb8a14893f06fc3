"""Verified candidates per second of every strategy, relative to plain beam search at b = 150 in the same run.

    python tests/bench/bench_strategies.py [--problems 150] [--iterations 30] [--plain FOLDER] [--prompted
    FOLDER]

The bar: TPSR and NSR-gvs stay within a factor of 3, and NSR-gvs + TPSR needs less than 20 minutes for 150
problems on 2 cores. Seconds are CPU seconds, so that other work on the machine changes no ratio. Without a
prompted network NSR-gvs runs on the plain one: the same work, but what it writes after a prompt is noise and
much too long.
"""

import argparse
import time
from pathlib import Path

import torch

from nsr.data.test_sets import test_set
from nsr.network.checkpoints import Trained, load, load_folder
from nsr.search.engine import solve_all
from nsr.search.strategies import GVS, TPSR, BeamSearch

BAR = 3.0
ROW = 20  # minutes


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=150)
    parser.add_argument("--iterations", type=int, default=30)
    parser.add_argument("--plain", type=Path, help="folder of a plain network; default: laptop/nesymres")
    parser.add_argument("--prompted", type=Path, help="folder of a prompted network; default: laptop/gvs")
    options = parser.parse_args()
    torch.set_num_threads(1)

    plain = load_folder(options.plain) if options.plain else load("laptop/nesymres")
    try:
        prompted = load_folder(options.prompted) if options.prompted else load("laptop/gvs")
    except FileNotFoundError:
        prompted = plain
        print("no prompted network here: NSR-gvs runs on the plain one")
    problems = test_set("not_included", plain.templates, n=options.problems)
    for network in (plain, prompted):
        # compile, and draw the random expressions
        solve_all(problems[:2], GVS(TPSR(), iterations=2), network)

    T = options.iterations
    runs: list[tuple[str, object, Trained]] = [
        ("beam, b = 150", BeamSearch(150), plain),
        ("beam, b = 5", BeamSearch(5), plain),
        ("TPSR, b = 1", TPSR(), plain),
        ("TPSR, b = 3", TPSR(beam_size=3), plain),
        ("TPSR, b = 1, r = 9", TPSR(rollouts=9), plain),
        ("NSR-gvs, b = 1", GVS(BeamSearch(1), T), prompted),
        ("NSR-gvs, b = 5", GVS(iterations=T), prompted),
        ("NSR-gvs + TPSR, b = 1", GVS(TPSR(), T), prompted),
    ]
    print(
        f"{len(problems)} problems, {T} iterations of NSR-gvs\n"
        f"{'':24s}{'seconds':>9s}{'candidates':>12s}{'fits':>9s}{'tokens':>11s}{'per second':>12s}{'beam/this':>11s}"
    )
    yardstick = None
    for label, strategy, network in runs:
        begin = time.process_time()
        results = solve_all(problems, strategy, network)
        seconds = time.process_time() - begin
        candidates, fits, tokens = (
            sum(getattr(r, key) for r in results) for key in ("n_candidates", "n_fits", "n_tokens")
        )
        rate = candidates / seconds
        yardstick = yardstick or rate
        slower = yardstick / rate
        print(
            f"{label:24s}{seconds:9.1f}{candidates:12,d}{fits:9,d}{tokens:11,d}{rate:12,.0f}{slower:11.2f}"
            f"{'  over the bar' * (slower > BAR)}",
            flush=True,
        )
    row = seconds / 60 * 150 / len(problems) * 30 / T  # the last run was NSR-gvs + TPSR
    print(
        f"NSR-gvs + TPSR: about {row:.0f} CPU minutes for 150 problems and 30 iterations; the bar is {ROW} minutes on 2 cores"
    )


if __name__ == "__main__":
    main()
