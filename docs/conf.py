"""The configuration of Sphinx, which makes a site of these pages: `make docs`.

The pages are plain Markdown, which a forge shows as they are. What a site needs beside that is
added here while they are read. Every warning is an error, and nothing is fetched, neither at build
nor at view.
"""  # noqa: INP001  # the configuration of Sphinx is no module

import html
import re
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

project = "Tallystick"
author = "The authors of Tallystick"
version = release = version_of("tallystick")
sys.path.append(str(Path(__file__).parent))
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "commands",
    "shipped_rules",
]
templates_path = ["_templates"]
html_theme = "furo"
html_title = "Tallystick"
html_show_copyright = False
html_show_sourcelink = False
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}
myst_heading_anchors = 4
nitpicky = True
# docstrings mark names of code with single backticks too
# they have pages of their own where they stand
exclude_patterns = ["examples"]
default_role = "literal"
smartquotes = False
nitpick_ignore_regex = [
    # signatures name types of other projects and of modules that are not on the page
    ("py:.*", ".*"),
]
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
autodoc_default_options = {"exclude-members": "__new__, __init__"}
add_module_names = False
python_use_unqualified_type_names = True

_HERE = Path(__file__).parent
_FILE = re.compile(r"^```(\w+) (?:title|added-to)=\"([^\"]+)\"$", re.MULTILINE)
_OUTSIDE = re.compile(r"\]\((\.\./[^)#\s]+)\)")
_LONG_CODE = re.compile(r'(?<=<span class="pre">)[^<]{20,}(?=</span>)')
_PART = re.compile(r"(?<=\w)([./])(?=\w)")
_GROUP = re.compile(r"^## (.+)$", re.MULTILINE)
_ROOT_PAGE = "<!-- CONTRIBUTING.md -->"
_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s]+)\)")
_PAGE = re.compile(r"^- \[[^\]]+\]\(([\w-]+)\.md\)", re.MULTILINE)


def _as_site(_app: Sphinx, page: str, source: list[str]) -> None:
    """Show the names of files above them, and copy what is linked outside of these pages."""
    text = _FILE.sub(r"```{code-block} \1\n:caption: \2\n", source[0])
    if _ROOT_PAGE in text:
        text = text.replace(_ROOT_PAGE, _contributing())
        # what stands on a page of its own on a forge stands below here
        text = text.replace("[CONTRIBUTING](../CONTRIBUTING.md)", "what comes first below")
    text = _OUTSIDE.sub(_copied, text)
    if page == "index":
        # a heading and its list become a group of the sidebar
        groups = ["", *_GROUP.split(text)]
        text += "".join(map(_group, groups[::2], groups[1::2]))
    source[0] = text


def _contributing() -> str:
    """The page of the root without its title, with links as from the folder of these pages."""
    text = (_HERE.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    _, _, body = text.partition("\n\n")
    return _LINK.sub(lambda link: f"]({_from_here(link[1])})", body)


def _from_here(target: str) -> str:
    inside = target.removeprefix("docs/")
    return inside.removeprefix("contributing.md") if inside != target else f"../{target}"


def _group(caption: str, text: str) -> str:
    """A group of the sidebar: the pages of a list, below a caption if there is one."""
    pages = "\n".join(_PAGE.findall(text))
    named = f":caption: {caption}\n" if caption else ""
    return f"\n```{{toctree}}\n:hidden:\n{named}\n{pages}\n```\n" if pages else ""


def _copied(link: re.Match[str]) -> str:
    """A link that MyST follows by copying the file; of one that is not there it complains."""
    return f"](path:{link[1]})" if (_HERE / link[1]).is_file() else link[0]


def _inline(_app: Sphinx, tree: nodes.document, _page: str) -> None:
    """Put each diagram into its page, so that it follows the colours that the reader chooses.

    One with a drawing for narrow screens beside it, `NAME-narrow.svg`, is put there twice; the
    style sheet shows the one that fits.
    """
    for image in list(tree.findall(nodes.image)):
        path = _HERE / image["uri"]
        if path.suffix != ".svg" or not path.is_file():
            continue
        narrow = path.with_stem(f"{path.stem}-narrow")
        drawings = [_drawing(path, image["alt"])]
        if narrow.is_file():
            drawings.append(_drawing(narrow, image["alt"]))
        kind = "diagram has-narrow" if narrow.is_file() else "diagram"
        diagram = f'<div class="{kind}" tabindex="0">{"".join(drawings)}</div>'
        image.replace_self(nodes.raw("", diagram, format="html"))


def _drawing(path: Path, alternative: str) -> str:
    label = html.escape(alternative)
    drawing = path.read_text(encoding="utf-8")
    return drawing.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _reachable(
    _app: Sphinx, _page: str, _template: str, context: dict[str, Any], _tree: nodes.document | None
) -> None:
    """Let the keyboard reach blocks and wide tables, which scroll, and let long paths break."""
    body = context.get("body", "").replace("<pre>", '<pre tabindex="0">')
    body = _LONG_CODE.sub(lambda code: _PART.sub(r"\1<wbr>", code[0]), body)
    context["body"] = body.replace(
        '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'
    )


def setup(app: Sphinx) -> None:
    """Change each page when it is read."""
    app.connect("source-read", _as_site)
    app.connect("doctree-resolved", _inline)
    app.connect("html-page-context", _reachable)
