"""The server's routes, in this process: responses, errors, keys, headers, feedback, Annif's interface."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import treetop
from small_servers import examples, save_model
from treetop.errors import ConfigError, ModelError, TreetopError
from treetop.serve import feedback
from treetop.serve.app import make_app
from treetop.serve.feedback import SCHEMA, Feedback, FeedbackStore, connect
from treetop.serve.http_errors import HttpError
from treetop.serve.models import named_folders
from treetop.serve.private_copies import PrivateCopies
from treetop.serve.served_model import version_of
from treetop.serve.server import listen
from treetop.serve.services import Services
from treetop.serve.settings import ServeConfig

TEXT = "a cat with fur plays the guitar"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("models") / "small"
    save_model(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder) -> Any:
    return treetop.load(folder)


def make_client(folder: Path | dict[str, Path], tmp: Path, **settings: Any) -> TestClient:
    folders = folder if isinstance(folder, dict) else {"small": folder}
    config = ServeConfig(**({"feedback": str(tmp / "feedback.sqlite"), "watch": 0} | settings))
    return TestClient(
        make_app(Services(folders, config)), base_url="http://127.0.0.1", raise_server_exceptions=False
    )


@pytest.fixture(scope="module")
def server(folder, tmp_path_factory):
    with make_client(folder, tmp_path_factory.mktemp("feedback")) as client:
        yield client


def predict(server: TestClient, body: Any) -> Any:
    response = server.post("/v1/predict", json=body)
    return response.status_code, response.json()


# -- predictions ---------------------------------------------------------------------------------------------


def test_predictions_are_those_of_the_model(server, model) -> None:
    texts = list(examples().texts)[:20]
    status, answer = predict(server, {"texts": texts, "k": 4})
    assert status == 200 and answer["model"] == "small" and len(answer["results"]) == len(texts)
    for expected, result in zip(model.predict(texts, 4), answer["results"], strict=True):
        assert [entry["label"] for entry in result["labels"]] == [label for label, _ in expected]
        scores = np.array([entry["score"] for entry in result["labels"]], np.float32)
        assert (scores == np.array([score for _, score in expected], np.float32)).all()


def test_one_text_or_several_same_predictions(server) -> None:
    one = predict(server, {"text": TEXT})[1]["results"]
    assert (
        one
        == predict(server, {"texts": [TEXT]})[1]["results"]
        == [predict(server, {"texts": [TEXT, "x"]})[1]["results"][0]]
    )
    assert len(one[0]["labels"]) == 10


def test_k_above_the_number_of_labels_and_threshold(server, model) -> None:
    everything = predict(server, {"text": TEXT, "k": 1000})[1]["results"][0]["labels"]
    assert len(everything) <= len(model.labels)
    some = predict(server, {"text": TEXT, "k": 1000, "threshold": 0.2})[1]["results"][0]["labels"]
    assert some == [entry for entry in everything if entry["score"] > 0.2] and 0 < len(some) < len(everything)


def test_empty_text(server) -> None:
    assert predict(server, {"text": ""})[0] == 200


def test_words_of_an_explanation_are_at_their_positions(server, model) -> None:
    text = "ein Äuto: fahren, 🐈 bremsen und parken"
    status, answer = predict(server, {"text": text, "k": 2, "explain": True})
    assert status == 200
    best = answer["results"][0]["labels"][0]
    assert best["label"] == "Über-Straße" and best["path"][-1] == "Über-Straße"
    assert {"fahren", "bremsen", "parken"} <= {entry["word"] for entry in best["words"]}
    for entry in best["words"]:
        assert text[entry["start"] : entry["end"]] == entry["word"]
    # The words' weights sum to the contributions of the explanation's terms, over the whole path.
    explanation = model.explain(text, "Über-Straße")
    terms = [term for step in explanation.path for term in step.terms if term.spans]
    assert sum(e["weight"] for e in best["words"]) == pytest.approx(
        sum(t.contribution for t in terms), abs=1e-4
    )


def test_explained_labels_are_shared_evenly_among_texts(folder, tmp_path) -> None:
    with make_client(folder, tmp_path, max_explained=6) as server:
        results = predict(server, {"texts": [TEXT, "pan oven"], "k": 5, "explain": True})[1]["results"]
    assert [["words" in entry for entry in result["labels"]] for result in results] == [
        [True] * 3 + [False] * 2
    ] * 2


def test_explanations_stop_at_their_limit_and_at_the_timeout(folder, tmp_path, monkeypatch) -> None:
    from treetop.methods.base import Method

    with make_client(folder, tmp_path, max_explained=3, timeout=0.4) as server:
        results = predict(server, {"texts": [TEXT] * 5, "k": 2, "explain": True})[1]["results"]
        assert [["words" in entry for entry in result["labels"]] for result in results] == [
            [True, False]
        ] * 3 + [[False, False]] * 2
        calls: list[str] = []
        quick = Method.explain
        monkeypatch.setattr(
            Method, "explain", lambda *given: (calls.append(""), time.sleep(0.3), quick(*given))[2]
        )
        status, answer = predict(server, {"texts": [TEXT] * 3, "k": 1, "explain": True})
        assert status == 503 and "0.4 s" in answer["error"]
        monkeypatch.setattr(Method, "explain", quick)
        assert predict(server, {"text": TEXT, "k": 1, "explain": True})[0] == 200
        assert len(calls) == 2  # the third would have started too late


def test_explanations_of_ensembles_have_parts(folder, tmp_path) -> None:
    treetop.Ensemble([treetop.load(folder), treetop.load(folder)]).save(tmp_path / "both")
    with make_client({"both": tmp_path / "both"}, tmp_path) as server:
        status, answer = predict(server, {"text": TEXT, "k": 1, "explain": True})
    best = answer["results"][0]["labels"][0]
    assert status == 200 and len(best["parts"]) == 2 and best["path"] and best["words"]


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({}, 422, "either text or texts"),
        ({"text": "a", "texts": ["b"]}, 422, "either text or texts"),
        ({"texts": []}, 422, "texts"),
        ({"texts": ["a", 7]}, 422, "texts.1"),
        ({"text": None}, 422, "text"),
        ({"text": "a", "k": 0}, 422, "k:"),
        ({"text": "a", "k": 1001}, 422, "limit of 1,000"),
        ({"text": "a", "k": "5"}, 422, "k:"),
        ({"text": "a", "k": True}, 422, "k:"),
        ({"text": "a", "k": 10**40}, 422, "k"),
        ({"text": "a", "threshold": 1.5}, 422, "threshold"),
        ({"text": "a", "treshold": 0.5}, 422, "'treshold'"),
        ({"text": "a", "model": "other"}, 404, "available: small"),
        ({"text": "a" * 100_001}, 422, "100,001 characters"),
        ({"texts": ["a"] * 257}, 422, "257"),
        ({"texts": ["a"] * 100, "k": 1000}, 422, "limit of 50,000"),
        ([], 422, "the request"),
        ("text", 422, "the request"),
    ],
)
def test_bad_requests_get_one_sentence(server, body, status, words) -> None:
    found, answer = predict(server, body)
    assert found == status and set(answer) == {"error"} and words in answer["error"], answer


@pytest.mark.parametrize(
    ("raw", "kind", "status"),
    [
        (b"", "application/json", 400),
        (b"{", "application/json", 400),
        (b'{"text": "\xff\xfe"}', "application/json", 400),
        (b'{"text": "\\ud800"}', "application/json", 400),
        (b'{"text": NaN}', "application/json", 422),
        (b'{"text": "a", "threshold": NaN}', "application/json", 422),
        (b"[" * 100_000 + b"]" * 100_000, "application/json", 400),
        (b'{"a":' * 50_000 + b"1" + b"}" * 50_000, "application/json", 400),
        (b'{"text": "a"}', "text/plain", 415),
        (b'{"text": "a"}', "", 415),
        (b"x" * 4_000_001, "application/json", 413),
        (b'{"text": "' + b"a" * 10_000_000 + b'"}', "application/json", 413),
    ],
)
def test_invalid_bodies_are_refused(server, raw, kind, status) -> None:
    answer = server.post("/v1/predict", content=raw, headers={"content-type": kind})
    assert answer.status_code == status and set(answer.json()) == {"error"}, answer.text


@pytest.mark.slow
def test_every_route_that_predicts_has_the_same_limits(folder, tmp_path) -> None:
    limits = {"max_labels": 20, "max_k": 15, "max_texts": 3, "max_text": 50}
    with make_client(folder, tmp_path, **limits) as server:

        def texts(given: list[str], k: int) -> list[int]:
            several = {"documents": [{"text": text} for text in given]}
            answers = [
                server.post("/v1/predict", json={"texts": given, "k": k}),
                server.post("/v1/predict", json={"texts": given, "k": k, "explain": True}),
                server.post(f"/v1/projects/small/suggest-batch?limit={k}", json=several),
            ]
            if len(given) == 1:
                form = {"text": given[0], "limit": k}
                answers.append(server.post("/v1/projects/small/suggest", data=form))
            return [answer.status_code for answer in answers]

        assert texts([TEXT], 15) == [200] * 4 and texts([TEXT] * 2, 10) == [200] * 3
        for given, k in (
            ([TEXT], 16),
            ([TEXT] * 2, 11),
            ([TEXT] * 3, 1000),
            ([TEXT] * 4, 1),
            (["a" * 51], 1),
        ):
            assert set(texts(given, k)) == {422}
    with make_client(folder, tmp_path, max_labels=5) as server:
        assert set(texts([TEXT], 6)) == {422}


def test_bodies_with_many_errors_are_refused_fast(server) -> None:
    for body in ({"texts": [1] * 1_000_000}, {f"a{n}": 1 for n in range(300_000)}):
        began = time.monotonic()
        assert predict(server, body)[0] in (413, 422)
        assert time.monotonic() - began < 5


def test_internal_errors_reveal_nothing(folder, tmp_path, monkeypatch) -> None:
    with make_client(folder, tmp_path) as server:
        monkeypatch.setattr("treetop.serve.served_model.ServedModel.predict", lambda *_: 1 / 0)
        answer = server.post("/v1/predict", json={"text": "a"})
        assert answer.status_code == 500 and "ZeroDivision" not in answer.text and "Trace" not in answer.text
        monkeypatch.undo()
        assert server.post("/v1/predict", json={"text": "a"}).status_code == 200


def test_a_failing_text_fails_only_its_own_request(folder, tmp_path) -> None:
    """The other requests of the same batch get their predictions."""
    from treetop.serve.batching import Batcher
    from treetop.serve.metrics import Metrics
    from treetop.serve.served_model import load_served

    class FailsOnBad:
        def __init__(self) -> None:
            self.inner = load_served("small", folder, {}, PrivateCopies(tmp_path))

        def predict(self, texts, k):
            time.sleep(0.05)
            if "bad" in texts:
                raise ValueError("no")
            return self.inner.predict(texts, k)

    import asyncio

    async def work() -> list[Any]:
        model = FailsOnBad()
        batcher = Batcher(lambda: model, Metrics(), batch=8, wait_s=0, max_waiting=99, timeout_s=9)  # type: ignore[arg-type,return-value]
        rows = lambda served, predictions, first, last: f"{last - first} {len(predictions)}".encode()  # noqa: E731
        jobs = [batcher.predict([text], 2, rows) for text in ("first", "a", "bad", "b", "c")]
        done = await asyncio.gather(*jobs, return_exceptions=True)
        batcher.close()
        return done

    first, a, bad, b, c = asyncio.run(work())
    assert first == b"1 1" and a == b == c == b"1 1" and isinstance(bad, ValueError)


# -- models, card, labels ------------------------------------------------------------------------------------


def test_models_are_loaded_with_prediction_settings(folder) -> None:
    config = ServeConfig(threads=2, device="cpu", int8=True, feedback="none", watch=0)
    assert config.load_settings == {"threads": 2, "device": "cpu", "int8": True}
    services = Services({"small": folder}, config)
    assert services.models["small"].served.model.config.threads == 2
    services.close()


def test_several_models_by_name(folder, tmp_path) -> None:
    save_model(tmp_path / "other", "zebras")
    with make_client({"small": folder, "b": tmp_path / "other"}, tmp_path) as server:
        answer = server.get("/v1/models").json()
        assert [(m["name"], m["default"]) for m in answer["models"]] == [("small", True), ("b", False)]
        assert answer["models"][0]["version"] != answer["models"][1]["version"]
        assert answer["limits"]["texts"] == 256 and answer["feedback"] is True
        status, found = predict(server, {"text": "zebra quark violet", "k": 1, "model": "b"})
        assert status == 200 and found["results"][0]["labels"][0]["label"].startswith("zebras")


def test_simultaneous_refreshes_are_merged(tmp_path, monkeypatch) -> None:
    """Into the running one, and one for changes since it started."""
    import asyncio

    from treetop.serve import models

    save_model(tmp_path / "a")
    services = Services({"a": tmp_path / "a"}, ServeConfig(feedback="none"))
    quick, loads = models.load_served, []
    monkeypatch.setattr(
        models, "load_served", lambda *given, **named: (loads.append(given), quick(*given, **named))[1]
    )

    async def refresh(times: int) -> None:
        await asyncio.gather(*(services.models.refresh(always=True) for _ in range(times)))

    asyncio.run(refresh(10))
    assert len(loads) == 2
    services.close()


def test_a_model_saved_while_others_load_is_reloaded(tmp_path, monkeypatch) -> None:
    import asyncio

    from treetop.serve import models

    save_model(tmp_path / "a")
    save_model(tmp_path / "b")
    quick = models.load_served

    def load(name: str, *given: Any, **named: Any) -> Any:
        if name == "b":
            save_model(tmp_path / "a", "zebras")
        return quick(name, *given, **named)

    monkeypatch.setattr(models, "load_served", load)
    services = Services({name: tmp_path / name for name in "ab"}, ServeConfig(feedback="none"))
    asyncio.run(services.models.refresh())
    assert services.models["a"].served.version == version_of(tmp_path / "a")
    services.close()


def test_names_of_models(tmp_path) -> None:
    (tmp_path / "current").symlink_to(tmp_path / "v1")  # may point to v2 later
    assert list(named_folders([f"{tmp_path}/current/"])) == ["current"]
    assert list(named_folders(["a/b/small", "x=a/b/small"])) == ["small", "x"]
    for bad in (["a/b", "c/b"], ["a b"], ["é=x"], []):
        with pytest.raises(ConfigError):
            named_folders(bad)


def test_model_card(folder, tmp_path, run) -> None:
    with make_client(folder, tmp_path) as server:
        card = server.get("/v1/models/small/card").json()
        assert card["method"] == "xr-linear" and card["evaluation"] is None
        assert card["long_tail"]["points"][0] == [1, 8]
        assert sum(bucket["labels"] for bucket in card["long_tail"]["buckets"]) == card["data"]["labels_used"]
        treetop.write(examples(), tmp_path / "test.jsonl")
        assert run("evaluate", folder, tmp_path / "test.jsonl", "--card").code == 0
        measured = server.get("/v1/models/small/card").json()["evaluation"]
        assert measured["source"] == "test.jsonl" and measured["metrics"]["P@1"] > 90
        assert [bucket["name"] for bucket in measured["by_frequency"]] == ["unseen", "tail", "middle", "head"]
        assert server.get("/v1/models/other/card").status_code == 404
    save_model(folder, seed=1)  # another version: the metrics are not shown
    with make_client(folder, tmp_path) as server:
        assert server.get("/v1/models/small/card").json()["evaluation"] is None


def test_a_damaged_card_counts_as_none(folder, tmp_path, caplog) -> None:
    shutil.copytree(folder, tmp_path / "small")
    card = tmp_path / "small" / "card.json"
    good = {
        "version": version_of(folder),
        **{"source": "x", "examples": 1, "metrics": {"P@1": 1.0}, "by_frequency": [], "calibration": None},
    }
    damaged = [
        *("", "{", "[]", "null", "7", '{"version": 5}', "\0" * 100, "[" * 100_000, '{"a":' * 100_000),
        *(json.dumps(good)[:-1], json.dumps({"version": good["version"]})),
        *(
            json.dumps(good | {"metrics": value})
            for value in (None, [1], {"P@1": "x"}, {"P@1": float("nan")})
        ),
        *(
            json.dumps(good | {"by_frequency": value})
            for value in ([7], [{"a": float("inf")}], [{"a": "\ud800"}])
        ),
        json.dumps(good).replace("1.0", "1e999"),
        json.dumps(good) + " " * 2_000_000,
    ]
    with make_client(tmp_path / "small", tmp_path, feedback="none") as server:

        def evaluation() -> Any:
            response = server.get("/v1/models/small/card")
            assert response.status_code == 200
            return response.json()["evaluation"]

        for content in damaged:
            card.write_text(content, "utf-8")
            assert evaluation() is None, content[:100]
        card.write_bytes(b'{"version": "\xff"}')
        assert evaluation() is None
        card.write_text(json.dumps(good))
        assert evaluation() == {name: value for name, value in good.items() if name != "version"}
        card.unlink()
        assert evaluation() is None
        for make in (
            card.mkdir,
            lambda: os.mkfifo(card),
            lambda: card.symlink_to(card),
            lambda: card.symlink_to("/dev/zero"),
        ):
            make()
            assert evaluation() is None
            card.rmdir() if card.is_dir() else card.unlink()


def test_label_search_route(server) -> None:
    found = server.get("/v1/labels", params={"q": "strasse", "limit": 3}).json()
    assert found[0] == {"label": "Über-Straße", "texts": 8} and len(found) == 3
    assert server.get("/v1/labels").json()[0]["texts"] == 8
    for wrong in ({"limit": 0}, {"limit": 101}, {"limit": "x"}, {"q": "a" * 201}):
        answer = server.get("/v1/labels", params=wrong)
        assert answer.status_code == 422 and set(answer.json()) == {"error"}
    assert server.get("/v1/labels", params={"model": "no"}).status_code == 404


# -- feedback ------------------------------------------------------------------------------------------------


def test_feedback_becomes_training_data(folder, tmp_path, run) -> None:
    file = tmp_path / "feedback.sqlite"
    with make_client(folder, tmp_path) as server:
        entries = [
            {
                "text": "zebra quark violet",
                "accepted": ["animals"],
                "added": ["stripes"],
                "client": "eva",
                "version": "v1",
            },
            {
                "text": "piano song",
                "suggested": ["music", "cooking"],
                "accepted": ["music"],
                "rejected": ["cooking"],
            },
            {"text": "nothing right", "rejected": ["music"]},
            {"text": "piano song", "rejected": ["music"], "added": ["Über-Straße"]},
        ]
        ids = [server.post("/v1/feedback", json=item) for item in entries]
        assert [answer.status_code for answer in ids] == [201] * 4
        assert [answer.json()["id"] for answer in ids] == [1, 2, 3, 4]
    connection = sqlite3.connect(file)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    assert connection.execute("SELECT model, version, client FROM feedback WHERE id = 1").fetchone() == (
        "small",
        "v1",
        "eva",
    )
    assert connection.execute("SELECT version FROM feedback WHERE id = 2").fetchone() == (version_of(folder),)
    connection.close()
    out = tmp_path / "new.jsonl"
    done = run("data", "from-feedback", file, "--output", out, quiet=False)
    assert (
        done.code == 0
        and "2 training examples from 4 feedback entries, 1 text without" in done.err
        and "--after 4" in done.err
    )
    read = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert [(item["text"], item["labels"]) for item in read] == [
        ("zebra quark violet", ["animals", "stripes"]),
        ("piano song", ["Über-Straße"]),
    ]
    run("data", "from-feedback", file, "--output", out, "--after", 4).sentence(
        2, "feedback.sqlite", "after id 4"
    )
    run("data", "from-feedback", file, "--output", out, "--model", "b").sentence(2, "'b'")
    save_model(tmp_path / "model", keep_data=True)
    treetop.write(examples(), tmp_path / "train.jsonl")
    assert run("data", "from-feedback", file, "--output", out).code == 0
    assert run("update", tmp_path / "model", out).code == 0
    assert treetop.load(tmp_path / "model").labels.position("stripes") >= 0


def test_a_commit_is_on_disk_when_it_returns(tmp_path) -> None:
    connection = connect(tmp_path / "feedback.sqlite")
    extra = 3
    assert connection.execute("PRAGMA synchronous").fetchone() == (extra,)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    connection.close()


def test_no_file_of_feedback_is_mapped(tmp_path, monkeypatch) -> None:
    """Whoever may write to the folder could truncate it, and reading a truncated map ends the process."""
    file = tmp_path / "feedback.sqlite"
    earlier = sqlite3.connect(file, isolation_level=None)
    earlier.execute("PRAGMA journal_mode=WAL")
    earlier.execute(SCHEMA)
    earlier.execute("INSERT INTO feedback VALUES (7, 0, 'm', '1', 'text', '[]', '[]', '[]', '[]', NULL)")
    monkeypatch.setattr(feedback, "LOCKED_S", 0)
    with pytest.raises(TreetopError, match=r"locked|another program"):
        connect(file)
    earlier.close()

    async def add() -> list[int]:
        return await store.add([Feedback("m", "1", "text", [], [], [], ["label"])])

    store = FeedbackStore(file)
    assert asyncio.run(add()) == [8]
    maps = Path("/proc/self/maps")
    assert not maps.exists() or "feedback.sqlite" not in maps.read_text()
    other = sqlite3.connect(file, isolation_level=None)
    assert other.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    with pytest.raises(HttpError, match="could not be stored"):
        asyncio.run(add())
    other.close()
    assert not maps.exists() or "feedback.sqlite" not in maps.read_text()
    store.close()
    store = FeedbackStore(file)
    assert asyncio.run(add()) == [9]
    os.truncate(file, 0)
    with pytest.raises(HttpError, match="could not be stored"):
        asyncio.run(add())
    store.close()


def test_feedback_is_refused_while_its_file_is_moved(folder, tmp_path) -> None:
    file, away = tmp_path / "feedback.sqlite", tmp_path / "old.sqlite"

    def send(server: TestClient, text: str) -> int:
        return server.post("/v1/feedback", json={"text": text, "added": ["b"]}).status_code

    with make_client(folder, tmp_path, feedback=str(file)) as server:
        assert send(server, "first") == 201
        file.rename(away)
        assert send(server, "second") == 503 and not file.exists()
        file.write_bytes(b"")  # another file of that name
        assert send(server, "third") == 503
        away.rename(file)
        assert send(server, "fourth") == 201
    texts = [row[0] for row in sqlite3.connect(file).execute("SELECT text FROM feedback ORDER BY id")]
    assert texts == ["first", "fourth"]


def test_from_feedback_refuses_other_files(run, tmp_path) -> None:
    (tmp_path / "x").write_text("no database " * 100)
    sqlite3.connect(tmp_path / "empty.sqlite").close()
    for name, words in (
        ("x", "not a feedback file"),
        ("empty.sqlite", "feedback"),
        ("none", "no such file"),
    ):
        run("data", "from-feedback", tmp_path / name, "-o", tmp_path / "out.jsonl").sentence(2, name, words)
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize(
    "body",
    [
        {"text": "a"},
        {"text": "", "accepted": ["b"]},
        {"text": "a", "accepted": [""]},
        {"text": "a", "added": ["\t "]},
        {"text": " \n", "accepted": ["b"]},
        {"text": "a", "accepted": "b"},
        {"text": "a", "accepted": ["b" * 1001]},
        {"text": "a", "accepted": ["b"] * 1001},
        {"accepted": ["b"]},
    ],
)
def test_bad_feedback_is_refused(server, body) -> None:
    answer = server.post("/v1/feedback", json=body)
    assert answer.status_code == 422 and set(answer.json()) == {"error"}


def test_a_label_cannot_be_correct_and_wrong(server) -> None:
    answer = server.post("/v1/feedback", json={"text": "a", "accepted": ["b"], "rejected": ["b"]})
    assert answer.status_code == 409 and "'b'" in answer.json()["error"]


def test_feedback_can_be_off(folder, tmp_path) -> None:
    with make_client(folder, tmp_path, feedback="none") as server:
        answer = server.post("/v1/feedback", json={"text": "a", "accepted": ["b"]})
        assert answer.status_code == 503 and "no feedback" in answer.json()["error"]
        assert server.get("/v1/models").json()["feedback"] is False
    assert not list(tmp_path.iterdir())


# -- safety --------------------------------------------------------------------------------------------------


def test_every_response_has_the_security_headers(server) -> None:
    for path in ("/", "/docs", "/healthz", "/v1/models", "/nothing", "/v1/predict", "/static/nothing"):
        headers = server.get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff" and "server" not in headers
        assert "access-control-allow-origin" not in headers
        assert (headers.get("cache-control") == "no-store") == path.startswith("/v1")


def test_a_server_on_loopback_accepts_only_its_own_host_names(folder, tmp_path) -> None:
    with make_client(folder, tmp_path, allow_host=("labels.example",)) as server:
        for host in ("127.0.0.1:8000", "localhost", "[::1]:80", "labels.example", "LABELS.example:1"):
            assert server.get("/v1/models", headers={"host": host}).status_code == 200
        for host in ("evil.example", "127.0.0.1.evil.example", ""):
            assert server.get("/v1/models", headers={"host": host}).status_code == 421
    with make_client(folder, tmp_path, host="0.0.0.0") as server:
        assert server.get("/v1/models", headers={"host": "any.example"}).status_code == 200


@pytest.mark.parametrize(
    "host", ["127.0.0.2", "127.1", "0:0:0:0:0:0:0:1", "::ffff:127.0.0.1", "LOCALHOST", "ip6-localhost"]
)
def test_any_spelling_of_loopback_checks_host_names(folder, tmp_path, host) -> None:
    """What counts is the address that the server is bound to."""
    given = ServeConfig(host=host, port=0)
    try:
        sockets = listen(given)
    except TreetopError:
        pytest.skip(f"{host} is not an address of this machine")
    with contextlib.closing(sockets[0]):
        config = given.bound_to(sockets[0].getsockname()[0])
    named = f"[{host}]" if ":" in host else host
    with make_client(folder, tmp_path, host=config.host, allow_host=config.allow_host) as server:
        for name in (named, "localhost:80", "127.0.0.3:80", "[::1]", "[0:0::1]:80"):
            assert server.get("/v1/models", headers={"host": name}).status_code == 200
        for name in ("evil.example", "128.0.0.1", "[::2]", "127.0.0.1.evil.example"):
            assert server.get("/v1/models", headers={"host": name}).status_code == 421


def test_keys(folder, tmp_path) -> None:
    (tmp_path / "keys").write_text("# of eva\nsecret-key-of-eva\n\nanother-secret-key\n")
    with make_client(folder, tmp_path, api_keys=str(tmp_path / "keys")) as server:
        for path in ("/healthz", "/readyz", "/", "/docs", "/openapi.json"):
            assert server.get(path).status_code == 200
            assert "small" not in server.get(path).text  # the model's name
        for path in ("/v1/models", "/v1/labels", "/metrics", "/v1/projects", "/v1/models/small/card"):
            refused = server.get(path)
            assert refused.status_code == 401 and refused.headers["www-authenticate"] == "Bearer"
            for headers in (
                {"x-api-key": "another-secret-key"},
                {"authorization": "bearer secret-key-of-eva"},
            ):
                assert server.get(path, headers=headers).status_code == 200
            for wrong in (
                {"x-api-key": ""},
                {"x-api-key": "# of eva"},
                {"authorization": "Basic secret-key-of-eva"},
            ):
                assert server.get(path, headers=wrong).status_code == 401
        assert server.post("/v1/predict", json={"text": "a"}).status_code == 401
        assert server.post("/v1/feedback", json={"text": "a", "added": ["b"]}).status_code == 401
    for content in ("", "# none\n", "short\n"):
        (tmp_path / "keys").write_text(content)
        with pytest.raises(ConfigError, match="key"):
            make_client(folder, tmp_path, api_keys=str(tmp_path / "keys"))


def test_other_origins_need_permission(folder, tmp_path) -> None:
    with make_client(folder, tmp_path, cors_origin=("https://a.example",)) as server:
        for origin, allowed in (("https://a.example", "https://a.example"), ("https://b.example", None)):
            answer = server.post("/v1/predict", json={"text": "a"}, headers={"origin": origin})
            assert answer.status_code == 200
            assert answer.headers.get("access-control-allow-origin") == allowed
    (tmp_path / "keys").write_text("secret-key-of-eva\n")
    keys = {"api_keys": str(tmp_path / "keys")}
    with make_client(folder, tmp_path, cors_origin=("https://a.example",), **keys) as server:
        origin = {"origin": "https://a.example"}
        asks = origin | {
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization",
        }
        assert server.options("/v1/predict", headers=asks).status_code == 200
        refused = server.post("/v1/predict", json={"text": "a"}, headers=origin)
        assert refused.status_code == 401
        assert refused.headers["access-control-allow-origin"] == "https://a.example"  # may show the error


def test_files_outside_the_page_are_not_served(server) -> None:
    for path in ("/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py", "/static//etc/passwd"):
        assert server.get(path).status_code == 404


def test_a_full_queue_refuses_requests_and_recovers(folder, tmp_path, monkeypatch) -> None:
    import asyncio

    import httpx

    from treetop.serve.served_model import ServedModel

    fast = ServedModel.predict
    app = make_app(Services({"small": folder}, ServeConfig(feedback="none", max_waiting=8, batch=4, watch=0)))
    monkeypatch.setattr(ServedModel, "predict", lambda *given: (time.sleep(0.1), fast(*given))[1])

    async def work() -> tuple[list[httpx.Response], httpx.Response]:
        transport = httpx.ASGITransport(app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            body = {"text": "a"}
            many = await asyncio.gather(*(client.post("/v1/predict", json=body) for _ in range(40)))
            return many, await client.post("/v1/predict", json=body)

    many, after = asyncio.run(work())
    statuses = [answer.status_code for answer in many]
    assert set(statuses) == {200, 429} and statuses.count(200) >= 8
    assert all(int(answer.headers["retry-after"]) >= 1 for answer in many if answer.status_code == 429)
    assert after.status_code == 200


def test_a_slow_model_times_out(folder, tmp_path, monkeypatch) -> None:
    from treetop.serve.served_model import ServedModel

    fast = ServedModel.predict
    with make_client(folder, tmp_path, timeout=0.2) as server:
        monkeypatch.setattr(ServedModel, "predict", lambda *given: (time.sleep(0.6), fast(*given))[1])
        began = time.monotonic()
        answer = server.post("/v1/predict", json={"text": "a"})
        assert (
            answer.status_code == 503 and "0.2 s" in answer.json()["error"] and time.monotonic() - began < 0.5
        )


# -- the rest ------------------------------------------------------------------------------------------------


def test_metrics_for_prometheus(folder, tmp_path) -> None:
    with make_client(folder, tmp_path) as server:
        for _ in range(3):
            server.post("/v1/predict", json={"texts": ["a", "b"]})
        server.get("/made/up/by/a/client")
        page = server.get("/metrics").text
    assert 'treetop_requests_total{route="/v1/predict",status="200"} 3.0' in page
    assert "treetop_texts_total 6.0" in page and "treetop_batch_texts_sum 6.0" in page
    assert 'route="other"' in page and "made" not in page


def test_pages(server) -> None:
    docs = server.get("/docs")
    assert docs.status_code == 200 and "/v1/predict" in docs.text and "<script" not in docs.text
    assert server.get("/docs.css").headers["content-type"].startswith("text/css")
    assert server.get("/openapi.json").json()["info"]["title"] == "treetop"
    assert "text/html" in server.get("/").headers["content-type"]


def test_what_cannot_be_served(folder, tmp_path, run) -> None:
    run("serve", tmp_path / "none", "--port", 0).sentence(2, "none", "not a model folder")
    assert not Path("feedback.sqlite").exists()
    run("serve", folder, folder).sentence(2, "two models")
    run("serve", folder, "--workers", "0").sentence(2, "workers")
    run("serve", folder, "--port", 0, "--feedback", tmp_path / "no" / "such.sqlite").sentence(
        1, "such.sqlite", "cannot store feedback"
    )
    run("serve", folder, "--host", "192.0.2.1", "--feedback", "none").sentence(1, "192.0.2.1")
    X, Y = np.eye(6, dtype=np.float32), np.eye(6, dtype=np.float32)
    treetop.XRLinear().fit(X, Y).save(tmp_path / "matrix")
    with pytest.raises(ModelError, match="features"):
        make_client({"m": tmp_path / "matrix"}, tmp_path)


def test_annif_projects(server) -> None:
    assert server.get("/v1/").json()["title"] == "treetop"
    project = server.get("/v1/projects/small").json()
    assert project in server.get("/v1/projects").json()["projects"] and project["is_trained"] is True
    missing = server.get("/v1/projects/none")
    assert missing.status_code == 404 and "none" in missing.json()["detail"]
    for form, words in (
        ({}, "text"),
        ({"text": "a", "limit": "x"}, "limit"),
        ({"text": "a", "threshold": "nan"}, "threshold"),
    ):
        answer = server.post("/v1/projects/small/suggest", data=form or {"no": "text"})
        assert answer.status_code == 422 and words in answer.json()["error"]
    bad = server.post(
        "/v1/projects/small/suggest",
        content=b"text=%ff",
        headers={"content-type": "application/x-www-form-urlencoded"},
    )
    assert bad.status_code == 400
