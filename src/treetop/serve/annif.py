"""Annif's REST interface, so that its clients work unchanged: a project is a model."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from .. import __version__
from . import bodies
from .answers import suggested
from .describing import error_answers, form_request, json_request
from .feedback import Feedback
from .reading import JSON, check_k, check_texts, form_body, json_body
from .refusals import RefusalError
from .served_model import ServedModel
from .services import Services

LIMIT = 10


def make_annif_router(services: Services) -> APIRouter:
    """The routes under /v1/projects."""
    config, models = services.config, services.models
    router = APIRouter(tags=["Annif"])
    errors = error_answers(400, 404, 408, 413, 415, 422, 429, 503)

    @router.get("/v1/", summary="What answers here")
    async def about() -> dict[str, str]:
        return {"title": "treetop", "version": __version__}

    @router.get("/v1/projects", summary="All projects", response_model=bodies.Projects)
    async def projects() -> Any:
        return {"projects": [_project(served) for served in models.served()]}

    @router.get(
        "/v1/projects/{project_id}",
        summary="One project",
        response_model=bodies.Project,
        responses=error_answers(404),
    )
    async def project(project_id: str) -> Any:
        return _project(models[project_id].served)

    @router.post(
        "/v1/projects/{project_id}/suggest",
        summary="Subjects of a text",
        openapi_extra=form_request(config),
        responses=errors | {200: {"model": bodies.Suggestions}},
    )
    async def suggest(project_id: str, request: Request) -> Response:
        slot = models[project_id]
        form = await form_body(request, config)
        if "text" not in form:
            raise RefusalError(422, "text: the field is missing")
        check_texts([form["text"]], config)
        limit = _number(form, "limit", LIMIT, 1, config.max_k)
        threshold = _number(form, "threshold", 0.0, 0.0, 1.0)
        answer = await slot.batcher.answer([form["text"]], int(limit), suggested(threshold))
        return Response(answer, media_type=JSON)

    @router.post(
        "/v1/projects/{project_id}/suggest-batch",
        summary="Subjects of several texts",
        openapi_extra=json_request(bodies.Documents, config),
        responses=errors | {200: {"model": list[bodies.DocumentSuggestions]}},
    )
    async def suggest_batch(
        project_id: str,
        request: Request,
        limit: Annotated[int, Query(ge=1)] = LIMIT,
        threshold: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = 0.0,
        language: str = "",
    ) -> Response:
        slot = models[project_id]
        check_k(limit, config, "limit")
        body = await json_body(request, bodies.Documents, config)
        texts = [document.text for document in body.documents]
        check_texts(texts, config)
        ids = [document.document_id for document in body.documents]
        answer = await slot.batcher.answer(texts, limit, suggested(threshold, ids))
        return Response(answer, media_type=JSON)

    @router.post(
        "/v1/projects/{project_id}/learn",
        status_code=204,
        summary="Keep texts and their right subjects as feedback",
        openapi_extra=json_request(bodies.Lessons, config, wrap="lessons"),
        responses=errors,
    )
    async def learn(project_id: str, request: Request) -> Response:
        served = models[project_id].served
        body = await json_body(request, bodies.Lessons, config, wrap="lessons")
        check_texts([lesson.text for lesson in body.lessons], config)
        await services.keep(
            [
                Feedback(
                    served.name,
                    served.version,
                    lesson.text,
                    [],
                    [],
                    [],
                    [subject.uri for subject in lesson.subjects],
                    "annif learn",
                )
                for lesson in body.lessons
            ]
        )
        return Response(status_code=204)

    return router


def _project(served: ServedModel) -> dict[str, Any]:
    return {
        "project_id": served.name,
        "name": served.name,
        "language": "und",
        "backend": {"backend_id": served.model.name},
        "is_trained": True,
        "modification_time": served.loaded_at,
    }


def _number(form: dict[str, str], name: str, default: float, least: float, most: float) -> float:
    given = form.get(name, "")
    if not given:
        return default
    try:
        number = float(given) if isinstance(default, float) else int(given)
    except ValueError:
        number = math.nan
    if not least <= number <= most:
        raise RefusalError(422, f"{name}: must be a number from {least:g} to {most:g}, not {given[:50]!r}")
    return number
