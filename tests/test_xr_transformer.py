"""XR-Transformer: its shortlists, first weights, trees, settings, and a training that is killed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import treetop
from test_contract import topic_texts
from tiny_bert import tiny_bert
from treetop import Dataset, checkpoints
from treetop.errors import ConfigError
from treetop.features import fitted_tfidf
from treetop.features.text_features import TextFeatures
from treetop.methods import level_tuning
from treetop.methods.level_tuning import LevelTuning
from treetop.methods.node_validation import NodeValidation
from treetop.methods.xr_transformer import XRTransformer
from treetop.neural.batches import Examples
from treetop.neural.text_encoder import TextEncoder
from treetop.neural.training import Training
from treetop.ranked import Ranked
from treetop.tree import LabelTree, trees_of

QUICK = {
    "encoder": tiny_bert(), "epochs": 2, "batch_size": 16, "max_length": 32, "learning_rate": 1e-3,
    "tree.leaf_size": 2, "tree.branching": 2, "tree.top": 2, "refined.leaf_size": 3, "refined.branching": 2,
    "shortlist": 1, "threads": 1, "device": "cpu",
}  # fmt: skip


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(80, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


def tuning(train, **settings) -> LevelTuning:
    config = XRTransformer(**(QUICK | settings)).config
    encoder = TextEncoder.pretrained(config.transformer, config.max_length)
    _, X = fitted_tfidf(config.tfidf, train.texts, 1)
    tokens = encoder.tokens(train.texts)
    return LevelTuning(
        config, encoder, tokens, X, train.Y, first_tree(X, train), torch.device("cpu"), threads=1
    )


def first_tree(X, train) -> LabelTree:
    """The tree to fine-tune on."""
    config = XRTransformer(**QUICK).config
    return trees_of(X, train.Y, config.tree, seeds=[config.seed], threads=1)[0]


def test_levels_from_coarse_to_fine(train):
    assert tuning(train).tree.sizes == [2, 4, 6]
    assert tuning(train).levels == [0, 1, 2]
    assert tuning(train, max_clusters=4).levels == [0, 1]
    assert tuning(train, lowest=1).levels == [2]


@pytest.mark.parametrize(("method", "nodes"), [("xr-transformer", 2), ("x-transformer", 3)])
def test_the_mean_of_the_losses(train, method, nodes):
    """In a first step on all texts, it is their sum divided by the number of clusters."""
    own = {"epochs": 1, "batch_size": 80, "transformer.dropout": 0.0}
    if method == "x-transformer":
        own = {name: QUICK[name] for name in ("encoder", "max_length", "threads", "device")} | own
        own["clusters"] = nodes
    else:
        own = QUICK | own
    losses = [
        treetop.make(method, **own, reduction=reduction).fit(train).training_log["epochs"][0]["loss"]
        for reduction in ("sum", "mean")
    ]
    assert losses[1] == pytest.approx(losses[0] / nodes, rel=1e-5)


def test_a_shortlist_holds_the_true_parents_and_the_ranked_ones(train):
    made = tuning(train)
    count = len(train)
    beam = (np.arange(count + 1), np.full(count, 3, np.int32), np.ones(count, np.float32))
    for level in (1, 2):
        true = made.relevance[level - 1].toarray() > 0
        assert ((made.shortlist(level, None).toarray() > 0) == true).all()
    listed = made.shortlist(2, beam).toarray() > 0
    assert (listed[:, 3]).all() and (listed[:, :3] == true[:, :3]).all()
    assert made.shortlist(0, None).shape == (count, 1)
    # every positive of a level is a child of a shortlisted parent
    parents = made.tree.parents(2)
    positives = made.relevance[2].toarray() > 0
    assert listed[:, parents][positives].all()


def test_relevance_counts_the_labels_below_a_node(train):
    """R^(t) = R^(t+1) C^(t+1), by brute force."""
    made = tuning(train)
    labels = train.Y.toarray()
    for level, size in enumerate(made.tree.sizes):
        for node in range(size):
            expected = labels[:, made.tree.members(level, node)].sum(1)
            assert (made.relevance[level].toarray()[:, node] == expected).all()


def loss_of(made: LevelTuning, network, level: int, shortlist) -> float:
    examples = Examples(made.tokens, made.weights(level), shortlist=shortlist)
    batch = next(examples.batches([np.arange(len(examples))], torch.device("cpu")))
    with torch.no_grad():
        return float(network.eval()(batch))


def test_the_loss_of_a_level_by_brute_force(train):
    """Eq. 9: Σ over shortlisted nodes of R · max(0, 1 ∓ s)², mean over the texts."""
    made = tuning(train)
    shortlist = made.shortlist(1, None)
    network = made.network(1, None, shortlist, None)
    vectors = made._vectors()
    scores = vectors @ network.head.weight.detach().numpy().T
    R = made.relevance[1].toarray()
    inside = shortlist.toarray()[:, made.tree.parents(1)] > 0
    lost = np.where(R > 0, R * np.maximum(0, 1 - scores) ** 2, np.maximum(0, 1 + scores) ** 2)
    assert loss_of(made, network, 1, shortlist) == pytest.approx((lost * inside).sum() / len(train), rel=1e-4)


def test_the_loss_of_the_paper_by_brute_force(train):
    """Eq. 9 with R̂ = R / Σ R for positives and α for negatives, and λ‖W‖² for all texts together."""
    made = tuning(train, alpha=0.25, penalty=3)
    shortlist = made.shortlist(1, None)
    network = made.network(1, None, shortlist, None)
    W = network.head.weight.detach().numpy()
    scores = made._vectors() @ W.T
    R = made.relevance[1].toarray()
    shares = R / R.sum(1, keepdims=True)
    inside = shortlist.toarray()[:, made.tree.parents(1)] > 0
    lost = np.where(R > 0, shares * np.maximum(0, 1 - scores) ** 2, 0.25 * np.maximum(0, 1 + scores) ** 2)
    expected = ((lost * inside).sum() + 3 * (W**2).sum()) / len(train)
    assert loss_of(made, network, 1, shortlist) == pytest.approx(expected, rel=1e-4)


def test_the_initial_head_of_the_paper(train):
    """Eq. 11: gradients of Σ R̂ max(0, 1 ∓ s)² + λ‖w‖² (and of the bias, penalised too) vanish."""
    made = tuning(train, alpha=0.5, penalty=0.5)
    vectors, shortlist = made._vectors(), made.shortlist(0, None)
    with pytest.MonkeyPatch.context() as patch:
        exact = level_tuning.BOOTSTRAP.replace_settings({"tolerance": 1e-6, "max_passes": 10_000})
        patch.setattr(level_tuning, "BOOTSTRAP", exact)
        W, b = made._solved(0, vectors, shortlist)
    R = made.relevance[0].toarray()
    shares, scores = R / R.sum(1, keepdims=True), vectors @ W.T + b
    slopes = np.where(R > 0, -2 * shares * np.maximum(0, 1 - scores), 2 * 0.5 * np.maximum(0, 1 + scores))
    np.testing.assert_allclose(slopes.T @ vectors + 2 * 0.5 * W, 0, atol=2e-3)
    np.testing.assert_allclose(slopes.sum(0) + 2 * 0.5 * b, 0, atol=2e-3)


def test_the_best_epoch_of_every_level(train, test):
    """Each level ends with the weights of the epoch that ranks the nodes of held-out texts best."""
    told = []
    model = XRTransformer(**QUICK | {"epochs": 3, "metric": "nDCG@3"})
    model.fit(train, validation=test, on_epoch=told.append)
    entries = model.training_log["epochs"]
    assert entries == told and [entry["level"] for entry in entries] == [1] * 3 + [2] * 3 + [3] * 3
    assert all(0 <= entry["nDCG@3"] <= 100 for entry in entries)


def test_solved_first_weights_lower_the_loss(train):
    made = tuning(train)
    vectors = made._vectors()
    shortlist = made.shortlist(1, None)
    above = (np.zeros((2, vectors.shape[1]), np.float32), np.zeros(2, np.float32))
    losses = {}
    for bootstrap in ("weighted", "linear", "inherit", "none"):
        made.config = made.config.replace_settings({"bootstrap": bootstrap})
        losses[bootstrap] = loss_of(made, made.network(1, vectors, shortlist, above), 1, shortlist)
    assert losses["weighted"] <= losses["linear"] < losses["none"]
    assert losses["weighted"] < losses["inherit"]


@pytest.fixture(scope="module")
def model(train) -> XRTransformer:
    return XRTransformer(**QUICK).fit(train)


def test_learns_and_is_kept(model, test, tmp_path):
    assert model.evaluate(test)["P@1"] > 90
    assert [entry["level"] for entry in model.training_log["epochs"]] == [1, 1, 2, 2, 3, 3]
    assert model.training_log["precision"] in ("float32", "bfloat16")
    model.save(tmp_path / "model")
    again = treetop.load(tmp_path / "model").predict(test)
    assert np.array_equal(again.scores, model.predict(test).scores)


def test_the_rankers_have_a_tree_of_their_own(model, train):
    first = first_tree(model.ranker.features.tfidf.transform(train.texts), train)
    assert model.tree.sizes != first.sizes
    kept = XRTransformer(**(QUICK | {"refine": False, "epochs": 0})).fit(train)
    assert kept.tree.sizes == first.sizes and (kept.tree.labels == first.labels).all()


@pytest.mark.parametrize(
    "settings",
    [
        {"use": "tfidf"},
        {"use": "vectors"},
        {"epochs": 0},
        {"cost_sensitive": False, "bootstrap": "none"},
        {"lowest": 1, "bootstrap": "inherit"},
        {"loss": "bce", "steps": "3-4-5"},
    ],
)
def test_switches(settings, train, test):
    model = XRTransformer(**(QUICK | settings)).fit(train)
    assert model.evaluate(test)["P@1"] > (50 if settings.get("use") == "vectors" else 80)
    widths = {"tfidf": 0, "vectors": 32}
    terms = model.ranker.features.tfidf.n_features if settings.get("use") != "vectors" else 0
    assert model.ranker.model.n_features == terms + widths.get(settings.get("use"), 32)
    if "steps" in settings:
        last = {entry["level"]: entry["step"] for entry in model.training_log["epochs"]}
        assert last == {1: 3, 2: 4, 3: 5}


def test_an_encoder_that_is_not_tuned_reads_the_texts_once(train, tmp_path, monkeypatch):
    asked = []
    vectors = TextEncoder.vectors
    monkeypatch.setattr(
        TextEncoder, "vectors", lambda *a, **named: asked.append(named) or vectors(*a, **named)
    )
    XRTransformer(**(QUICK | {"epochs": 0}), cache=str(tmp_path)).fit(train)
    assert [named["cache"] for named in asked] == [str(tmp_path)]


def test_held_out_texts_are_ranked_below_the_best_nodes_above(train, test):
    """By brute force: scores of the children of the beam, and the share of true nodes among the best."""
    made = tuning(train)
    features = TextFeatures.fit(train, made.config.tfidf, unit_rows=True, threads=1)[0]
    device = torch.device("cpu")
    held_out = NodeValidation(
        test, train.labels, made.tree, made.encoder, features, made.config, device, threads=1
    )
    network = made.network(1, None, made.shortlist(1, None), None)
    held_out.beam = Ranked(np.arange(41), np.tile([0, 1], 20).astype(np.int32), np.ones(40, np.float32))
    scores = held_out._vectors() @ network.head.weight.detach().numpy().T
    parents = made.tree.parents(1)
    scores[parents[None, :] != np.tile([0, 1], 20)[:, None]] = -np.inf
    true = test.aligned_to(train.labels).Y.toarray() @ np.eye(6)[:, made.tree.labels]
    nodes = np.stack(
        [true[:, made.tree.offsets[2][n] : made.tree.offsets[2][n + 1]].sum(1) for n in range(4)], 1
    )
    expected = 100 * (nodes[np.arange(40), scores.argmax(1)] > 0).mean()
    metrics = held_out.validator(network, 1)()
    assert metrics["P@1"] == pytest.approx(expected)
    assert metrics["P@3"] <= 100 * 2 / 3  # each parent has two children


def test_patience_needs_held_out_texts(train):
    with pytest.raises(ConfigError, match=r"patience needs held-out examples: set validation=0\.1"):
        XRTransformer(**QUICK, patience=2).fit(train)


@pytest.mark.slow
@pytest.mark.parametrize("killed_in", [3, 13])
def test_a_killed_training_goes_on_to_the_same_end(train, test, tmp_path, monkeypatch, killed_in):
    """Killed in the first and in the third level (5 steps an epoch, 2 epochs a level)."""
    settings = QUICK | {"save_every": 0.0}
    whole = XRTransformer(**settings).fit(train)
    steps = []
    backward = Training._backward

    def count(training, *arguments):
        steps.append(1)
        if len(steps) > killed_in:
            raise KeyboardInterrupt
        return backward(training, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(Training, "_backward", count)
        with pytest.raises(KeyboardInterrupt), checkpoints.keeping(tmp_path / "kept", resume=False):
            XRTransformer(**settings).fit(train)
    done = len(steps)
    calls = []
    monkeypatch.setattr(Training, "_backward", lambda *a: (calls.append(1), backward(*a))[1])
    with checkpoints.keeping(tmp_path / "kept", resume=True):
        resumed = XRTransformer(**settings).fit(train)
    assert len(calls) < 30 - done + 7  # not from the beginning
    levels = [[entry["level"] for entry in model.training_log["epochs"]] for model in (resumed, whole)]
    assert levels == [[1, 1, 2, 2, 3, 3]] * 2 and resumed.training_log["best_epoch"] == 6
    answers, expected = resumed.predict(test), whole.predict(test)
    assert np.array_equal(answers.indices, expected.indices)
    assert np.allclose(answers.scores, expected.scores, atol=1e-6)


def test_the_second_tree_is_made_from_examples():
    with pytest.raises(
        ConfigError, match=r"built from examples: set refined\.vectors to one of pifa, .*, not label-text"
    ):
        XRTransformer(**{"refined.vectors": "label-text"})
