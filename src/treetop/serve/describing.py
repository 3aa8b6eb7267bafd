"""Pieces of the description at /openapi.json that do not follow from a function's parameters."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from . import bodies
from .reading import FORM, JSON
from .settings import ServeConfig

_WHY = {
    400: "Not valid JSON, UTF-8 or form.",
    401: "No API key, or an unknown one.",
    404: "There is no such model.",
    408: "The request did not arrive in time.",
    409: "A label is both right and wrong.",
    413: "The request is too large.",
    415: "Another content type is needed.",
    422: "A field is missing, unknown, or has a wrong value.",
    429: "Too much is waiting: try again after Retry-After seconds.",
    503: "Not now.",
}


def error_answers(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors a route may answer with."""
    return {status: {"model": bodies.ErrorAnswer, "description": _WHY[status]} for status in (401, *statuses)}


def json_request(body: type[BaseModel], config: ServeConfig, wrap: str = "") -> dict[str, Any]:
    """The JSON body of a route, with this server's limits. ``wrap``: the field that is the whole body."""
    schema = _inlined(body.model_json_schema(), config)
    if body is bodies.PredictBody:
        schema["oneOf"] = [{"required": ["text"]}, {"required": ["texts"]}]
    if body is bodies.FeedbackBody:
        schema["anyOf"] = [
            {"required": [name], "properties": {name: {"minItems": 1}}}
            for name in ("accepted", "rejected", "added")
        ]
    if wrap:
        schema = schema["properties"][wrap]
    return {"requestBody": {"required": True, "content": {JSON: {"schema": schema}}}}


def form_request(config: ServeConfig) -> dict[str, Any]:
    """The form of Annif's suggest."""
    fields = {
        "text": {"type": "string", "maxLength": config.max_text},
        "limit": {"type": "integer", "minimum": 1, "maximum": config.max_k, "default": 10},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1, "default": 0},
        "language": {"type": "string", "description": "Not used."},
    }
    schema = {"type": "object", "properties": fields, "required": ["text"]}
    return {"requestBody": {"required": True, "content": {FORM: {"schema": schema}}}}


def _inlined(schema: dict[str, Any], config: ServeConfig) -> dict[str, Any]:
    """The schema without references, with the limits that hold here."""
    parts = schema.pop("$defs", {})

    def walk(value: Any, name: str = "") -> Any:
        if isinstance(value, list):
            return [walk(item) for item in value]
        if not isinstance(value, dict):
            return value
        if "$ref" in value:
            return walk(parts[value["$ref"].rpartition("/")[2]])
        plain = {key: walk(item, key) for key, item in value.items()}
        if plain.get("default", 0) is None:  # may be left out, but is not null
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
            "lessons": {"maxItems": config.max_texts},
        }
        return plain | limits.get(name, {}) if "type" in plain else plain

    described: dict[str, Any] = walk(schema)
    return described
