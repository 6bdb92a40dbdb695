"""Tell whether a query asks for what the assistant said, by its words alone (DimMem section 3.3: assistant recall).

Such a query speaks to the assistant of what it did, or goes back to an earlier conversation that both had. Who asks for
their own words ("remind me what I told you", "what did I say to you?") does not.
"""

import re

DID = (
    "suggested|recommended|advised|told|mentioned|said|gave|listed|provided|proposed|explained|wrote|described|shared|"
    "created|made|drafted|generated|outlined|summari[sz]ed|translated|quoted|cited|named|came up with|pointed out|"
    "talked about|referred to|were referring to|walked me through|taught|showed|helped me with"
)
DO = (
    "suggest|recommend|advise|tell|mention|say|give|list|provide|propose|explain|write|describe|share|create|make|"
    "draft|generate|outline|summari[sz]e|translate|quote|cite|name|come up with|point out|refer to|teach|show"
)
TALK = "chat|conversation|discussion|session|talk|exchange|game|dialogue|thread"
EARLIER = "last|previous|earlier|prior|past|recent|first"
TALKED = "talked|spoke|discussed|chatted|went over|covered|agreed|decided|settled|outlined|came up with|worked on"
CUES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b(?:you|the assistant)(?: had| have|'ve)?(?: \w+ly| also| once| just)? (?:{DID})\b",
        rf"\b(?:did|have|had) (?:you|the assistant) (?:\w+ly )?(?:{DO}|{DID})\b",
        r"\b(?:your|the assistant['’]?s) (?:earlier |previous |last |first |original )?"
        r"(?:suggestion|recommendation|advice|answer|list|idea|explanation|reply|response|tip|recipe|plan)s?\b",
        rf"\bour (?:{EARLIER}) (?:[\w-]+ ){{0,2}}(?:{TALK})s?\b",
        rf"\bwe(?:'ve| had| have)?(?: \w+ly)? (?:{TALKED})\b.{{0,60}}\b(?:{EARLIER}|before|earlier|last time|remind)\b",
        r"\bremind me (?:what|which|who|how|of (?:what|the|that|those))\b(?!.{0,60}\b(?:my|I)\b)",
    )
)
"""What speaks of the assistant's words; one is enough."""
OWN_WORDS = re.compile(
    r"\b(?:did|have|had) I (?:\w+ )?(?:tell|say|mention|share|told|said|mentioned|shared)\b|"
    r"\bwhat I (?:\w+ )?(?:told|said|mentioned|shared|asked)\b|\bI (?:told|mentioned to|asked) you\b",
    re.IGNORECASE,
)
"""What asks for the user's own words, whatever else it says."""

OF_ONESELF = re.compile(r"\b(?:my|mine|our|I(?:['’](?:m|ve)| am| have| was| had| just| got| bought))\b")
"""What tells of whoever speaks, in a question too."""


def asks_for_assistant(query: str) -> bool:
    """Say whether a query asks for what the assistant said."""
    return not OWN_WORDS.search(query) and any(cue.search(query) for cue in CUES)


def tells_of_oneself(text: str) -> bool:
    """Say whether a text, a question too, tells something of whoever says it: "a strap for my new camera"."""
    return OF_ONESELF.search(text) is not None
