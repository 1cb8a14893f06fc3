"""Book: run a notebook, make its page, sweep it, and copy it for a class; and keep a record of every run.

A notebook and parameters come in; a folder with the executed copy, its page, its figures and its record goes
out. No other room is used here, and every room may use the records.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    run_records="REFERENCE ROOT new_record clock digest figure_dir headless progress record run_dir short uses",
    result_tables="read_table record_path write_table",
    runner="notebooks",
)
