"""Feature and label matrices of the size and shape of a public benchmark, with a label structure to learn.

The labels have a hidden order, cut into topics of 16 neighbouring labels and areas of 256. A text has a place
in that order and takes most of its labels from nearby, so labels of a topic occur together; frequent labels
reach further, and a few labels come from anywhere. Label frequencies follow a power law,
n_r = 1 + c (r + q)^(-s), and are met by construction: each label is dealt out n_r times.

Every label, topic and area has words of its own, drawn at random from the vocabulary. A text is about its own
labels, in varying degrees, and more faintly about labels of its neighbours in the order, which it does not
have: no model can be right all the time. Its words come from what it is about (the label, its topic, its
area) and from a background in which the word of rank r has probability ∝ 1/r (Zipf). The value of a word is
(1 + ln count) · ln(N / texts with the word), and rows have length 1: TF-IDF.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ...config import setting
from ...strings import Strings
from ..dataset import Dataset
from .recipe import CorpusRecipe

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Benchmark:
    """Published sizes of a benchmark (texts, labels, features, averages), and the shape of its long tail."""

    train: int
    test: int
    labels: int
    features: int
    labels_per_text: float
    features_per_text: float
    """Approximate mean number of distinct words; for EUR-Lex, with a vocabulary of 5,000 words."""
    exponent: float = 1.5
    """s of the power law of label frequencies."""
    head: float = 0.02
    """Share of the texts that have the most frequent label; determines q."""


BENCHMARKS = {
    "eurlex-4k": Benchmark(15_449, 3_865, 3_956, 186_104, 5.30, 237, head=0.065),
    "wiki10-31k": Benchmark(14_146, 6_616, 30_938, 101_938, 18.64, 673, exponent=1.0, head=0.8),
    "amazoncat-13k": Benchmark(1_186_239, 306_782, 13_330, 203_882, 5.04, 71, head=0.25),
    "wiki-500k": Benchmark(1_779_881, 769_421, 501_070, 2_381_304, 4.75, 385, head=0.02),
    "amazon-670k": Benchmark(490_449, 153_025, 670_091, 135_909, 5.45, 76, exponent=1.0, head=0.004),
    "amazon-3m": Benchmark(1_717_899, 742_507, 2_812_281, 337_067, 36.04, 50, exponent=1.0, head=0.007),
}

TOPIC, AREA = 16, 256  # labels in each
OWN_WORDS = 24  # characteristic words of a label, a topic, an area
STRAY = 0.1  # share of the labels that come from anywhere
FAINT = 0.5  # how much a text is about a neighbour's label, relative to one of its own
SOURCES = (0.25, 0.25, 0.1, 0.4)  # share of a text's words from its labels, topics, areas, and the background
NEAR = 64  # how far away, in dealt labels, a neighbour's label may be
LENGTH_SPREAD = 0.5  # standard deviation of the logarithm of a text's number of words
CHUNK = 4_000_000  # words drawn at a time: bounds the working memory


@dataclass(frozen=True)
class Synthetic(CorpusRecipe):
    """Random data with the published size and shape of a benchmark."""

    like: str = setting("eurlex-4k", "benchmark to resemble", choices=tuple(BENCHMARKS))
    scale: float = setting(1.0, "fraction of its texts and labels", above=0, at_most=1)
    seed: int = setting(0, "seed of all random choices", at_least=0)

    def build(self) -> dict[str, Dataset]:
        size = BENCHMARKS[self.like]
        train, test, labels = (
            max(math.ceil(count * self.scale), least)
            for count, least in ((size.train, 8), (size.test, 2), (size.labels, 8))
        )
        rng = np.random.default_rng(self.seed)
        Y, about = label_sets(train + test, label_frequencies(size, train + test, labels), rng)
        X = feature_sets(about, size, rng)
        weigh(X, train)
        names, ids, source = Strings.numbers(labels), Strings.numbers(train + test), f"synthetic {self.like}"
        rows = {"train": slice(0, train), "test": slice(train, train + test)}
        return {
            split: Dataset.from_matrices(X[part], Y[part], labels=names, ids=ids[part], source=source)
            for split, part in rows.items()
        }


def label_frequencies(size: Benchmark, texts: int, labels: int) -> Ints:
    """Texts with the label of each rank: n_r = 1 + c (r + q)^(-s), Σ n_r = texts · labels per text."""
    wanted = max(round(texts * size.labels_per_text), labels)
    ranks = np.arange(1.0, labels + 1)
    low, high = 0.0, 10.0 * labels
    for _ in range(60):  # the first label's share falls as q grows: bisect for the wanted share
        shift = (low + high) / 2
        power = (ranks + shift) ** -size.exponent
        exact = 1 + (wanted - labels) * power / power.sum()
        low, high = (shift, high) if exact[0] > size.head * texts else (low, shift)
    return _steps(np.cumsum(exact))


def label_sets(
    texts: int, frequencies: Ints, rng: np.random.Generator
) -> tuple[sparse.csr_matrix, sparse.csr_matrix]:
    """The labels of every text, by id, and how much it is about each label, by place in the hidden order.

    Every label is dealt out ``frequencies`` times along the hidden order, which is then cut into texts.
    """
    labels = len(frequencies)
    frequencies = frequencies[rng.permutation(labels)]  # by place in the hidden order
    dealt = np.repeat(np.arange(labels, dtype=np.int32), frequencies)
    total = len(dealt)
    # The copies of a label spread evenly over a stretch around its place: two topics wide at least, and wide
    # enough that a text seldom gets two copies.
    ends = np.cumsum(frequencies)
    middle = (ends - frequencies / 2) / total
    reach = np.minimum(np.maximum(2 * TOPIC / labels, 3.0 * frequencies / texts), 1.0)
    copy = np.arange(total) - np.repeat(ends - frequencies, frequencies)
    along = (copy + rng.random(total)) / np.repeat(frequencies, frequencies) - 0.5
    place = np.repeat(middle, frequencies) + np.repeat(reach, frequencies) * along
    stray = rng.random(total) < STRAY
    place[stray] = rng.random(int(stray.sum()))
    dealt = dealt[np.argsort(place % 1.0, kind="stable")]
    text = np.repeat(np.arange(texts, dtype=np.int64), set_sizes(texts, total, rng))
    _part_twins(text, dealt, texts, rng)
    text = rng.permutation(texts)[text]
    shape = (texts, labels)
    label_id = rng.permutation(labels)  # ids do not give the order away
    Y = sparse.csr_matrix((np.ones(total, np.float32), (text, label_id[dealt])), shape)
    Y.data[:] = 1  # the few twins that remain count once
    near = dealt[(np.arange(total) + rng.integers(-NEAR, NEAR, total)) % total]
    own, faint = (rng.exponential(mean, total).astype(np.float32) for mean in (1.0, FAINT))
    about = sparse.csr_matrix((own, (text, dealt)), shape) + sparse.csr_matrix((faint, (text, near)), shape)
    return Y, about


def _part_twins(text: Ints, label: npt.NDArray[np.int32], texts: int, rng: np.random.Generator) -> None:
    """Moves the second copy of a label in one text to a neighbouring text, in place."""
    for _ in range(4):
        cell = text * (label.max() + np.int64(1)) + label
        order = np.argsort(cell, kind="stable")
        twins = order[1:][cell[order[1:]] == cell[order[:-1]]]
        text[twins] = (text[twins] + rng.integers(1, 9, len(twins))) % texts


def set_sizes(texts: int, total: int, rng: np.random.Generator) -> Ints:
    """Labels of each text: 1 + a gamma-Poisson number (mean and spread of real label counts), Σ = total."""
    spread = rng.gamma(4.0, 0.25, texts)
    shares = rng.poisson(spread * max(total / texts - 1, 0)) + 1e-9
    return 1 + _steps(np.cumsum(shares) / shares.sum() * (total - texts))


def _steps(running_total: npt.NDArray[np.float64]) -> Ints:
    """Whole numbers with a given running total: rounding the total, not the steps, keeps the sum."""
    edges = np.concatenate([[0.0], np.rint(running_total)]).astype(np.int64)
    return edges[1:] - edges[:-1]


def feature_sets(about: sparse.csr_matrix, size: Benchmark, rng: np.random.Generator) -> sparse.csr_matrix:
    """Word counts of every text."""
    texts, labels = about.shape
    vocabulary = Vocabulary(labels, size.features, rng)
    length = np.exp(rng.normal(0, LENGTH_SPREAD, texts))
    length /= length.mean()
    # Words drawn twice count once: find on a sample how many draws give the wanted number of distinct words.
    sample = np.sort(rng.permutation(texts)[:1000])
    sample_length = length[sample] / length[sample].mean()
    draws = 1.3 * size.features_per_text
    for _ in range(4):
        found = vocabulary.count_words(about[sample], draws * sample_length, rng).nnz / len(sample)
        draws *= size.features_per_text / found
    step = max(int(CHUNK / draws), 1)
    chunks = [
        vocabulary.count_words(about[start : start + step], draws * length[start : start + step], rng)
        for start in range(0, texts, step)
    ]
    return sparse.vstack(chunks, format="csr")


class Vocabulary:
    """The words of each label, topic and area, from which a text draws its words."""

    def __init__(self, labels: int, features: int, rng: np.random.Generator) -> None:
        self.features = features
        owners = (labels, -(-labels // TOPIC), -(-labels // AREA))
        # Uniform ranks, not Zipf's: characteristic words are rarer than the background's.
        self.own = [rng.integers(0, features, (count, OWN_WORDS), np.int32) for count in owners]

    def count_words(
        self, about: sparse.csr_matrix, lengths: npt.NDArray[np.float64], rng: np.random.Generator
    ) -> sparse.csr_matrix:
        """Draws ``lengths`` words for each row of ``about`` and counts them."""
        texts = about.shape[0]
        whole = np.maximum(lengths + rng.random(texts), 1).astype(np.int64)
        rows = np.repeat(np.arange(texts, dtype=np.int64), whole)
        # The label a word is about, drawn by the row's weights: a random point on their running total.
        total = np.concatenate([[0.0], np.cumsum(about.data, dtype=np.float64)])
        start, stop = total[about.indptr[:-1]][rows], total[about.indptr[1:]][rows]
        point = start + (stop - start) * rng.random(len(rows))
        entry = np.searchsorted(total, point, side="right") - 1
        label = about.indices[np.minimum(entry, about.indptr[rows + 1] - 1)]
        # The first of an owner's words are its most frequent: rank = ⌊OWN_WORDS · u²⌋.
        rank = (OWN_WORDS * rng.random(len(rows)) ** 2).astype(np.int64)
        # Log-uniform is Zipf's law with exponent 1: P(word < r) = ln(1 + r) / ln(1 + features).
        words = np.expm1(rng.random(len(rows)) * math.log1p(self.features)).astype(np.int64)
        source = np.searchsorted(np.cumsum(SOURCES), rng.random(len(rows)), side="right")
        for kind, width in enumerate((1, TOPIC, AREA)):
            chosen = source == kind
            words[chosen] = self.own[kind][label[chosen] // width, rank[chosen]]
        cells, counts = np.unique(
            rows * self.features + np.minimum(words, self.features - 1), return_counts=True
        )
        indptr = np.searchsorted(cells, np.arange(texts + 1, dtype=np.int64) * self.features)
        indices = (cells % self.features).astype(np.int32)
        return sparse.csr_matrix((counts.astype(np.float32), indices, indptr), (texts, self.features))


def weigh(X: sparse.csr_matrix, train: int) -> None:
    """Turns counts into unit rows of (1 + ln count) · ln(N / n), in place; N and n count training texts."""
    seen = np.bincount(X.indices[: X.indptr[train]], minlength=X.shape[1])
    rarity = np.log((train + 1) / np.maximum(seen, 1)).astype(np.float32)
    np.log(X.data, out=X.data)
    X.data += 1
    X.data *= rarity[X.indices]
    norms = np.sqrt(np.add.reduceat(np.square(X.data), X.indptr[:-1], dtype=np.float64)).astype(np.float32)
    X.data /= np.repeat(norms, np.diff(X.indptr))
