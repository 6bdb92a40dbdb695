"""Label how a turn follows the turns before it, by cue words, questions and shared stems."""

import re
from collections.abc import Sequence

from langgraph_engram.prompts.track_topics import Label
from langgraph_engram.schema import Turn
from langgraph_engram.text.sentences import ends_asking
from langgraph_engram.text.tokens import content_stems

OPENING_CUE = re.compile(
    r"^\W*(?:(?:oh|well|so|hey|and)\W+)?(?:by the way|btw|anyway|speaking of|on another note|guess what|also,|"
    r"changing the subject|what about you|how about you|i (?:wanted|meant) to (?:tell|ask)|did i tell you)\b",
    re.IGNORECASE,
)
REPLY_CUE = re.compile(
    r"^\W*(?:yes|yeah|yep|no|nope|thanks|thank you|wow|that'?s|that is|sounds|i agree|totally|exactly|sure|cool|nice|"
    r"great|awesome|really|haha|lol|oh)\b",
    re.IGNORECASE,
)
LOOK_BACK = 2
"""Turns before it that a turn is compared with (L of ES-Mem section 3.1)."""
SURE, LIKELY, UNSURE = 0.9, 0.8, 0.6


def label_turn(before: Sequence[Turn], turn: Turn) -> tuple[Label, float]:
    """Give the likeliest label of a turn and the confidence in it.

    Args:
        before: The turns before it, oldest first; none makes it an opening.
        turn: The turn to label.

    Returns:
        A label, and a confidence in [0, 1].
    """
    if not before:
        return "topic_intro", SURE
    if OPENING_CUE.search(turn.text):
        return "topic_shift", SURE
    if ends_asking(before[-1].text):
        return "direct_resp", SURE
    shared = _shared(before, turn)
    asks = ends_asking(turn.text)
    if REPLY_CUE.search(turn.text):
        return "direct_resp", UNSURE if asks and not shared else LIKELY
    if not shared:
        return "topic_shift", LIKELY if asks else UNSURE
    return "detail_elaborate", LIKELY


def _shared(before: Sequence[Turn], turn: Turn) -> bool:
    earlier = {stem for one in before[-LOOK_BACK:] for stem in content_stems(one.indexed_text)}
    names = {stem for one in (*before, turn) for stem in content_stems(one.speaker)}
    return bool((set(content_stems(turn.text)) & earlier) - names)
