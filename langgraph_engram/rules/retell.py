"""Retell a speaker's words as an answer about them: without lead-ins, in the third person.

Nobody's gender is guessed: "my" becomes "their". This module does not know what is asked.
"""

import re

EXCLAMATION = (
    r"oh|ah|aww?|wow|yeah|yep|yup|yes|no|nope|nah|hey|hi|hello|well|so|and|but|also|plus|anyway|btw|by the way|"
    r"actually|honestly|thankfully|luckily|unfortunately|thanks(?: a (?:lot|bunch|ton))?|thank you|totally|absolutely|"
    r"definitely|for sure|sure|of course|right|okay|ok|cool|great|nice|awesome|lately|recently|currently|haha|lol|man|"
    r"one time|you know|guess what|i mean|to be honest"
)
CALLED = r"(?:,?\s+[A-Z][a-z]+(?=[,!.]))?"
"""A name that somebody is called by: "Thanks, Ana!"."""
THINKING = r"i\s+(?:think|guess|feel like|believe|hope|know|mean|must say|have to say)"
PRESENTING = (
    r"it seems(?: like)?|looks like|here['’]s|there['’]s|this is|that['’]s|one of my|it was|it['’]s(?: about)?|"
    r"they['’]re|he['’]s|she['’]s"
)
LEAD_INS = re.compile(
    rf"^(?:(?:(?:{EXCLAMATION})\b(?:\s+(?:so|very) much)?{CALLED}\s*[,!.:…-]+\s*)|"
    r"(?:(?:well|so|and|but|also|plus|yeah|yep|actually|oh|then|because|'?cause)\s+)|[A-Z][a-z]+,\s+(?=[a-z]|I\b)|"
    rf"(?:{THINKING}|{PRESENTING})\s+(?:that\s+)?(?=\S+\s))+",
    re.IGNORECASE,
)
TAIL = re.compile(
    r"(?:,?\s+(?:too|though|as well|right|you know|actually|btw|lol|haha|so far|yet|already|now|lately|recently))?"
    r"\s*[.!?…,;:–—-]*\s*$",
    re.IGNORECASE,
)
SYMBOLS = re.compile(r"[\U0001F000-\U0001FAFF\u2600-\u27BF\u2B05-\u2B55\u203C\u2049\u200D\uFE0F]+|(?<=\s):[)DP(]")
THIRD_PERSON = {
    "i": "they",
    "me": "them",
    "my": "their",
    "mine": "theirs",
    "myself": "themselves",
    "am": "are",
    "i'm": "they are",
    "i've": "they have",
    "i'd": "they would",
    "i'll": "they will",
    "we": "they",
    "us": "them",
    "our": "their",
    "ours": "theirs",
    "ourselves": "themselves",
    "we're": "they are",
    "we've": "they have",
    "we'd": "they would",
    "we'll": "they will",
    "'em": "them",
    "fam": "family",
}
NUMBER_AGREES = re.compile(r"\bthey was\b", re.IGNORECASE)
WORD = re.compile(r"['’]?[A-Za-z]+(?:['’][a-z]+)?")


def without_lead_in(text: str) -> str:
    """Take from the start of a sentence what answers nothing: exclamations, names called, "I think", "it's"."""
    bare = _without_symbols(text)
    match = LEAD_INS.match(bare)
    rest = bare[match.end() :] if match else bare
    return rest if rest.strip() else bare


def retold(phrase: str) -> str:
    """Turn a phrase into the third person and open it with a capital, its closing marks taken off."""
    bare = TAIL.sub("", _without_symbols(phrase)).strip()
    told = NUMBER_AGREES.sub("they were", WORD.sub(_third_person, bare))
    told = _balanced(told.strip(" ,;:'’-–—"))
    return told[:1].upper() + told[1:]


def _without_symbols(text: str) -> str:
    """Take out pictograms; what they stand between stays apart."""
    return " ".join(SYMBOLS.sub(" ", text).split())


def _third_person(match: re.Match[str]) -> str:
    word = match.group()
    is_hour = word.casefold() == "am" and match.string[: match.start()].rstrip()[-1:].isdigit()
    return word if is_hour else THIRD_PERSON.get(word.casefold().replace("’", "'"), word)


def _balanced(text: str) -> str:
    """Drop a bracket or a quote that was left open."""
    if text.count("(") > text.count(")"):
        text = text[: text.rindex("(")].rstrip()
    return text.replace('"', "") if text.count('"') % 2 else text
