"""A page as one HTML file that needs nothing else: styles, script, plotting library and data are all in it.

Texts and labels come from anywhere. In markup the template escapes them; in the data of a script ``<``,
``>``, ``&`` and ``'`` are written as escapes of JSON, so that nothing in them can end the script.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Any

from ..errors import MissingExtraError
from . import charts
from .blocks import Chart, Page

UNFIT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")
"""Characters that HTML or UTF-8 does not allow."""


def to_html(page: Page) -> str:
    """The whole file."""
    jinja2 = _jinja()
    files = resources.files(__package__) / "assets"
    environment = jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
        finalize=lambda value: _fit(value) if type(value) is str else value,  # markup is fit already
    )
    environment.filters["script_json"] = _script_json
    environment.globals["finished"] = lambda block: charts.finished(block.spec, block.caption)
    template = environment.from_string((files / "report.html.jinja").read_text("utf-8"))
    drawn = any(
        isinstance(block, Chart)
        for section in page.sections
        for blocks in (section.blocks, *(part.blocks for part in section.parts))
        for block in blocks
    )
    html: str = template.render(
        page=page,
        style=(files / "report.css").read_text("utf-8"),
        script=(files / "report.js").read_text("utf-8"),
        library=plotting_library() if drawn else "",
    )
    return html


def _fit(text: str) -> str:
    """A mark stands in the place of every unfit character."""
    return UNFIT.sub("\ufffd", text)


def _script_json(value: Any) -> Any:
    from jinja2.utils import htmlsafe_json_dumps

    def dumps(plain: Any) -> str:
        return _fit(json.dumps(plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")))

    return htmlsafe_json_dumps(value, dumps=dumps)


def _jinja() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("an HTML report", "report") from None
    return jinja2


@functools.cache
def plotting_library() -> str:
    """Vega-Embed with Vega and Vega-Lite, as one script."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("an HTML report", "report") from None
    library: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # In a script element these would begin or end something; in JavaScript's strings the escape is the same.
    return library.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def check_extra() -> None:
    """Refuses, before the work starts, what could not be written after it."""
    _jinja()
    plotting_library()
