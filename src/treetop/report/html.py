"""Renders a page as a self-contained HTML file: styles, script, plotting library and data are all inside.

Texts and labels are untrusted. The template escapes them in markup; in script data ``<``, ``>``, ``&`` and
``'`` become JSON escapes, so that no text can end the script.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Any

from ..errors import MissingExtraError
from ..units import counted
from . import charts
from .blocks import Chart, Page

INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters not allowed in HTML or UTF-8."""


def to_html(page: Page) -> str:
    """The HTML of a page."""
    jinja2 = _jinja()
    files = resources.files(__package__) / "assets"
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _valid(value) if type(value) is str else value,  # markup is valid already
    )
    environment.filters["script_json"] = _script_json
    environment.globals["counted"] = counted
    environment.globals["styled"] = lambda block: charts.styled(block.spec, block.caption)
    template = environment.from_string((files / "report.html.jinja").read_text("utf-8"))
    has_charts = any(
        isinstance(block, Chart)
        for section in page.sections
        for blocks in (section.blocks, *(part.blocks for part in section.parts))
        for block in blocks
    )
    html: str = template.render(
        page=page,
        style=(files / "report.css").read_text("utf-8"),
        script=(files / "report.js").read_text("utf-8"),
        library=plotting_library() if has_charts else "",
    )
    return html


def _valid(text: str) -> str:
    """The text with each invalid character replaced by U+FFFD."""
    return INVALID.sub("\ufffd", text)


def _script_json(value: Any) -> Any:
    from jinja2.utils import htmlsafe_json_dumps

    def dumps(plain: Any) -> str:
        return _valid(json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")))

    return htmlsafe_json_dumps(value, dumps=dumps)


def _jinja() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("an HTML report", "report") from None
    return jinja2


@functools.cache
def plotting_library() -> str:
    """Vega-Embed with Vega and Vega-Lite, in one script."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("an HTML report", "report") from None
    library: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # These would start or end an element; in JavaScript strings the escaped form means the same.
    return library.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def check_extra() -> None:
    """Raises before any work starts if the extra ``report`` is missing."""
    _jinja()
    plotting_library()
