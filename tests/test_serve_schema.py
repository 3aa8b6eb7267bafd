"""/openapi.json is correct: schemathesis generates requests from it and validates the responses."""

from __future__ import annotations

import contextlib

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from small_servers import save_model
from treetop.serve.app import make_app
from treetop.serve.services import Services
from treetop.serve.settings import ServeConfig

TRIES = 15
"""Requests per route."""


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "small"
    save_model(folder)
    feedback = tmp_path_factory.mktemp("feedback") / "feedback.sqlite"
    limits = {"max_text": 500, "max_texts": 20}  # to generate short texts, and some beyond the limits
    config = ServeConfig(feedback=str(feedback), watch=0, allow_host=("testserver",), **limits)
    services = Services({"small": folder}, config)
    return schemathesis.openapi.from_asgi("/openapi.json", make_app(services))


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
def test_responses_match_the_description(described, mode) -> None:
    """For requests that follow the description, and for those that do not."""
    operations = [found.ok() for found in described.get_all_operations()]
    assert len(operations) >= 14
    for operation in operations:

        @settings(
            max_examples=TRIES,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def check(case) -> None:
            case.call_and_validate()

        with contextlib.suppress(Unsatisfiable):  # a route without parameters has no invalid request
            check()
