"""The description at /openapi.json is true: schemathesis makes requests from it and looks at the answers."""

from __future__ import annotations

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from serving import save_model
from treetop.serve.app import make_app
from treetop.serve.services import Services
from treetop.serve.settings import ServeConfig

TRIES = 25
"""Requests for each route."""


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small"
    save_model(folder)
    feedback = tmp_path_factory.mktemp("feedback") / "feedback.sqlite"
    services = Services(
        {"small": folder}, ServeConfig(feedback=str(feedback), watch=0, allow_host=("testserver",))
    )
    return schemathesis.openapi.from_asgi("/openapi.json", make_app(services))


schema = schemathesis.pytest.from_fixture("described")


@schema.parametrize()
@settings(
    max_examples=TRIES,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
)
def test_answers_are_as_described(case) -> None:
    case.call_and_validate()
