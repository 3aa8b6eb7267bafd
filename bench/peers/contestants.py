"""The contestants: a line each, with library, settings and data sets.

The tuned setting of each peer has the highest mean of P@1, P@3 and P@5 over deb-tags and deb-deps among those
that `bench/peers/peer_settings.py` compared on validation splits of their training data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Contestant:
    """One row of the table for each data set."""

    name: str
    runner: str
    """The script: bench/peers/runners/run_<runner>.py."""
    settings: dict[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    """Names of the data sets it runs on; empty: all."""

    def runs_on(self, data: str) -> bool:
        return not self.only or data in self.only


def is_ours(contestant: str) -> bool:
    return contestant.startswith("treetop")


TFN, MAN = {"leaf_size": 100}, {"leaf_size": 100, "negatives": "tfn+man"}
"""The tree of PECOS's defaults (clusters of at most 100 labels, 16 joined per level, beam 10)."""

SAME_TREE = "treetop xr-linear, tree as PECOS"
SAME_TREE_MAN = "treetop xr-linear, tree as PECOS, tfn+man"
FROM_TEXTS = "treetop xr-linear, from texts"
PECOS = "PECOS, defaults"
PECOS_MAN = "PECOS, tfn+man"

SMALL, HALF = ("deb-tags",), ("deb-tags", "deb-deps")
"""For contestants that are left out on larger data, to keep the run short."""

CONTESTANTS = (
    Contestant(SAME_TREE, "treetop", {"method": "xr-linear", **TFN}),
    Contestant(PECOS, "pecos"),
    Contestant("treetop xr-linear", "treetop", {"method": "xr-linear"}),
    Contestant("Omikuji, defaults (Parabel)", "omikuji"),
    Contestant(SAME_TREE_MAN, "treetop", {"method": "xr-linear", **MAN}),
    Contestant(PECOS_MAN, "pecos", {"negative_sampling_scheme": "tfn+man"}),
    Contestant(FROM_TEXTS, "treetop", {"method": "xr-linear", "input": "texts"}),
    Contestant("PECOS, tuned", "pecos", {"negative_sampling_scheme": "tfn+man", "max_leaf_size": 400}, HALF),
    Contestant(
        "Omikuji, tuned (Bonsai)",
        "omikuji",
        {"cluster_balanced": False, "cluster_k": 100, "max_depth": 3},
        HALF,
    ),
    Contestant("treetop parabel", "treetop", {"method": "parabel"}),
    Contestant("napkinXC, defaults (PLT)", "napkinxc"),
    Contestant("treetop bonsai", "treetop", {"method": "bonsai"}),
    Contestant("napkinXC, tuned (PLT)", "napkinxc", {"loss": "l2", "liblinear_c": 1, "ensemble": 3}, HALF),
    Contestant("treetop plt", "treetop", {"method": "plt"}),
    Contestant("treetop neighbours", "treetop", {"method": "neighbours"}),
    Contestant("treetop hybrid", "treetop", {"method": "hybrid"}),
    Contestant(
        "napkinXC, one-versus-all", "napkinxc", {"model": "BR", "loss": "l2", "liblinear_c": 1}, SMALL
    ),
    Contestant("treetop dismec", "treetop", {"method": "dismec"}, SMALL),
)
