"""treetop's own routes under /v1, and those for health checks and metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from . import schemas
from .card import card_of
from .feedback import Feedback
from .http_errors import HttpError
from .label_search import MAX_QUERY
from .openapi import error_responses, json_request
from .rendering import predict_renderer
from .request_body import JSON, check_request, check_texts, json_body
from .services import Services

PREDICT = "/v1/predict"
ModelName = Annotated[
    str | None, Query(max_length=200, description="Name of the model; the first by default.")
]


def make_predict(services: Services) -> Callable[[Request], Awaitable[Response]]:
    """The handler of POST /v1/predict."""
    config, models = services.config, services.models

    async def predict(request: Request) -> Response:
        models.check_room()
        body = await json_body(request, schemas.PredictBody, config)
        one, many = ("text" in body.model_fields_set), ("texts" in body.model_fields_set)
        if one == many:
            raise HttpError(422, "the request needs either text or texts, and not both")
        texts = [body.text] if one else body.texts
        check_request(texts, body.k, config)
        slot = models[body.model]
        if body.explain:
            content = await services.explain(slot.served, texts, body.k, body.threshold)
        else:
            content = await slot.batcher.predict(texts, body.k, predict_renderer(body.threshold))
        return Response(content, media_type=JSON)

    return predict


def make_router(services: Services) -> APIRouter:
    """All routes except Annif's."""
    config, models = services.config, services.models
    router = APIRouter()
    router.post(
        PREDICT,
        tags=["labels"],
        summary="Predict labels for one or more texts",
        openapi_extra=json_request(schemas.PredictBody, config),
        responses=error_responses(400, 404, 408, 413, 415, 422, 429, 503)
        | {200: {"model": schemas.PredictAnswer}},
    )(make_predict(services))

    @router.post(
        "/v1/feedback",
        tags=["feedback"],
        status_code=201,
        summary="Store a person's feedback on suggestions",
        description="Acknowledged only after it is on disk.",
        openapi_extra=json_request(schemas.FeedbackBody, config),
        responses=error_responses(400, 404, 408, 409, 413, 415, 422, 429, 503)
        | {201: {"model": schemas.FeedbackAnswer}},
    )
    async def feedback(request: Request) -> Response:
        body = await json_body(request, schemas.FeedbackBody, config)
        check_texts([body.text], config)
        if not (body.accepted or body.rejected or body.added):
            raise HttpError(422, "feedback must accept, reject or add at least one label")
        correct = {*body.accepted, *body.added}
        for label in body.rejected:
            if label in correct:
                raise HttpError(409, f"rejected: {label[:100]!r} is also accepted or added; list it once")
        served = models[body.model].served
        item = Feedback(
            served.name,
            body.version or served.version,
            body.text,
            body.suggested,
            body.accepted,
            body.rejected,
            body.added,
            body.client,
        )
        (identity,) = await services.store_feedback([item])
        return JSONResponse({"id": identity}, 201)

    @router.get(
        "/v1/models",
        tags=["models"],
        summary="List the models and the limits",
        response_model=schemas.ModelsAnswer,
    )
    async def list_models() -> Any:
        return {
            "models": [
                served.describe() | {"default": served.name == models.default} for served in models.served()
            ],
            "limits": {
                "text_characters": config.max_text,
                "texts": config.max_texts,
                "k": config.max_k,
                "explained_labels": config.max_explained,
            },
            "feedback": services.feedback is not None,
        }

    @router.get(
        "/v1/models/{name}/card",
        tags=["models"],
        summary="A model's training data, settings and metrics",
        description="The evaluation is null until `treetop evaluate MODEL TEST --card` has measured it.",
        response_model=schemas.CardAnswer,
        responses=error_responses(404),
    )
    async def card(name: str) -> Any:
        return await asyncio.to_thread(card_of, models[name].served)

    @router.get(
        "/v1/labels",
        tags=["labels"],
        summary="Search labels by a part of their name",
        description="Matches at the start of a word come first, then those anywhere; frequent labels first.",
        response_model=list[schemas.LabelAnswer],
        response_model_exclude_none=True,
        responses=error_responses(404, 422),
    )
    async def labels(
        q: Annotated[str, Query(max_length=MAX_QUERY)] = "",
        model: ModelName = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> Any:
        served = models[model].served
        found = await asyncio.to_thread(lambda: served.search.find(q, limit))
        return [item._asdict() for item in found]

    @router.get("/healthz", tags=["server"], summary="Check that the process is alive")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get(
        "/readyz", tags=["server"], summary="Check that the models are loaded", responses=error_responses(503)
    )
    async def readyz() -> dict[str, Any]:
        if services.draining:
            raise HttpError(503, "the server is shutting down; try again later")
        if config.api_keys_file is not None:  # this route is public
            return {"status": "ok"}
        return {"status": "ok", "models": {served.name: served.version for served in models.served()}}

    @router.get("/metrics", tags=["server"], summary="Metrics for Prometheus", response_class=Response)
    async def metrics() -> Response:
        content = await asyncio.to_thread(services.metrics.exposition)
        return Response(content, media_type=services.metrics.content_type)

    return router
