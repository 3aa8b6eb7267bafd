"""Methods, or variants of one, trained with several seeds and compared.

variants × seeds ──> runs ──> Comparison: means, standard deviations, differences
"""

from .comparing import compare
from .results import Comparison, Contrast, Spread
from .runs import Run
from .variants import Variant

__all__ = ["Comparison", "Contrast", "Run", "Spread", "Variant", "compare"]
