"""Annif's REST interface, so that its clients work unchanged: each model is a project."""

from __future__ import annotations

import math
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from .. import __version__
from . import schemas
from .feedback import Feedback
from .http_errors import HttpError
from .openapi import error_responses, form_request, json_request
from .rendering import suggest_renderer
from .request_body import JSON, check_request, check_texts, form_body, json_body
from .served_model import ServedModel
from .services import Services

LIMIT = 10


def make_annif_router(services: Services) -> APIRouter:
    """The routes under /v1/projects."""
    config, models = services.config, services.models
    router = APIRouter(tags=["Annif"])
    errors = error_responses(400, 404, 408, 413, 415, 422, 429, 503)

    @router.get("/v1/", summary="Name and version of the server")
    async def about() -> dict[str, str]:
        return {"title": "treetop", "version": __version__}

    @router.get("/v1/projects", summary="List all projects", response_model=schemas.Projects)
    async def projects() -> Any:
        return {"projects": [_project(served) for served in models.served()]}

    @router.get(
        "/v1/projects/{project_id}",
        summary="Describe a project",
        response_model=schemas.Project,
        responses=error_responses(404),
    )
    async def project(project_id: str) -> Any:
        return _project(models[project_id].served)

    @router.post(
        "/v1/projects/{project_id}/suggest",
        summary="Suggest subjects for a text",
        openapi_extra=form_request(config),
        responses=errors | {200: {"model": schemas.Suggestions}},
    )
    async def suggest(project_id: str, request: Request) -> Response:
        slot = models[project_id]
        slot.batcher.check_room()
        form = await form_body(request, config)
        if "text" not in form:
            raise HttpError(422, "text: required field is missing")
        limit = _number(form, "limit", LIMIT, 1, config.max_k)
        check_request([form["text"]], int(limit), config, "limit")
        threshold = _number(form, "threshold", 0.0, 0.0, 1.0)
        content = await slot.batcher.predict([form["text"]], int(limit), suggest_renderer(threshold))
        return Response(content, media_type=JSON)

    @router.post(
        "/v1/projects/{project_id}/suggest-batch",
        summary="Suggest subjects for several texts",
        openapi_extra=json_request(schemas.Documents, config),
        responses=errors | {200: {"model": list[schemas.DocumentSuggestions]}},
    )
    async def suggest_batch(
        project_id: str,
        request: Request,
        limit: Annotated[int, Query(ge=1)] = LIMIT,
        threshold: Annotated[float, Query(ge=0, le=1, allow_inf_nan=False)] = 0.0,
        language: str = "",
    ) -> Response:
        slot = models[project_id]
        slot.batcher.check_room()
        body = await json_body(request, schemas.Documents, config)
        texts = [document.text for document in body.documents]
        check_request(texts, limit, config, "limit")
        document_ids = [document.document_id for document in body.documents]
        content = await slot.batcher.predict(texts, limit, suggest_renderer(threshold, document_ids))
        return Response(content, media_type=JSON)

    @router.post(
        "/v1/projects/{project_id}/learn",
        status_code=204,
        summary="Store texts and their correct subjects as feedback",
        openapi_extra=json_request(schemas.LearnBody, config, wrap="documents"),
        responses=errors,
    )
    async def learn(project_id: str, request: Request) -> Response:
        served = models[project_id].served
        body = await json_body(request, schemas.LearnBody, config, wrap="documents")
        check_texts([document.text for document in body.documents], config)
        await services.store_feedback(
            [
                Feedback(
                    served.name,
                    served.version,
                    document.text,
                    [],
                    [],
                    [],
                    [subject.uri for subject in document.subjects],
                    "annif learn",
                )
                for document in body.documents
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
        raise HttpError(422, f"{name}: must be a number from {least:g} to {most:g}, not {given[:50]!r}")
    return number
