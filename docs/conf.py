"""How Sphinx makes a site of these pages: `make docs`.

The pages are plain Markdown, which a forge shows as they are. What a site needs beside that is
added here while they are read. Every warning is an error.
"""  # noqa: INP001  # the configuration of Sphinx is no module

import re
from pathlib import Path

from sphinx.application import Sphinx

project = "Tallystick"
author = "The authors of Tallystick"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Tallystick"
html_show_sourcelink = False
html_copy_source = False
myst_heading_anchors = 4
nitpicky = True

_HERE = Path(__file__).parent
_FILE = re.compile(r"^```(\w+) (?:title|added-to)=\"([^\"]+)\"$", re.MULTILINE)
_OUTSIDE = re.compile(r"\]\((\.\./[^)#\s]+)\)")
_PAGE = re.compile(r"^- \[[^\]]+\]\(([\w-]+)\.md\)", re.MULTILINE)


def _as_site(_app: Sphinx, page: str, source: list[str]) -> None:
    """Show the names of files above them, and copy what is linked outside of these pages."""
    text = _FILE.sub(r"```{code-block} \1\n:caption: \2\n", source[0])
    text = _OUTSIDE.sub(_copied, text)
    if page == "index":
        listed = "\n".join(_PAGE.findall(text))
        text += f"\n```{{toctree}}\n:hidden:\n\n{listed}\n```\n"
    source[0] = text


def _copied(link: re.Match[str]) -> str:
    """A link that MyST follows by copying the file; of one that is not there it complains."""
    return f"](path:{link[1]})" if (_HERE / link[1]).is_file() else link[0]


def setup(app: Sphinx) -> None:
    """Change each page when it is read."""
    app.connect("source-read", _as_site)
