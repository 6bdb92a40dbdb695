"""An encoder that can be switched off, as one whose weights or whose service are missing."""

from langgraph_engram.embeddings.base import HashingEncoder
from langgraph_engram.errors import EncoderUnavailable


class Failing(HashingEncoder):
    """Embeds by hashing while it is not `down`."""

    down = False

    def encode(self, texts):
        """Return the vectors of texts.

        Raises:
            EncoderUnavailable: It is down, and there is a text.
        """
        if self.down and texts:
            raise EncoderUnavailable("the weights are missing: put them back")
        return super().encode(texts)
