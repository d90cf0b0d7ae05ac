"""Pages as a browser would read them, and cells as a spreadsheet would."""

from html.parser import HTMLParser

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "-",
    "-1\n=2",
    "-5 to -3",
    "+Infinity",
    "-0x1",
]
NO_FORMULAS = ["-0.5", "+1", "-1,234.5", "-3%", "-1e-7", "-.5", "Ada", "a=1", "5", "0x1", "", "–"]


class Reader(HTMLParser):
    """Text that a browser shows, separate from scripts and styles."""

    def __init__(self, source: str):
        super().__init__()
        self.elements, self.ids, self.scripts, self.text = [], [], [], []
        self.attributes, self._inside = [], None
        self.feed(source)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        if tag in ("script", "style"):
            self._inside = tag
            self.scripts += [""] if tag == "script" else []

    def handle_endtag(self, tag):
        self._inside = None if tag == self._inside else self._inside

    def handle_data(self, data):
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside is None:
            self.text.append(data)

    @property
    def visible_text(self) -> str:
        return " ".join("".join(self.text).split())
