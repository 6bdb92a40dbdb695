"""Find where a conversation turns to something else without asking a model: embeddings and surface cues alone.

The vectors are those that the store holds of the turns, so nothing is encoded twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from langgraph_engram.encoder import Encoder
from langgraph_engram.language.speech_cues import SpeechCues, read_cues
from langgraph_engram.long_texts import encode_turns
from langgraph_engram.nodes.segmenting.boundary_features import Numbers, boundary_features
from langgraph_engram.nodes.segmenting.boundary_model import load_model, odds_of, own_threshold, peaks, sharpen, sigmoid
from langgraph_engram.nodes.segmenting.topic_line import TopicLine, last_topic, provisional_lines
from langgraph_engram.schema import Event, Turn
from langgraph_engram.settings import SegmentSettings

DIGITS = 6
"""Decimals of a probability that is kept. The last ones of a sum change with the processor, and even with the place of
its numbers in memory: a run that is done again must give the same boundary."""


@dataclass(frozen=True)
class LearnedCuts:
    """Mark where events begin by the learned model."""

    encoder: Encoder
    settings: SegmentSettings

    def follow(self, turns: Sequence[Turn], before: Sequence[Turn], going: Event | None) -> list[TopicLine]:
        """Give a line for each turn, with the probability of a boundary before it.

        Args:
            turns: The run's turns, at least one.
            before: The turns of the same session that are stored already, oldest first.
            going: The event of the session that is still open.

        Returns:
            One line a turn. The session's first turn has no probability: nothing stands before it.
        """
        earlier = before[-self.settings.look_back :] if self.settings.look_back else []
        lines = provisional_lines(turns, last_topic(going))
        probabilities = self.probabilities([*earlier, *turns])
        if not len(probabilities):
            return lines
        threshold = own_threshold(probabilities, self.settings.least_probability, self.settings.certainty_share)
        cuts = peaks(probabilities, threshold)
        first = len(turns) - len(probabilities[-len(turns) :])
        judged = zip(lines[first:], probabilities[-len(turns) :], cuts[-len(turns) :], strict=True)
        return [
            *lines[:first],
            *(replace(line, p_eb=round(float(p_eb), DIGITS), cut=bool(cut)) for line, p_eb, cut in judged),
        ]

    def probabilities(self, turns: Sequence[Turn]) -> Numbers:
        """Compute the probability of a boundary in each gap between turns of one session.

        Returns:
            One probability a gap, in [0, 1].
        """
        if len(turns) < 2:
            return np.zeros(0)
        cues = [read_cues(" ".join([turn.text, *turn.captions])) for turn in turns]
        vectors = encode_turns(self.encoder, turns)
        found = load_model().probability(boundary_features(cues, vectors))
        strength = self.settings.sharpening
        found = sharpen(found, [turn.speaker for turn in turns[1:]], strength)
        found = sharpen(found, _question_cues(cues), strength)
        answers = np.array([turn.role != "user" for turn in turns[1:]])
        return sigmoid(odds_of(found) - self.settings.reply_penalty * answers)


def _question_cues(cues: Sequence[SpeechCues]) -> list[bool]:
    """Say of each gap whether a question follows something else than a question."""
    return [later.asks and not earlier.asks for earlier, later in pairwise(cues)]
