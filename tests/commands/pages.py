"""A parser for the HTML page of the demo."""

from html.parser import HTMLParser

VOID = {"meta", "img", "br", "link"}


class Page(HTMLParser):
    """Parses a page: its tags, which must be closed in order, their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.tags = [], [], []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)

    def all(self, tag):
        """Return the attributes of every tag of this kind."""
        return [attributes for name, attributes in self.tags if name == tag]
