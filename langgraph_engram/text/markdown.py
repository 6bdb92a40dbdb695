"""Cut long or structured texts into chunks under their headings: blocks of CommonMark with GitHub's tables.

A list, a table or code stays together with the line that introduces it, up to a bound, and is then cut at lines.
Nothing is lost but white space and lines without a word, and the time needed grows with the length of the text only.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Literal

from langgraph_engram.schema import Role
from langgraph_engram.text.sentences import pieces_of, split_sentences

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

BlockType = Literal["heading", "prose", "list", "table", "code"]

LONG_MESSAGE = 600
"""Characters from which a message is cut into chunks whatever its structure, a person's where it has any."""
DOCUMENT = 16_000
"""Characters from which a person's message is a document: cut as a whole, and read at its beginning and its end."""
MAX_CHUNK = 2000
"""Characters of a chunk without its headings and the line that introduces it."""
FULL_CHUNK = 1000
"""Characters from which a chunk ends where another heading begins."""
MAX_OPENING = 200
"""Characters of a heading, and of a line that introduces a block."""
MAX_CACHED_TEXTS = 512
FENCED = re.compile(r"^\s*```.*?(?:^\s*```|\Z)", re.MULTILINE | re.DOTALL)
POINT = re.compile(
    r"^\s*(?:#{1,6}\s+|(?:[-*+]|\d+[.)])\s+(?=\*\*)|(?=\*\*))(?:\d+[.)]\s+)?\**(?P<point>[^*\n]{3,80})", re.MULTILINE
)
OPENING_WORDS = 8
"""Words by which an outline names a line of a text that sets nothing in bold."""
LINE_END = re.compile(r"\r\n?|\n")
WORD = re.compile(r"\w")
BOLD_LINE = re.compile(r"\*\*.*\*\*|\*\*\*?")
BLOCK_TYPES: dict[str, BlockType] = {
    "heading_open": "heading", "bullet_list_open": "list", "ordered_list_open": "list", "table_open": "table",
    "fence": "code", "code_block": "code", "html_block": "code",
}  # fmt: skip
"""By markdown-it's names; any other is prose."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that belong together, as they were written."""

    type: BlockType
    text: str
    level: int = 0
    """Of a heading, from 1."""
    heading: str = ""

    @property
    def introduces(self) -> bool:
        """Whether it announces what follows: a paragraph that ends with a colon, or a line in bold type."""
        is_opening = self.text.rstrip("*_ ").endswith((":", "：")) or BOLD_LINE.fullmatch(self.text)
        return self.type == "prose" and len(self.text) <= MAX_OPENING and bool(is_opening)


END = Block("prose", "")


@dataclass(frozen=True, slots=True)
class _Part:
    """A block, or a part of one, that no chunk cuts further."""

    path: tuple[str, ...]
    """The headings above it, the outermost first."""
    text: str
    opened: str = ""
    """The lines of the headings that stand just before it."""
    introduces: bool = False


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def chunks_of(text: str, role: Role) -> tuple[str, ...]:
    """Cut a message into chunks, each under a line of its headings ("A > B:"); none of one that is short and plain.

    An assistant's is cut as a whole, and a document. Of what else people say are cut code and tables, and if it is long
    lists and what stands under headings; its paragraphs are sentences in their own right.
    """
    is_long = len(text) >= LONG_MESSAGE
    blocks: Sequence[Block] = blocks_of(text)
    if not is_cut_whole(text, role):
        blocks = _pasted(blocks, is_long=is_long)
    elif not is_long and all(block.type == "prose" for block in blocks):
        return ()
    chunks = (_chunk(parts) for parts in _grouped(_introduced(_parts(blocks))))
    return tuple(chunk for chunk in chunks if WORD.search(chunk))


def is_cut_whole(text: str, role: Role) -> bool:
    """Return whether a message that is cut into chunks is cut as a whole: an assistant's, and a document."""
    return role == "assistant" or len(text) >= DOCUMENT


def without_code(text: str) -> str:
    """Return a text without code and tables."""
    return "\n\n".join(block.text for block in blocks_of(text) if block.type not in ("code", "table"))


def ends_of(text: str) -> str:
    """Return the sentences that a text begins and ends with, `LONG_MESSAGE` characters each: what its sender says."""
    first, last = split_sentences(text[:LONG_MESSAGE])[:-1], split_sentences(text[-LONG_MESSAGE:])[1:]
    return "\n\n".join(filter(None, (" ".join(first), " ".join(last))))


def prose_of(text: str) -> str:
    """Return the paragraphs of a text, without headings, lists, tables and code."""
    return "\n\n".join(block.text for block in blocks_of(text) if block.type == "prose")


def statements_of(text: str) -> list[str]:
    """Return the sentences of the paragraphs, lists and tables of a text, in order."""
    telling = (block for block in blocks_of(text) if block.type not in ("heading", "code"))
    return [sentence for block in telling for sentence in split_sentences(block.text) if WORD.search(sentence)]


def points_of(text: str) -> list[str]:
    """Return the headings of a text and what begins its paragraphs and list items in bold, in order, each once."""
    found = (" ".join(point["point"].split()).strip(" :.") for point in POINT.finditer(FENCED.sub("", text)))
    return list(dict.fromkeys(filter(None, found)))


def outline_of(text: str, most: int) -> str:
    """Return a text of at most `most` characters as it is, of a longer one its first sentence and its points.

    Where it sets nothing in bold, these are the first words of its lines.
    """
    if len(text) <= most:
        return text
    lines = (
        line for block in blocks_of(text) if block.type not in ("code", "table") for line in block.text.split("\n")
    )
    points = points_of(text) or [" ".join(line.split()[:OPENING_WORDS]) for line in lines if WORD.search(line)][1:]
    told = " ".join([*split_sentences(text)[:1], "; ".join(points)])
    return told if len(told) <= most else f"{told[:most].rstrip()} …"


@lru_cache(maxsize=MAX_CACHED_TEXTS)
def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the outermost blocks of a text, in order; a heading that has no words, or nothing under it, is prose."""
    blocks = [block for block in _blocks(LINE_END.split(text)) if block.text]
    return tuple(
        replace(block, type="prose") if block.type == "heading" and not _heads(block, after) else block
        for block, after in pairwise([*blocks, END])
    )


def _blocks(lines: Sequence[str]) -> Iterator[Block]:
    """Yield the blocks of some lines, and as prose the lines between them."""
    end = 0
    tokens = _parser().parse("\n".join(lines))
    for position, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        first, last = token.map
        yield _block("prose", lines[end:first])
        block = _block(BLOCK_TYPES.get(token.type, "prose"), lines[first:last])
        if block.type == "heading":
            words = " ".join(tokens[position + 1].content.split()).strip("*_ :")
            block = replace(block, level=int(token.tag.removeprefix("h")), heading=words)
        yield block
        end = last
    yield _block("prose", lines[end:])


@cache
def _parser() -> "MarkdownIt":
    """Return the parser; imported for the first long message, and a search of short ones reads none."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


def _block(block_type: BlockType, lines: Sequence[str]) -> Block:
    return Block(block_type, "\n".join(line.rstrip() for line in lines).strip("\n"))


def _heads(heading: Block, after: Block) -> bool:
    """Return whether a heading has words, not too many, and something under it."""
    is_empty = after is END or (after.type == "heading" and after.level <= heading.level)
    return not is_empty and 0 < len(heading.heading) <= MAX_OPENING


def _pasted(blocks: Sequence[Block], *, is_long: bool) -> list[Block]:
    """Return the blocks of a person's message that are no paragraphs in their own right, with what introduces them."""
    wanted = {"code", "table", *(("list", "heading") if is_long else ())}
    chosen: list[Block] = []
    headed = False
    for block, after in pairwise([*blocks, END]):
        headed = headed or (is_long and block.type == "heading")
        if headed or block.type in wanted or (block.introduces and after.type in wanted):
            chosen.append(block)
    return chosen


def _parts(blocks: Iterable[Block]) -> Iterator[_Part]:
    """Cut what is too large for a chunk, and put each part under its headings."""
    path: list[Block] = []
    opened: list[str] = []
    for block in blocks:
        if block.type == "heading":
            path = [*(heading for heading in path if heading.level < block.level), block]
            opened.append(block.text)
            continue
        names = tuple(heading.heading for heading in path)
        for text in _cut(block.text):
            yield _Part(names, text, "\n".join(opened), block.introduces)
            opened = []


def _cut(text: str) -> list[str]:
    """Cut a block that is too large at its lines, and a line at its sentences."""
    lines = (piece for line in text.split("\n") for piece in _packed(pieces_of(line, MAX_CHUNK), " "))
    return [text] if len(text) <= MAX_CHUNK else _packed(lines, "\n")


def _introduced(parts: Iterable[_Part]) -> list[_Part]:
    """Join each part with the line before it that introduces it."""
    joined: list[_Part] = []
    for part in parts:
        if joined and joined[-1].introduces and not (part.opened or part.introduces):
            joined[-1] = replace(joined[-1], text=f"{joined[-1].text}\n{part.text}", introduces=False)
        else:
            joined.append(part)
    return joined


def _grouped(parts: Iterable[_Part]) -> Iterator[list[_Part]]:
    """Group parts in order into chunks; what begins under another heading joins one that is not full."""
    group: list[_Part] = []
    size = 0
    for part in parts:
        own = len(part.opened) + len(part.text)
        if group and (size + own > MAX_CHUNK or (part.opened and size >= FULL_CHUNK)):
            yield group
            group, size = [], 0
        group.append(part)
        size += own
    if group:
        yield group


def _packed(pieces: Iterable[str], separator: str) -> list[str]:
    """Join pieces in order, as many as fit a chunk."""
    packed: list[str] = []
    size = 0
    for piece in pieces:
        if packed and size + len(piece) <= MAX_CHUNK:
            packed[-1] += separator + piece
        else:
            packed.append(piece)
            size = 0
        size += len(piece) + len(separator)
    return [text.strip("\n") for text in packed]


def _chunk(parts: Sequence[_Part]) -> str:
    path = " > ".join(parts[0].path)
    opened = (line for part in parts[1:] for line in (part.opened, part.text))
    return "\n".join(filter(None, (path and f"{path}:", parts[0].text, *opened)))
