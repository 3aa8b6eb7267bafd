"""The former name of `treetop.ablations`, kept for one version."""

from .deprecation import renamed_names

__getattr__ = renamed_names(
    "treetop.studies",
    "treetop.ablations",
    {
        "Study": "Ablation",
        "load_study": "load_ablation",
        "study_names": "ablation_names",
        "Claim": "Claim",
        "Row": "Row",
    },
)
