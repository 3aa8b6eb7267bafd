"""Types of the native core (cpp/). CSR matrices: int64 indptr, int32 indices, float32 data."""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

def csr_flaw(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    columns: int,
    ascending: bool,
    threads: int,
) -> tuple[str, int] | None: ...
def hits(
    truth_indptr: npt.NDArray[np.int64],
    truth_indices: npt.NDArray[np.int32],
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    threads: int,
) -> npt.NDArray[np.uint8]: ...

Progress = Callable[[int, int], object] | None
_I64 = npt.NDArray[np.int64]
_I32 = npt.NDArray[np.int32]
_F32 = npt.NDArray[np.float32]

class XmcFault:
    """The first thing that is wrong in a text of the xmc format."""

    kind: str
    """"label list", "label range", "feature" or "feature range"."""
    line: int
    """From 0."""
    begin: int
    end: int
    """Where it stands in the text."""

def parse_xmc(
    text: npt.NDArray[np.uint8], rows: int, features: int, labels: int, threads: int
) -> tuple[_I64, _I32, _F32, _I64, _I32] | XmcFault:
    """Whole lines → features and labels. Empty lines behind the first ``rows`` are left out."""

def print_xmc(
    indptr: _I64,
    indices: _I32,
    data: _F32,
    label_indptr: _I64,
    labels: _I32,
    begin: int,
    end: int,
    threads: int,
) -> bytes:
    """The lines of rows ``begin`` to ``end``."""

def aggregate(
    label_indptr: _I64,
    documents: _I32,
    label_weights: _F32,
    indptr: _I64,
    indices: _I32,
    data: _F32,
    features: int,
    size: int,
    min_documents: int,
    unit: bool,
    threads: int,
    progress: Progress = None,
) -> tuple[_I64, _I32, _F32]: ...
def label_graph(
    label_indptr: _I64,
    documents: _I32,
    document_indptr: _I64,
    labels: _I32,
    hops: int,
    restart: float,
    neighbours: int,
    seed: int,
    threads: int,
    progress: Progress = None,
) -> tuple[_I64, _I32, _F32]: ...
def balanced_clusters(
    indptr: _I64,
    indices: _I32,
    data: _F32,
    features: int,
    sizes: Sequence[int],
    iterations: int,
    spherical: bool,
    seed: int,
    threads: int,
    progress: Progress = None,
) -> tuple[_I32, list[_I64]]: ...
def unbalanced_clusters(
    indptr: _I64,
    indices: _I32,
    data: _F32,
    features: int,
    branching: int,
    leaf_size: int,
    depth: int,
    iterations: int,
    spherical: bool,
    seed: int,
    threads: int,
    progress: Progress = None,
) -> tuple[_I32, list[_I64]]: ...
def simd_sets() -> list[str]:
    """The instruction sets that the kernels are compiled for and this machine runs, plainest first."""

def simd() -> str:
    """The one in use: the last, unless the environment variable TREETOP_SIMD or `use_simd` names another."""

def use_simd(name: str) -> None: ...

class SharedRows:
    """A matrix as the solvers read it: common features first, those of a single row apart."""

    def __init__(
        self,
        indptr: _I64,
        indices: _I32,
        data: _F32,
        features: int,
        threads: int,
        weights: _F32 | None = None,
    ) -> None:
        """``weights`` of the rows, all above 0, multiply their costs; None: all 1."""

class SolverOptions:
    def __init__(
        self,
        *,
        cost_positive: float,
        cost_negative: float,
        bias: float,
        tolerance: float,
        max_passes: int,
        loss: str,
        l1: float,
        refit: bool,
    ) -> None: ...

class LevelProblem:
    """What it takes to train a level: nodes × examples positives with costs, parents × examples shortlist."""

    def __init__(
        self,
        rows: SharedRows,
        positive_indptr: _I64,
        positives: _I32,
        positive_costs: _F32,
        shortlist_indptr: _I64,
        shortlist: _I32,
        offsets: _I64,
        last: bool,
        threshold: float,
        seed: int,
        solver: SolverOptions,
    ) -> None: ...

def train_levels(
    problems: Sequence[LevelProblem],
    threads: int,
    on_level: Callable[[int, tuple[_I64, _I32, _I64, _I32, _F32, _F32]], object],
    progress: Progress = None,
) -> None:
    """``on_level(number, (chunks, features, rows, children, weights, biases))`` as each level is complete."""

def pack_level(
    offsets: _I64,
    chunks: _I64,
    features: _I32,
    rows: _I64,
    children: _I32,
    weights: _F32,
    n_features: int,
    coded: bool,
    threads: int,
    codes: _F32 | None = None,
    dense: int | None = None,
) -> tuple[_I64, _I64, npt.NDArray[np.uint32], npt.NDArray[np.uint8], npt.NDArray[np.uint8], _F32]:
    """``chunks, starts, buckets, bytes, tables, codes`` of a packed level.

    ``codes`` of an older one may be kept. ``dense``: how many of the last features have tables; else those do
    that a third of the nodes have weights for.
    """

class Level:
    """A packed level ready for use. The arrays are used where they lie, and checked as they are used."""

    def __init__(
        self,
        offsets: _I64,
        chunks: _I64,
        starts: _I64,
        buckets: npt.NDArray[np.uint32],
        bytes: npt.NDArray[np.uint8],
        tables: npt.NDArray[np.uint8],
        codes: _F32,
        biases: _F32,
        n_features: int,
        last: bool,
    ) -> None: ...
    def unpack(self, parents: _I64 | None = None) -> tuple[_I64, _I32, _F32]:
        """``nodes, features, weights`` of all entries, or of those below some parents; in no order."""

def merge_weights(
    level: Level,
    parents: _I64,
    replaced: npt.NDArray[np.uint8],
    offsets: _I64,
    chunks: _I64,
    features: _I32,
    rows: _I64,
    children: _I32,
    weights: _F32,
    names: _I32,
    n_features: int,
    threads: int,
) -> tuple[_I64, _I32, _I64, _I32, _F32]:
    """``chunks, features, rows, children, weights`` below some parents after nodes were replaced or added.

    ``replaced`` marks the nodes of the level whose weights go; ``offsets`` to ``weights`` are the new weights
    (as `train_levels` gives them, a chunk for each parent), and ``names`` says which child of its parent each
    new node is.
    """

def beam_search(
    levels: Sequence[Level],
    transforms: Sequence[str],
    discounts: Sequence[float],
    beams: Sequence[int],
    labels: _I32 | None,
    indptr: _I64,
    indices: _I32,
    data: _F32,
    features: int,
    threads: int,
    progress: Progress = None,
    start: tuple[_I64, _I32, _F32] | None = None,
) -> tuple[_I64, _I32, _F32]:
    """``start``: for every query, nodes above the first of these levels and their scores; else the root."""

def ranking_flaw(indptr: _I64, ids: _I32, scores: _F32, labels: int) -> str | None:
    """What is wrong with ranked lists of ids below ``labels`` with decreasing scores, or nothing."""

def combine(
    rankings: Sequence[tuple[_I64, _I32, _F32]], weights: Sequence[float], k: int, threads: int
) -> tuple[_I64, _I32, _F32]:
    """The ``k`` best of the weighted sum of ranked lists; an id that a list lacks scores 0 there."""

def index_neighbours(
    indptr: _I64,
    indices: _I32,
    data: _F32,
    features: int,
    threads: int,
    progress: Progress = None,
) -> dict[str, npt.NDArray]: ...

class Neighbours:
    """An index of documents ready for use. The arrays are used where they lie, and checked."""

    def __init__(
        self,
        features: int,
        *,
        scales: _F32,
        starts: _I64,
        members: npt.NDArray[np.uint16],
        codes: npt.NDArray[np.int8],
        frequent: _I32,
        rows: _I64,
        slots: npt.NDArray[np.uint8],
        row_codes: npt.NDArray[np.int8],
        norms: _F32,
        label_indptr: _I64,
        label_ids: _I32,
        labels: int,
    ) -> None: ...
    def nearest(
        self,
        indptr: _I64,
        indices: _I32,
        data: _F32,
        count: int,
        skip_own: bool,
        threads: int,
        progress: Progress = None,
    ) -> tuple[_I64, _I32, _F32]: ...
    def vote(
        self,
        indptr: _I64,
        indices: _I32,
        data: _F32,
        neighbours: int,
        power: float,
        k: int,
        skip_own: bool,
        threads: int,
        progress: Progress = None,
    ) -> tuple[_I64, _I32, _F32]: ...

class TfidfOptions:
    def __init__(
        self,
        *,
        analyzer: str,
        lowercase: bool,
        shortest_word: int,
        first_line: int,
        ngram_min: int,
        ngram_max: int,
        idf: str | None,
        smooth_idf: bool,
        sublinear_tf: bool,
        binary: bool,
        saturation: float,
        norm: str | None,
    ) -> None: ...

class Tfidf:
    """A vocabulary ready for use. The arrays are used where they lie, and checked as they are used."""

    def __init__(
        self,
        options: TfidfOptions,
        *,
        word_bytes: npt.NDArray[np.uint8],
        word_offsets: _I64,
        word_slots: npt.NDArray[np.uint64],
        word_nodes: npt.NDArray[np.uint32],
        gram_slots: npt.NDArray[np.uint32],
        idf: _F32,
    ) -> None: ...
    def transform(
        self,
        buffer: npt.NDArray[np.uint8],
        offsets: _I64,
        threads: int,
        progress: Progress = None,
    ) -> tuple[_I64, _I32, _F32]: ...
    def words(
        self,
        buffer: npt.NDArray[np.uint8],
        offsets: _I64,
        first: int,
        unknown: int,
        longest: int,
        threads: int,
        progress: Progress = None,
    ) -> tuple[_I64, _I32]:
        """The words of every text in order: ``first`` + their term; others ``unknown``, if not negative."""

    def terms(self) -> tuple[npt.NDArray[np.uint8], _I64]: ...

def fit_tfidf(
    options: TfidfOptions,
    buffer: npt.NDArray[np.uint8],
    offsets: _I64,
    *,
    min_count: float,
    max_count: float,
    max_features: int,
    with_rows: bool,
    threads: int,
    progress: Progress = None,
) -> tuple[
    dict[str, npt.NDArray],
    tuple[_I64, _I32, _F32] | None,
]: ...
