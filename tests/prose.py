"""Measure the prose of the README and the docs: words, sentences, paragraphs. Run it with ``python -m tests.prose``."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
LONG_SENTENCE = 25  # words
# Words of the former private language of this project, counted per 10,000 words of prose.
IDIOLECT = re.compile(
    r"\b(stands?|stood|beside|anew|told|whoever|whom|nobody|everybody|dealt|luck|lucky|is said|are said|so many)\b",
    re.IGNORECASE,
)
GENERATED_TABLE = re.compile(r"<!--.*?-->.*?<!-- end -->", re.DOTALL)
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
FENCE = re.compile(r"^ *(```+|:::+).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
FRONT_MATTER = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
BLOCK_START = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+", re.MULTILINE)
ABBREVIATION = re.compile(r"\b(e\.g|i\.e|i\.i\.d|et al|vs|cf|eq|Fig|No)\.(?=\s)")
SENTENCE_END = re.compile(r"(?<=[.!?])[*)\"”]*\s+(?=[\"“(*\[]*(?:[A-Z0-9ε]|code\b|guestlist\b))|(?<=[.!?])\*\*\s+")


@dataclass(frozen=True)
class Prose:
    """Text of one page without headings, tables, code and generated parts.

    Attributes:
        paragraphs: Paragraphs and list items.
    """

    paragraphs: tuple[str, ...]

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences of all paragraphs."""
        pieces = [piece.strip() for text in self.paragraphs for piece in SENTENCE_END.split(text)]
        return tuple(piece for piece in pieces if len(piece.split()) > 1)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Words of each sentence."""
        return tuple(len(sentence.split()) for sentence in self.sentences)

    @property
    def words(self) -> int:
        """Number of words."""
        return sum(len(text.split()) for text in self.paragraphs)

    @property
    def idiolect(self) -> tuple[str, ...]:
        """Words of the former private language."""
        return tuple(word.lower() for text in self.paragraphs for word in IDIOLECT.findall(text))


def read_prose(page: Path) -> Prose:
    """Return the prose of a Markdown page. A code span counts as one word, and a link as its text."""
    text = page.read_text("utf-8")
    for removed in (FRONT_MATTER, GENERATED_TABLE, COMMENT, FENCE):
        text = removed.sub("\n\n", text)
    text = LINK.sub(r"\1", INLINE_CODE.sub("code", text))
    text = re.sub(r"^\s*(\||#).*$", "", text, flags=re.MULTILINE)
    text = ABBREVIATION.sub(r"\1", BLOCK_START.sub("\n\n", text))
    blocks = (" ".join(block.split()) for block in re.split(r"\n\s*\n", text))
    return Prose(tuple(block for block in blocks if block))


def pages() -> list[Path]:
    """Return every page of the docs."""
    return sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)


def main() -> None:
    """Print the measures of every page."""
    print(f"{'words':>6} {'mean':>5} {'long':>5} {'most':>5}  page")
    for page in [ROOT / "README.md", *pages()]:
        prose = read_prose(page)
        lengths = prose.lengths
        if not lengths:
            continue
        long = sum(length > LONG_SENTENCE for length in lengths) / len(lengths)
        longest = max(len(text.split()) for text in prose.paragraphs)
        idiolect = " ".join(prose.idiolect)
        mean = sum(lengths) / len(lengths)
        print(f"{prose.words:6} {mean:5.1f} {long:5.0%} {longest:5}  {page.relative_to(ROOT)} {idiolect}")


if __name__ == "__main__":
    main()
