"""README, CONTRIBUTING and CHANGELOG as pages of the site; links to and from them are the site's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_TO_ROOT = re.compile(rf"\]\(((?:\.\./)*)({'|'.join(map(re.escape, PAGES))})")


def on_files(files: Any, config: Any, **_: Any) -> Any:
    for name, page in PAGES.items():
        text = (Path(config.config_file_path).parent / name).read_text("utf-8")
        files.append(File.generated(config, page, content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """``../CONTRIBUTING.md``, seen from ``docs/``, is ``contributing.md`` in the site."""

    def site_link(link: re.Match[str]) -> str:
        up = "" if page.file.src_uri in PAGES.values() else link[1].removeprefix("../")
        return f"]({up}{PAGES[link[2]]}"

    return _TO_ROOT.sub(site_link, markdown)
