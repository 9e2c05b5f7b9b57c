"""A hook of mkdocs: links from docs/ to other files of the project become links to the repository."""

import posixpath
import re
from pathlib import Path

from mkdocs.exceptions import Abort

LINK = re.compile(r"\]\((\.\./[^)#\s]+)(#[^)\s]*)?\)")


def on_page_markdown(markdown, page, config, files):
    def outside(match):
        path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page.file.src_path), match[1]))
        if path.startswith("docs/"):
            return match[0]
        if not Path(path).exists():
            raise Abort(f"{page.file.src_path}: {match[1]} does not exist")
        return f"]({config['extra']['repository']}/blob/main/{path}{match[2] or ''})"

    return LINK.sub(outside, markdown)
