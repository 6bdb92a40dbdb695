"""Hold the English words that tell the past from the future, and a habit from both.

This module does not know clauses, nor which word wins.
"""

import re

LONGEST_OPENING = 4
"""How many words a clause has, at most, that only opens the next: "but on Friday, we ..."."""
BE = r"(?:\b(?:am|is|are)|['’](?:m|re|s))"
PERSON = r"(?:i|you|we|they|he|she|it)"
SOFTENER = r"(?:(?:not|also|just|still|now|all|both|only|really|finally|probably|definitely|[a-z]+ly)\s+)?"

GOINGS = (
    "going coming leaving flying driving moving heading travelling traveling visiting meeting seeing having hosting "
    "throwing taking getting running giving launching attending performing opening joining hiking camping organizing "
    "organising holding celebrating playing speaking presenting competing racing marrying arriving returning releasing "
    "starting beginning hitting spending staying closing"
).split()
"""What someone who is doing it is often about to do."""
SCHEDULED = (
    "starts? begins opens closes launches arrives returns departs expires lands flies premieres airs graduates resumes "
    "takes\\s+place kicks\\s+off comes\\s+out goes\\s+live"
).split()
"""What is said in the present tense of what stands in a calendar."""
PLANS = (
    "leave fly move open close launch meet travel return graduate marry play go race get\\s+married start begin head "
    "drive perform"
).split()
"""Likewise, of oneself and one's company."""
AHEAD = re.compile(
    rf"\b(?:(?-i:will|WILL)|will\s+(?:{PERSON}|there|the|your|my)|won['’]t|shall|gonna|going\s+to|plan(?:s|ning)?|"
    r"planned\s+(?:for|in|on)|upcoming|coming|can(?:not)?|can['’]t\s+wait|must|might|ought\s+to|needs?\s+to|"
    r"ha(?:ve|s)\s+to|got\s+to|look(?:ing)?\s+forward|hop(?:e|es|ing)\s+to|hopefully|wants?\s+to|would\s+(?:you\s+)?(?:like|love)\s+to|"
    r"(?<!was )(?<!were )(?<!was so )(?<!were so )excited\s+(?:for|about|to)|see\s+you|let['’]?s|how\s+about|"
    r"don['’]t\s+forget|save\s+the\s+date|rsvp|please|tomorrow|scheduled|rescheduled|expect(?:s|ed|ing)?|supposed\s+to|should|"
    r"due(?!\s+to)|deadline|preparing|getting\s+ready|next(?!\s+to)|about\s+to|be\s+there|starting|soon|remind(?:er)?|"
    rf"leav(?:e|es|ing)\s+(?:for|on)|{'|'.join(SCHEDULED)}|(?:i|we|you|they)\s+(?:{'|'.join(PLANS)})|"
    r"(?:have|has)\s+(?:got|an?|my|our|another|plans|tickets)|(?:to|will)\s+be\s+held)\b|"
    r"['’]ll\b|['’]ve\s+got\b|['’]d\s+(?:like|love)\s+to\b|"
    rf"{BE}\s+(?:{PERSON}\s+)?{SOFTENER}(?:{'|'.join(GOINGS)}|free|available|busy|away|invited)\b",
    re.IGNORECASE,
)
"""What speaks of the future wherever it stands."""
PAST_VERBS = (
    "did saw came made took gave felt met won lost told said ran found held began ate bought broke brought built caught "
    "chose drank drew drove fell flew forgot fought grew heard knew led paid rode sang sent slept sold spent spoke stood "
    "swam taught thought threw woke wore wrote hid shot swept froze dug bit blew stole tore rang rose shook won hung lent "
    "meant lit became"
).split()
NOT_PASSIVE = r"(?<!\bbe )(?<!\bis )(?<!\bare )(?<!['’]re )(?<!\bget )(?<!\bto )"
BEHIND = re.compile(
    r"\b(?:was|were|wasn['’]t|weren['’]t|didn['’]t|had|hadn['’]t|been|ago|yesterday|since|last|went|back\s+in|"
    r"left(?!\s+(?:until|till|to|before|for)\b)|kept|"
    rf"{NOT_PASSIVE}(?:(?<!have )(?<!has )(?<!['’]ve )got|ended|visited|attended|started|finished|happened|{'|'.join(PAST_VERBS)}))\b",
    re.IGNORECASE,
)
"""What speaks of the past wherever it stands."""
PAST_FORM = re.compile(
    rf"\b{NOT_PASSIVE}(?!need|excited|supposed|interested|planned|indeed|booked|wedding|speed|based|limited|hundred|"
    r"red\b|invited|married\s+on)[a-z]{2,}ed\b",
    re.IGNORECASE,
)
"""A weaker hint, for it may be a participle."""
ARRANGED = re.compile(
    r"\b(?:(?:re)?schedul(?:e[ds]?|ing)|plan(?:s|ned|ning)?|book(?:ed|ing)?|set|arrang(?:e[ds]?|ing|ements?)|reserv(?:ed?|ing|ations?)|"
    r"fixed|slated|invit(?:ed?|ations?)|appointments?|tickets?|table|aim(?:s|ed|ing)?|due|deadline)\b[^.;!?]{0,60}?\bfor\s+(?:the\s+)?$|"
    r"\b(?:mov(?:ed?|es|ing)|postpon(?:ed?|es|ing)|reschedul(?:ed?|es|ing)|push(?:ed|es|ing)?|shift(?:ed|s|ing)?|br(?:ing|ought)|"
    r"chang(?:ed?|es|ing)|switch(?:ed|es|ing)?|exten(?:d|ds|ded|ding|sion)|delay(?:ed|s|ing)?|put(?:ting)?\s+(?:it\s+|this\s+)?off)\b"
    r"[^.;!?]{0,60}?\b(?:to|until|till)\s+(?:the\s+)?$|"
    r"\b(?:days?|weeks?|months?|sleeps?|nights?)\s+(?:left\s+|more\s+|to\s+go\s+)?(?:until|till|to)\s+(?:the\s+)?$|"
    r"\b(?:closed|open|suspended|valid|due|deadline)\s+(?:until|till|through|by|on|in|is)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
"""What makes a time an appointment, right before it."""
IS_ON = re.compile(
    rf"(?:\b(?:is|are)|\w['’](?:s|re))\s+{SOFTENER}(?:(?:on|at|in|from|until|till|around|about)\s+)?(?:the\s+)?$|"
    r"\b(?:is|are)\s+(?:at|in|on)\s+(?:the\s+)?\S+(?:\s\S+)?\s+on\s+$",
    re.IGNORECASE,
)
"""What is on a day, right before it."""
IS = re.compile(r"\s+(?:is|are|['’]s)\b")
"""What the day itself is, right after it."""
LIMIT = re.compile(r"\b(?:by|until|till)\s+(?:the\s+)?$", re.IGNORECASE)
DUE_BY = re.compile(r"(?<!managed )\bto\s+[a-z]+\b[^,;]{0,40}\bby\s+(?:the\s+)?$", re.IGNORECASE)
"""What is to be done by a time, whoever asked for it."""
HABIT = re.compile(
    r"\b(?:usually|(?<!will )(?<!['’]ll )(?<!['’]ve )(?<!have )(?<!has )always|often|normally|typically|generally|sometimes|"
    r"tends?\s+to|used\s+to(?!\s+(?:it|this|that)\b)|regularly|annually|whenever|all\s+the\s+time|"
    r"(?:every|each)\s+(?:single\s+|other\s+)?(?:day|night|morning|evening|week|weekend|month|year|spring|summer|autumn|fall|"
    r"winter|season|time))\b",
    re.IGNORECASE,
)
