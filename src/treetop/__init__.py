"""treetop: the few right labels out of thousands to millions.

Names are loaded on first use, so that ``import treetop`` and ``treetop --help`` stay instant.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from .comparison import Variant as Variant
    from .comparison import compare as compare
    from .data import Dataset as Dataset
    from .data import read as read
    from .data import write as write
    from .errors import ConfigError as ConfigError
    from .errors import DataError as DataError
    from .errors import ModelError as ModelError
    from .errors import TreetopError as TreetopError
    from .explanation import Explanation as Explanation
    from .methods import load as load
    from .methods import make as make
    from .methods.attention_xml import AttentionXML as AttentionXML
    from .methods.bonsai import Bonsai as Bonsai
    from .methods.cascadexml import CascadeXML as CascadeXML
    from .methods.cnn_baseline import CNNBaseline as CNNBaseline
    from .methods.dismec import DiSMEC as DiSMEC
    from .methods.ensemble import Ensemble as Ensemble
    from .methods.flat_transformer import FlatTransformer as FlatTransformer
    from .methods.hybrid import Hybrid as Hybrid
    from .methods.kim_cnn import KimCNN as KimCNN
    from .methods.kim_cnn import KimCNNSoftmax as KimCNNSoftmax
    from .methods.lightxml import LightXML as LightXML
    from .methods.neighbours import NearestNeighbours as NearestNeighbours
    from .methods.parabel import Parabel as Parabel
    from .methods.plt import PLT as PLT
    from .methods.x_transformer import XTransformer as XTransformer
    from .methods.xml_cnn import XMLCNN as XMLCNN
    from .methods.xml_cnn import XMLCNNImpl as XMLCNNImpl
    from .methods.xr_linear import XRLinear as XRLinear
    from .methods.xr_transformer import XRTransformer as XRTransformer
    from .metrics import evaluate as evaluate
    from .predictions import Predictions as Predictions
    from .strings import Strings as Strings
    from .tree import LabelTree as LabelTree
    from .tuning import tune as tune

_HOMES = {
    "AttentionXML": ".methods.attention_xml",
    "Bonsai": ".methods.bonsai",
    "CascadeXML": ".methods.cascadexml",
    "CNNBaseline": ".methods.cnn_baseline",
    "ConfigError": ".errors",
    "DataError": ".errors",
    "Dataset": ".data",
    "DiSMEC": ".methods.dismec",
    "Ensemble": ".methods.ensemble",
    "Explanation": ".explanation",
    "FlatTransformer": ".methods.flat_transformer",
    "Hybrid": ".methods.hybrid",
    "KimCNN": ".methods.kim_cnn",
    "KimCNNSoftmax": ".methods.kim_cnn",
    "LabelTree": ".tree",
    "LightXML": ".methods.lightxml",
    "ModelError": ".errors",
    "NearestNeighbours": ".methods.neighbours",
    "PLT": ".methods.plt",
    "Parabel": ".methods.parabel",
    "Predictions": ".predictions",
    "Strings": ".strings",
    "TreetopError": ".errors",
    "Variant": ".comparison",
    "XMLCNN": ".methods.xml_cnn",
    "XMLCNNImpl": ".methods.xml_cnn",
    "XRLinear": ".methods.xr_linear",
    "XRTransformer": ".methods.xr_transformer",
    "XTransformer": ".methods.x_transformer",
    "compare": ".comparison",
    "evaluate": ".metrics",
    "load": ".methods",
    "make": ".methods",
    "read": ".data",
    "tune": ".tuning",
    "write": ".data",
}

__all__ = [
    "PLT",
    "XMLCNN",
    "AttentionXML",
    "Bonsai",
    "CNNBaseline",
    "CascadeXML",
    "ConfigError",
    "DataError",
    "Dataset",
    "DiSMEC",
    "Ensemble",
    "Explanation",
    "FlatTransformer",
    "Hybrid",
    "KimCNN",
    "KimCNNSoftmax",
    "LabelTree",
    "LightXML",
    "ModelError",
    "NearestNeighbours",
    "Parabel",
    "Predictions",
    "Strings",
    "TreetopError",
    "Variant",
    "XMLCNNImpl",
    "XRLinear",
    "XRTransformer",
    "XTransformer",
    "__version__",
    "compare",
    "evaluate",
    "load",
    "make",
    "read",
    "tune",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        try:
            return getattr(importlib.import_module(_HOMES[name], __name__), name)
        except ModuleNotFoundError as error:
            from .errors import explain_missing

            raise explain_missing(error, name) from None
    raise AttributeError(f"module 'treetop' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
