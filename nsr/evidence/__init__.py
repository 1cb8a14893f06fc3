"""Evidence: from results to numbers that one may believe: novelty, accuracy, intervals, verdicts, figures.

Results come in; tidy tables with a record of each run, comparisons at equal cost, the judgement of the
paper's claims and pictures go out.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    **{
        "novelty": "ACCURATE SENSES THRESHOLDS TrainingSet accuracy_curve breakdown degenerate flagged novelty_table outside_language",
        "statistics": "Interval holm mcnemar mean paired_difference wilson",
        "verdicts": "MARGIN MISSING together verdict_on_claim verdict_on_difference",
        "rows": "Row",
        "measuring": "beam_grid measure measure_all measured network_for networks_for networks_here percent problems_of share_with_rank snapshot_steps tabulate whiskers",
        "reference_tables": "results_path",
        "planned_rows": "read_plan",
        "claims": "correlation judge judge_twice read_claims verdicts_on",
        "novel_steps": "SLOTS TOLD bare_problems choice_jobs gaps last_leaves log_probabilities shown_with_constants slot_of step_jobs told training_jobs walk",
        "improvement": "BY round_name rounds_jobs",
        "comparison": "KEY ROW at_equal_cost contrast gathered judged_together layout lead_over_beams novelty_line paired percent_of read_rows row_of seconds_taken share_of spread_of true_template unpaired",
        "paper": "PAPER_BEAM compare paper",
        "anytime": "has_traces share_at stopped_at",
        "controls": "control",
        "pruned_lines": "pruned_answers",
        "figures": "BLUE COPIED GREEN GREY INK LIGHT NOVEL ORANGE PINK RED SET_STYLES SKY STRATEGIES YELLOW draw_tree save style_of title_of use_style",
        "drawings": "PHASES around copy_picture draw_answer draw_beam draw_beginnings draw_fit draw_loop draw_pool draw_rollout draw_tokens draw_walks replay",
        "following": "CLASSES SELECTIONS asked followed",
        "practical": "labelled measure_practical practical_strategies",
        "charts": "charts",
        "scaling": "scaling",
    },
)
