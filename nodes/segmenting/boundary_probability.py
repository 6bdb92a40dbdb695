"""Turn intent labels into the probability of a boundary (ES-Mem section 3.1, Eq. 3 and 4)."""

from langgraph_engram.prompts.judge_boundary import BoundaryVerdict
from langgraph_engram.prompts.track_topics import SHIFT_LABELS, Label


def boundary_probability(label: Label, confidence: float) -> float:
    """Turn a label and its confidence into the probability of a boundary.

    ES-Mem Eq. 3: c for a shift label, 1 - c for a continuation label.

    Args:
        label: What the turn does.
        confidence: The model's confidence in `label`, in [0, 1].

    Returns:
        A probability in [0, 1].
    """
    return confidence if label in SHIFT_LABELS else 1 - confidence


def verdict_probability(verdict: BoundaryVerdict, *, guarded: bool) -> float:
    """Combine the likeliest and the least likely label of a verdict.

    The paper takes their mean (Eq. 4), which accepts a continuation whose opposite is denied firmly, and halves a
    shift when both labels are shifts. The guarded rule takes the likeliest label alone in these two cases.

    Returns:
        p_eb in [0, 1].
    """
    best, worst = verdict.likeliest, verdict.least_likely
    likeliest = boundary_probability(best.label, best.probability)
    mean = (likeliest + boundary_probability(worst.label, worst.probability)) / 2
    if not guarded:
        return mean
    same_class = (best.label in SHIFT_LABELS) == (worst.label in SHIFT_LABELS)
    return likeliest if same_class or best.label not in SHIFT_LABELS else mean
