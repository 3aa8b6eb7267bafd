"""The parts of /openapi.json that do not follow from a route's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from . import schemas
from .request_body import FORM, JSON
from .settings import ServeConfig

_REASONS = {
    400: "Invalid JSON, UTF-8 or form data.",
    401: "Missing or unknown API key.",
    404: "Unknown model.",
    408: "The request did not arrive in time.",
    409: "A label is both correct and wrong.",
    413: "The request is too large.",
    415: "Unsupported content type.",
    422: "A field is missing, unknown, or has an invalid value.",
    429: "Too many requests are waiting; try again after Retry-After seconds.",
    503: "Temporarily unavailable; try again later.",
}


def error_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors a route may return."""
    return {
        status: {"model": schemas.ErrorAnswer, "description": _REASONS[status]} for status in (401, *statuses)
    }


def json_request(body: type[BaseModel], config: ServeConfig, wrap: str = "") -> dict[str, Any]:
    """The JSON body of a route with this server's limits. ``wrap``: the field that takes the whole body."""
    schema = _inlined(body.model_json_schema(), config)
    if body is schemas.PredictBody:
        schema["oneOf"] = [{"required": ["text"]}, {"required": ["texts"]}]
    if body is schemas.FeedbackBody:
        schema["anyOf"] = [
            {"required": [name], "properties": {name: {"minItems": 1}}}
            for name in ("accepted", "rejected", "added")
        ]
    if wrap:
        schema = schema["properties"][wrap]
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def form_request(config: ServeConfig) -> dict[str, Any]:
    """The form data of Annif's suggest."""
    fields = {
        "text": {"type": "string", "maxLength": config.max_text},
        "limit": {"type": "integer", "minimum": 1, "maximum": config.max_k, "default": 10},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
        "language": {"type": "string", "description": "Not used."},
    }
    schema = {"type": "object", "properties": fields, "required": ["text"]}
    return {"requestBody": {"required": True, "content": {FORM: {"schema": schema}}}}


def _inlined(schema: dict[str, Any], config: ServeConfig) -> dict[str, Any]:
    """The schema with references resolved and this server's limits filled in."""
    parts = schema.pop("$defs", {})

    def walk(value: Any, name: str = "") -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return walk(parts[value["$ref"].rpartition("/")[2]])
        plain = {key: walk(item, key) for key, item in value.items()}
        if plain.get("default", 0) is None:  # optional, but never null
            del plain["default"]
        if plain.get("additionalProperties") is True:
            plain["additionalProperties"] = False
        limits: dict[str, dict[str, Any]] = {
            "text": {"maxLength": config.max_text},
            "texts": {
                "maxItems": config.max_texts,
                "items": {"type": "string", "maxLength": config.max_text},
            },
            "k": {"maximum": config.max_k},
            "documents": {"maxItems": config.max_texts},
        }
        return plain | limits.get(name, {}) if "type" in plain else plain

    inlined: dict[str, Any] = walk(schema)
    return inlined
