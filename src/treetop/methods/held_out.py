"""Training examples held out for validation, calibration and the like."""

from ..data.held_out import held_out_if_possible, held_out_rows

__all__ = ["held_out_if_possible", "held_out_rows"]
