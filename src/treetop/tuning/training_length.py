"""How long networks train during tuning.

With a constant learning rate every epoch does the same work, however many follow: a network is measured after
each, and stops when it no longer improves. Any other network trains for all of its epochs, in the trial as in
the model of all examples.
"""

from __future__ import annotations

from ..methods import MethodConfig

EARLY_STOPPING = {"epochs": 50, "training.patience": 10}
"""The most epochs of a trial, and the number of epochs without improvement after which it stops."""
ALL_EPOCHS = {"training.patience": 0, "training.validation": 0}
"""Settings of a network that holds out nothing and trains for all of its epochs."""


def has_fixed_length(config: MethodConfig) -> bool:
    """Whether what a network does in an epoch depends on the number of epochs.

    Its learning rate rises or falls over the whole training, or its weights are averaged from some share of
    the training on. Stopping at an earlier epoch is then not the same as a shorter training.
    """
    schedule, warmup, average = (
        config.value(f"training.{name}") for name in ("schedule", "warmup", "average")
    )
    return bool(schedule != "constant" or warmup > 0 or average == "swa")
