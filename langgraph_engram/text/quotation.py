"""Tell what somebody says in their own voice from what they quote or paste, by the structure of a message alone.

No word is looked at. What is quoted stands between quotation marks, tags or rules, in a block of code, behind ">",
below the head of a mail or the heading of a page, or in lines that each begin with a name. What stands below a line
that ends with a colon is as much the speaker's own as that line.
"""

import re
from dataclasses import dataclass

from langgraph_engram.text.sentences import split_sentences
from langgraph_engram.text.tokens import words

MOST_QUOTED = 0.5
"""Share of a sentence that a quotation inside it may take up."""
PASTED = re.compile(
    r"""
    ```.*?(?:```|\Z) | ^[ \t]*~~~.*?(?:^[ \t]*~~~|\Z)                       # blocks of code
    | ^[ \t]*>[^\n]*                                                        # lines of a reply
    | (?<!\w)["“„«][^"“”„«»]*(?:["“”»]|\Z) | (?<!\w)['‘](?=\w)[^\n]{1,300}?['’](?!\w)
    | (?<!\w)<(?P<tag>[a-z][\w-]*)(?=[\s/>])[^<>\n]*>.*?(?:</(?P=tag)\s*>|\Z)
    | \[(?P<code>[a-z]\w*)[^\[\]\n]{0,80}\].{0,2000}?\[/(?P=code)\]
    | ^[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,})(?:.*^[ \t]*(?:-{3,}|={3,}|_{3,}|\*{3,})[ \t]*$|.*\Z)
    | (?:^(?:\[[^\]\n]{1,40}\][ ]?)?[^\W\d_][\w .'’-]{0,39}:[ \t]+\S[^\n]*(?:\n|\Z)){2,}(?:[ \t]*\n.*\Z)?
    | (?<=\n)\#{1,6}[ \t][^\n]*\n.*\Z                                       # a page below something else
    | (?<=[:：])[ \t]*\n\s*(?!```|~~~|\s)(?P<introduced>.*)\Z
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Voiced:
    """A sentence of a message, and whose words it holds."""

    text: str
    is_own: bool = True
    introduction: str = ""
    """The sentence that introduces it, and that decides whether it is the speaker's own; empty for none."""


def voiced_sentences(text: str) -> list[Voiced]:
    """Return the sentences of a message, in order; those that a quotation mostly fills are not the speaker's own."""
    voices: list[str] = []
    end = 0
    for match in PASTED.finditer(text):
        voices += [""] * len(words(text[end : match.start()]))
        voices += ["introduced" if match["introduced"] else "pasted"] * len(words(match.group()))
        end = match.end()
    voices += [""] * len(words(text[end:]))
    found: list[Voiced] = []
    introduction, position = "", 0
    for sentence in split_sentences(text):
        own = voices[position : (position := position + len(words(sentence)))]
        if "introduced" in own:
            introduction = introduction or (found[-1].text if found else "")
        is_pasted = own.count("pasted") > MOST_QUOTED * len(own)
        found.append(Voiced(sentence, not is_pasted, introduction if "introduced" in own else ""))
    return found
