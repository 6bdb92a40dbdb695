"""Judge a possible boundary without a model, by the same cues that label turns."""

from langgraph_engram.prompts.judge_boundary import BoundaryVerdict, JudgeBoundary, LabelGuess
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, Label
from langgraph_engram.rules.shift import label_turn


def judge_boundary(question: JudgeBoundary) -> BoundaryVerdict:
    """Name the likeliest label, and as the least likely one the opposite with what probability is left."""
    label, confidence = label_turn(question.before, question.after[0])
    opposite: Label = "direct_resp" if label in SHIFT_LABELS else "topic_shift"
    return BoundaryVerdict(
        likeliest=LabelGuess(label=label, probability=confidence),
        least_likely=LabelGuess(label=opposite, probability=1 - confidence),
    )
