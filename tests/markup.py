"""HTML as tests read it: elements, their attributes, and the text between them."""

from html.parser import HTMLParser

_VOID = {"br", "hr", "img", "input", "link", "meta"}
_ENDED_BY_OTHERS = ("p", "li")


class Markup(HTMLParser):
    """The elements of a page or of a part of one, all of which have an end; its text and script."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text = ""
        self.script = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in _ENDED_BY_OTHERS or self.open[-1] == tag:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.script += data
        else:
            self.text += data

    def every(self, tag: str) -> list[dict[str, str | None]]:
        """Return the attributes of the elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def values(self, *names: str) -> list[str]:
        """Return the values of attributes, wherever they stand."""
        return [
            value
            for _, attributes in self.elements
            for name, value in attributes.items()
            if name in names and value
        ]

    @property
    def tags(self) -> list[str]:
        """The names of the elements."""
        return [name for name, _ in self.elements]

    @property
    def inline(self) -> list[str]:
        """Styles and scripts within the page, which a strict policy forbids."""
        return [
            found
            for tag, attributes in self.elements
            for found in (tag, *attributes)
            if found == "style"
            or found.startswith("on")
            or (found == "script" and "src" not in attributes)
        ]
