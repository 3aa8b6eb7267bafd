"""The routes of treetop's own interface, under /v1, and those that watch over the server."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from . import bodies
from .answers import predicted
from .card import card_of
from .describing import error_answers, json_request
from .feedback import Feedback
from .label_search import LONGEST
from .reading import JSON, check_k, check_texts, json_body
from .refusals import RefusalError
from .services import Services

PREDICT = "/v1/predict"
ModelName = Annotated[str | None, Query(max_length=200, description="Without it the first model.")]


def make_predict(services: Services) -> Callable[[Request], Awaitable[Response]]:
    """The route that matters most."""
    config, models = services.config, services.models

    async def predict(request: Request) -> Response:
        models.check_room()
        body = await json_body(request, bodies.PredictBody, config)
        one, many = ("text" in body.model_fields_set), ("texts" in body.model_fields_set)
        if one == many:
            raise RefusalError(422, "the request needs either text or texts")
        texts = [body.text] if one else body.texts
        check_texts(texts, config)
        check_k(body.k, config)
        if len(texts) * body.k > config.max_labels:
            raise RefusalError(422, f"k: {body.k:,} labels for each of {len(texts):,} texts are too many")
        slot = models[body.model]
        if body.explain:
            answer = await services.explain(slot.served, texts, body.k, body.threshold)
        else:
            answer = await slot.batcher.answer(texts, body.k, predicted(body.threshold))
        return Response(answer, media_type=JSON)

    return predict


def make_router(services: Services) -> APIRouter:
    """All routes but Annif's, over one set of services."""
    config, models = services.config, services.models
    router = APIRouter()
    router.post(
        PREDICT,
        tags=["labels"],
        summary="The best labels of one or many texts",
        openapi_extra=json_request(bodies.PredictBody, config),
        responses=error_answers(400, 404, 408, 413, 415, 422, 429, 503)
        | {200: {"model": bodies.PredictAnswer}},
    )(make_predict(services))

    @router.post(
        "/v1/feedback",
        tags=["feedback"],
        status_code=201,
        summary="Keep what a person made of suggestions",
        description="Answered only when it is on disk.",
        openapi_extra=json_request(bodies.FeedbackBody, config),
        responses=error_answers(400, 404, 408, 409, 413, 415, 422, 429, 503)
        | {201: {"model": bodies.FeedbackAnswer}},
    )
    async def feedback(request: Request) -> Response:
        body = await json_body(request, bodies.FeedbackBody, config)
        check_texts([body.text], config)
        if not (body.accepted or body.rejected or body.added):
            raise RefusalError(422, "a feedback accepts, rejects or adds at least one label")
        right = {*body.accepted, *body.added}
        for label in body.rejected:
            if label in right:
                raise RefusalError(409, f"rejected: {label[:100]!r} is accepted or added, too")
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
        (identity,) = await services.keep([item])
        return JSONResponse({"id": identity}, 201)

    @router.get("/v1/models", tags=["models"], summary="What is served", response_model=bodies.ModelsAnswer)
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
        summary="What a model was made of, and how good it is",
        description="Figures that were not measured are null: `treetop evaluate MODEL TEST --card` does.",
        response_model=bodies.CardAnswer,
        responses=error_answers(404),
    )
    async def card(name: str) -> Any:
        return await asyncio.to_thread(card_of, models[name].served)

    @router.get(
        "/v1/labels",
        tags=["labels"],
        summary="Labels by a part of their name",
        description="Where a word begins with it first, then anywhere; frequent ones first.",
        response_model=list[bodies.LabelAnswer],
        response_model_exclude_none=True,
        responses=error_answers(404, 422),
    )
    async def labels(
        q: Annotated[str, Query(max_length=LONGEST)] = "",
        model: ModelName = None,
        limit: Annotated[int, Query(ge=1, le=100)] = 20,
    ) -> Any:
        served = models[model].served
        found = await asyncio.to_thread(lambda: served.search.find(q, limit))
        return [item._asdict() for item in found]

    @router.get("/healthz", tags=["server"], summary="Is the process alive?")
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @router.get("/readyz", tags=["server"], summary="Are the models loaded?", responses=error_answers(503))
    async def readyz() -> dict[str, Any]:
        if services.draining:
            raise RefusalError(503, "the server is shutting down")
        if config.api_keys_file is not None:  # this route asks for none
            return {"status": "ok"}
        return {"status": "ok", "models": {served.name: served.version for served in models.served()}}

    @router.get("/metrics", tags=["server"], summary="Figures for Prometheus", response_class=Response)
    async def metrics() -> Response:
        page = await asyncio.to_thread(services.meters.page)
        return Response(page, media_type=services.meters.content_type)

    return router
