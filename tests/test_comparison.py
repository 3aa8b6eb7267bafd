"""Comparisons: runs are measured, kept and shared; means and differences are exact."""

from __future__ import annotations

import gc
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import treetop
from commands import python
from test_contract import topic_texts
from test_neural_training import QUICK
from treetop import Dataset, Variant
from treetop.comparison import Comparison, Run, compare, comparing
from treetop.comparison.runs import Conditions
from treetop.comparison.variants import every_method, parse_variant, settings_text
from treetop.digests import files_digest
from treetop.errors import ConfigError, TreetopError, UserError
from treetop.methods import METHODS
from treetop.metrics import compare as compare_predictions
from treetop.registry import SINGLE_METHODS

LINEAR = Variant("linear", "xr-linear")
NARROW = Variant("narrow", "xr-linear", {"linear.beam": 1})


@pytest.fixture(scope="module", autouse=True)
def quick_collections():
    """Every run ends with a garbage collection, which would pass over all objects of torch each time."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(scope="module")
def train() -> Dataset:
    return Dataset.from_texts(*topic_texts(120, seed=0), source="train")


@pytest.fixture(scope="module")
def test() -> Dataset:
    return Dataset.from_texts(*topic_texts(40, seed=1), source="test")


@pytest.fixture
def made(monkeypatch) -> list[tuple[str, int]]:
    """The runs that were trained, not found."""
    seen = []
    measure = comparing.measure

    def watched(variant, seed, *others):
        seen.append((variant.name, seed))
        return measure(variant, seed, *others)

    monkeypatch.setattr(comparing, "measure", watched)
    return seen


# -- variants ------------------------------------------------------------------------------------------------


def test_variants_have_layers_of_settings():
    variant = Variant.of(
        "v", "kim-cnn", {"filters": 9, "epochs": "4"}, {"cnn.filters": "7", "filter_sizes": "2-4-8"}
    )
    assert variant.settings == {"epochs": 4, "cnn.filters": 7, "cnn.filter_sizes": (2, 4, 8)}
    assert settings_text(variant.settings) == "epochs=4,cnn.filter_sizes=2-4-8,cnn.filters=7"
    model = variant.make(seed=3, threads=1, device="cpu")
    assert (model.config.seed, model.config.threads, model.config.device) == (3, 1, "cpu")
    assert model.config.cnn.filter_sizes == (2, 4, 8)
    assert LINEAR.make(seed=0, device="cpu").config.seed == 0  # it runs on no device of its own


def test_variants_are_parsed():
    assert parse_variant("wide = kim-cnn,filters=768, filter_sizes=2-4") == (
        "wide", "kim-cnn", {"filters": "768", "filter_sizes": "2-4"},
    )  # fmt: skip
    assert parse_variant("a=xr-linear") == ("a", "xr-linear", {})
    for text in ("kim-cnn", "=kim-cnn", "a=", "a=filters=3"):
        with pytest.raises(ConfigError, match="NAME=METHOD"):
            parse_variant(text)
    with pytest.raises(ConfigError, match=r"the variant 'a' has '4' .* written 2-4-8"):
        parse_variant("a=kim-cnn,filter_sizes=2,4")


def test_variants_that_cannot_be():
    with pytest.raises(ConfigError, match=r"^odd \(xr-linear\): there is no setting 'filters'"):
        Variant.of("odd", "xr-linear", {"filters": 3})
    with pytest.raises(ConfigError, match=r"^odd: a variant cannot set its own seed"):
        Variant.of("odd", "xr-linear", {"seed": 3})
    with pytest.raises(ConfigError, match="there is no method 'kim-cn'"):
        Variant.of("odd", "kim-cn")


# -- runs ----------------------------------------------------------------------------------------------------


def test_a_run_is_what_the_library_measures(train, test):
    comparison = compare([LINEAR, NARROW], train, test, seeds=2, threads=1)
    assert comparison.names == ["linear", "narrow"] and comparison.seeds == (0, 1)
    for variant in comparison.variants:
        for seed, run in enumerate(comparison.runs[variant.name]):
            model = treetop.make("xr-linear", seed=seed, threads=1, **variant.settings).fit(train)
            assert run.metrics == model.evaluate(test).to_dict()
            assert run.bytes == sum(array.nbytes for array in model.to_stored().arrays.values())
            assert (run.seed, run.parameters, run.epochs, run.device) == (seed, None, [], None)
            assert run.train_seconds > 0 and run.predict_milliseconds > 0
            again = run.predictions(train.labels)
            given = model.predict(test, k=5)
            assert np.array_equal(again.indptr, given.indptr) and np.array_equal(again.indices, given.indices)


def test_networks_report_their_parameters_and_epochs(train, test):
    network = Variant.of("tiny", "cnn-baseline", QUICK, {"epochs": 3, "hidden": 5, "validation": 0.2})
    (run,) = compare([network], train, test, seeds=[7]).runs["tiny"]
    assert run.seed == 7 and run.device == "cpu" and run.precision in ("float32", "bfloat16")
    assert run.parameters["hidden"] == 12 * 5 + 5
    assert [epoch["epoch"] for epoch in run.epochs] == [1, 2, 3] and 1 <= run.best_epoch <= 3
    assert "P@1" in run.epochs[0]


def test_finished_runs_are_kept_and_shared(train, test, tmp_path, made):
    wanted = compare([LINEAR], train, test, seeds=2, kept=tmp_path / "runs").to_dict()
    assert made == [("linear", 0), ("linear", 1)]
    assert compare([LINEAR], train, test, seeds=2, kept=tmp_path / "runs").to_dict() == wanted
    assert len(made) == 2
    # Another name and number of threads is the same run; more seeds and variants add to what is there.
    same = Variant("again", "xr-linear")
    compare([same, NARROW], train, test, seeds=3, kept=tmp_path / "runs", threads=2)
    assert made[2:] == [("narrow", 0), ("narrow", 1), ("again", 2), ("narrow", 2)]
    compare([LINEAR, same], train, test, seeds=[5])  # what two variants share is made once
    assert made[6:] == [("linear", 5)]
    compare([LINEAR], train[:100], test, seeds=1, kept=tmp_path / "runs")
    compare([LINEAR], train, test, seeds=1, ks=(1, 2), kept=tmp_path / "runs")
    assert len(made) == 9
    assert {path.suffix for path in (tmp_path / "runs").iterdir()} == {".json", ".npy"}


def test_damaged_runs_are_made_again(train, test, tmp_path, made):
    wanted = compare([LINEAR], train, test, seeds=1, kept=tmp_path)
    (record,), (ranked,) = tmp_path.glob("*.json"), tmp_path.glob("*.npy")
    for path, content in ((record, b"{"), (record, b"{}"), (ranked, b""), (ranked, ranked.read_bytes()[:-4])):
        path.write_bytes(content)
        again = compare([LINEAR], train, test, seeds=1, kept=tmp_path)
        assert again.runs["linear"][0].metrics == wanted.runs["linear"][0].metrics
    assert len(made) == 5


def test_an_interrupted_comparison_resumes(train, test, tmp_path, made, monkeypatch):
    measure = comparing.measure

    def interrupted(variant, seed, *others):
        if (variant.name, seed) == ("linear", 1):
            raise KeyboardInterrupt
        return measure(variant, seed, *others)

    with monkeypatch.context() as patch:
        patch.setattr(comparing, "measure", interrupted)
        with pytest.raises(KeyboardInterrupt):
            compare([LINEAR, NARROW], train, test, seeds=2, kept=tmp_path)
    assert made == [("linear", 0), ("narrow", 0)]
    compare([LINEAR, NARROW], train, test, seeds=2, kept=tmp_path)
    assert made[2:] == [("linear", 1), ("narrow", 1)]


def test_what_fails_is_named(train, test):
    broken = Variant("broken", "xr-linear", {"tfidf.min_df": 1000})
    with pytest.raises(UserError, match=r"^broken, seed 0: .*min_df"):
        compare([LINEAR, broken], train, test, seeds=1)
    with pytest.raises(ConfigError, match="two variants are called 'linear'"):
        compare([LINEAR, LINEAR], train, test)
    for wrong in ({"seeds": 0}, {"seeds": [-1]}, {"jobs": 0}, {"ks": ()}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            compare([LINEAR], train, test, **wrong)
    with pytest.raises(ConfigError, match="nothing to compare"):
        compare([], train, test)


@pytest.mark.process
def test_runs_in_processes(train, test, tmp_path):
    alone = compare([LINEAR, NARROW], train, test, seeds=2, threads=1)
    together = compare([LINEAR, NARROW], train, test, seeds=2, threads=1, jobs=2, kept=tmp_path)
    for name in alone.names:
        for a, b in zip(alone.runs[name], together.runs[name], strict=True):
            assert a.metrics == b.metrics and np.array_equal(a.ranked, b.ranked) and b.jobs == 2
    assert len(list(tmp_path.glob("*.json"))) == 4
    broken = Variant("broken", "xr-linear", {"tfidf.min_df": 1000})
    with pytest.raises(UserError, match=r"^broken, seed 0: .*min_df"):
        compare([LINEAR, broken], train, test, seeds=1, jobs=2)


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="processes are ended by signals")
def test_a_process_that_dies_is_reported(tmp_path):
    """As when the system ends it for lack of memory."""
    script = tmp_path / "dies.py"
    script.write_text(
        "import os, signal\n"
        "from treetop import Dataset, Variant, compare\n"
        "from treetop.methods.xr_linear import XRLinear\n"
        "XRLinear._fit = lambda self, *_, **__: os.kill(os.getpid(), signal.SIGKILL)\n"
        "if __name__ == '__main__':\n"
        "    data = Dataset.from_texts(['bread', 'sail'], [['baking'], ['sailing']])\n"
        "    compare([Variant('linear', 'xr-linear')], data, data, seeds=2, jobs=2)\n"
    )
    outcome = python(script)
    assert "TreetopError: linear, seed" in outcome.err and "ended with code -9" in outcome.err


@pytest.mark.process
@pytest.mark.skipif(sys.platform == "win32", reason="processes are ended by signals")
@pytest.mark.parametrize("by", ["SIGKILL", "SIGTERM"])
def test_processes_end_with_their_parent(tmp_path, by):
    script = tmp_path / "waits.py"
    script.write_text(
        "import os, pathlib, time\n"
        "from treetop import Dataset, Variant, compare\n"
        "from treetop.methods.xr_linear import XRLinear\n"
        "def fit(self, *_, **__):\n"
        "    (pathlib.Path(__file__).parent / f'{os.getpid()}.pid').touch()\n"
        "    time.sleep(90)\n"
        "XRLinear._fit = fit\n"
        "if __name__ == '__main__':\n"
        "    data = Dataset.from_texts(['bread', 'sail'], [['baking'], ['sailing']])\n"
        "    compare([Variant('linear', 'xr-linear')], data, data, seeds=2, jobs=2)\n"
    )
    with subprocess.Popen([sys.executable, script], stderr=subprocess.PIPE) as first:
        try:
            assert within(60, lambda: len(list(tmp_path.glob("*.pid"))) == 2)
        finally:
            first.send_signal(getattr(signal, by))
        first.wait()
        pids = [int(path.stem) for path in tmp_path.glob("*.pid")]
        try:
            assert within(20, lambda: not any(map(is_running, pids)))
        finally:
            for pid in filter(is_running, pids):
                os.kill(pid, signal.SIGKILL)
        assert b"Traceback" not in first.stderr.read()


def within(seconds: float, happens) -> bool:
    end = time.monotonic() + seconds
    while not (happened := happens()) and time.monotonic() < end:
        time.sleep(0.05)
    return happened


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")  # one that has ended may wait there for whoever adopted it
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False


def test_failures_that_are_not_the_users_keep_their_kind(train, test):
    exploding = Variant.of("wild", "kim-cnn", QUICK, {"learning_rate": 1e30, "optimizer": "sgd", "epochs": 3})
    with pytest.raises(TreetopError, match=r"^wild, seed 0: .*lower learning_rate") as caught:
        compare([exploding], train, test, seeds=1)
    assert not isinstance(caught.value, UserError)


# -- means and differences -----------------------------------------------------------------------------------

RIGHT = "ababc"


def hits(labels: str) -> int:
    return sum(label == right for label, right in zip(labels, RIGHT, strict=False))


def by_hand(**answers: list[str]) -> Comparison:
    """Runs whose first labels are given as strings: ``"aab"`` is one run on three texts."""
    train = Dataset.from_texts(["x"] * 3, [["a"], ["b"], ["c"]], source="train")
    texts = len(next(iter(answers.values()))[0])
    test = Dataset.from_texts(["x"] * texts, list(RIGHT[:texts]), source="test")
    runs = {}
    for name, several in answers.items():
        runs[name] = tuple(
            Run(
                method=name, config={}, seed=seed, train_seconds=1.0, predict_milliseconds=1.0, bytes=8,
                gpu_bytes=0, parameters=None, epochs=[], best_epoch=None, device=None, precision=None,
                threads=1, jobs=1, treetop="0",
                ranked=np.array([["abc".index(label)] for label in labels], np.int32),
                metrics=dict.fromkeys(("P@1", "PSP@1"), 100 * hits(labels) / texts),
            )
            for seed, labels in enumerate(several)
        )  # fmt: skip
    variants = tuple(Variant(name, "xr-linear") for name in answers)
    seeds = tuple(range(len(next(iter(answers.values())))))
    return Comparison(variants, seeds, runs, train, test, Conditions(ks=(1,)))


def test_means_and_deviations_by_hand():
    comparison = by_hand(good=["ababc", "ababa"], bad=["abaac", "cccca"])
    assert comparison.spread("good", "P@1") == (90, pytest.approx(math.sqrt(200)))
    assert comparison.spread("bad", "P@1") == (40, pytest.approx(math.sqrt(3200)))
    assert comparison.best == "good"
    contrast = comparison.contrast("good", "bad")["P@1"]
    assert contrast.difference == 50 and contrast.deviation == pytest.approx(math.sqrt((200 + 3200) / 2))
    t_test = stats.ttest_ind([100, 80], [80, 0], equal_var=False)
    assert contrast.p_of_seeds == pytest.approx(t_test.pvalue) and not contrast.significant
    with pytest.raises(ConfigError, match="no variant 'other'; it has good, bad"):
        comparison.spread("other", "P@1")


def test_improvements_over_a_variant_by_hand():
    comparison = by_hand(good=["ababc", "ababa"], bad=["abaac", "cccca"], none=["ccccb", "ccccb"])
    over = comparison.relative_to("bad")  # its mean is 40, those of the others are 90 and 0
    assert over == {"good": {"P@1": 125.0, "PSP@1": 125.0}, "none": {"P@1": -100.0, "PSP@1": -100.0}}
    assert comparison.relative_to("none") == {"good": {}, "bad": {}}
    with pytest.raises(ConfigError, match="no variant 'other'"):
        comparison.relative_to("other")


def test_one_seed_has_no_deviation_and_the_interval_of_its_texts():
    comparison = by_hand(good=["ababc"], bad=["abaac"])
    assert comparison.spread("good", "P@1") == (100, None)
    contrast = comparison.contrast("good", "bad")["P@1"]
    good, bad = (comparison.runs[name][0].predictions(comparison.train.labels) for name in ("good", "bad"))
    expected = compare_predictions(good, bad, comparison.test, train=comparison.train, ks=(1,))["P@1"]
    assert contrast == (expected.difference, None, None, expected.low, expected.high, expected.p_value)


def test_scores_of_a_text_are_averaged_over_the_seeds():
    """Two runs that are right by turns are half right about every text: other texts would change nothing."""
    turns = by_hand(turns=["abcc", "ccab"], wrong=["cccc", "cccc"]).contrast("turns", "wrong")["P@1"]
    assert (turns.difference, turns.low, turns.high) == (50, 50, 50)
    assert turns.deviation == 0 and turns.p_of_seeds == 0 and turns.significant


def test_every_method_gets_the_settings_it_has():
    variants = {variant.name: variant for variant in every_method({"max_length": "64", "tree.leaf_size": 7})}
    assert set(variants) == set(METHODS) - {"ensemble"} == set(SINGLE_METHODS)
    assert variants["flat-transformer"].settings == {"max_length": 64}
    assert variants["xr-linear"].settings == {"tree.leaf_size": 7}
    assert variants["neighbours"].settings == {}
    with pytest.raises(ConfigError, match="no method has a setting 'max_lenght'"):
        every_method({"max_lenght": 64})


def test_a_run_is_named_after_the_files_that_its_settings_name(tmp_path):
    vectors, encoder = tmp_path / "vectors.txt", tmp_path / "encoder"
    encoder.mkdir()
    of_words = treetop.make("kim-cnn", **{"words.vectors": str(vectors)}).config
    of_folder = treetop.make("lightxml", encoder=str(encoder)).config
    assert files_digest(treetop.make("xr-linear").config) == files_digest(of_words) == ""
    for config, file in ((of_words, vectors), (of_folder, encoder / "config.json")):
        found = []
        for content in ("one", "two!", "one"):
            file.write_text(content)
            found.append(files_digest(config))
        assert found[0] == found[2] != found[1]
