"""Several methods, or variants of one, trained with several seeds and measured side by side.

variants × seeds ──> runs ──> Comparison: means, deviations, differences
"""

from .comparing import compare
from .outcome import Comparison, Contrast, Spread
from .runs import Run
from .variants import Variant

__all__ = ["Comparison", "Contrast", "Run", "Spread", "Variant", "compare"]
