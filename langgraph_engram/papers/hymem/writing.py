"""What HyMem alone does as it writes: key sentences (section 3.2, Level 1)."""

from langgraph_engram.extraction.extractor import View
from langgraph_engram.prompts.extract_key_sentences import ExtractKeySentences

KEY_SENTENCES = View("key_sentence", ExtractKeySentences)
