"""Network: a set encoder that reads points and a decoder that writes tokens, and how they are trained.

A recipe (params/training) comes in; a folder with weights, training templates and the record of the training
goes out, and `load` reads it.
"""

from nsr.doors import door

__getattr__, __dir__, __all__ = door(
    __name__,
    model="PUBLISHED Config Network half_bits",
    batches="Prompts draw_prompt sequence",
    optimisers="learning_rate make_optimisers",
    devices="Objective",
    recipes="read_settings",
    tiny_networks="tiny_network",
    training="greedy",
    checkpoints="load",
)
