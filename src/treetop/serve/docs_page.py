"""/docs: the OpenAPI description as a plain page, without scripts or external resources."""

from __future__ import annotations

import json
from html import escape
from typing import Any

STYLE = """\
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem;
       color: #1c2321; background: #fff; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #bbb; } h3 { margin-bottom: .2rem; }
code, pre { font: 14px/1.4 ui-monospace, monospace; }
pre { background: #f2f4f3; padding: .8rem; overflow: auto; }
.method { font-weight: bold; color: #17603f; } td, th { text-align: left; padding: .1rem 1rem .1rem 0; }
@media (prefers-color-scheme: dark) {
  body { background: #151917; color: #e3e8e5; } pre { background: #202623; } .method { color: #7fd1a8; } }
"""


def render(description: dict[str, Any]) -> str:
    """An OpenAPI description as HTML."""
    groups: dict[str, list[str]] = {}
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            group = operation.get("tags", ["other"])[0]
            groups.setdefault(group, []).append(_operation(path, method, operation, description))
    info = description["info"]
    sections = "".join(f"<h2>{escape(name)}</h2>{''.join(items)}" for name, items in groups.items())
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(info['title'])}: API reference</title>"
        '<link rel="stylesheet" href="/docs.css"></head><body>'
        f"<h1>{escape(info['title'])} {escape(info['version'])}</h1>"
        f"<p>{escape(info.get('description', ''))}</p>"
        '<p>The same in machine-readable form: <a href="/openapi.json">/openapi.json</a>.</p>'
        f"{sections}</body></html>"
    )


def _operation(path: str, method: str, operation: dict[str, Any], description: dict[str, Any]) -> str:
    parts = [
        f'<h3><span class="method">{method.upper()}</span> <code>{escape(path)}</code></h3>',
        f"<p>{escape(operation.get('summary', ''))}. {escape(operation.get('description', ''))}</p>",
    ]
    if operation.get("parameters"):
        rows = "".join(
            f"<tr><td><code>{escape(item['name'])}</code></td><td>{escape(item['in'])}</td>"
            f"<td>{escape(_kind(item.get('schema', {})))}</td>"
            f"<td>{escape(item.get('description', ''))}</td></tr>"
            for item in operation["parameters"]
        )
        parts.append(f"<table>{rows}</table>")
    for kind, content in operation.get("requestBody", {}).get("content", {}).items():
        parts.append(f"<p>Body, <code>{escape(kind)}</code>:</p>{_schema(content['schema'], description)}")
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            for content in response.get("content", {}).values():
                if content.get("schema"):
                    parts.append(f"<p>Response {status}:</p>{_schema(content['schema'], description)}")
    others = [status for status in operation["responses"] if not status.startswith("2")]
    if others:
        parts.append(f"<p>Errors: {', '.join(others)}, as <code>{{&quot;error&quot;: message}}</code>.</p>")
    return "".join(parts)


def _schema(schema: dict[str, Any], description: dict[str, Any]) -> str:
    return f"<pre>{escape(json.dumps(_outline(schema, description), indent=2, ensure_ascii=False))}</pre>"


def _outline(schema: dict[str, Any], description: dict[str, Any]) -> Any:
    """An example-like outline: fields and their types."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return _outline(description["components"]["schemas"][name], description)
    if schema.get("type") == "object" and "properties" in schema:
        return {name: _outline(field, description) for name, field in schema["properties"].items()}
    if schema.get("type") == "array":
        return [_outline(schema.get("items", {}), description)]
    options = [option for option in schema.get("anyOf", []) if option.get("type") != "null"]
    if len(options) == 1:
        return _outline(options[0], description)
    return " — ".join(filter(None, (_kind(schema), schema.get("description", ""))))


def _kind(schema: dict[str, Any]) -> str:
    kind = str(schema.get("type", "anything"))
    if "anyOf" in schema:
        kind = " or ".join(_kind(option) for option in schema["anyOf"] if option.get("type") != "null")
    limits = {
        "minimum": "from",
        "maximum": "to",
        "maxLength": "maximum characters",
        "maxItems": "maximum items",
    }
    shown = [f"{words} {schema[name]:,}" for name, words in limits.items() if name in schema]
    return ", ".join([kind, *shown])
