"""Turn recordings of a strong extractor into chat examples that a small one is fine-tuned on (DimMem section 3.5).

python -m training.extractor_data RECORDING [RECORDING ...] --out FILE

A recording is what `ReplayModel(path, model)` writes while a memory remembers under a preset that extracts dimensional
records ("dimmem", "engram"). Each example is one call: the rules, the conversation, and the teacher's records as JSON
(Eq. 10). What is malformed, empty, cites what it was not shown, or is too long is left out.

The paper's recipe (Table 11): 10,000 examples of a strong teacher on synthetic dialogues and on UltraChat, never on a
benchmark's; LoRA on Qwen3-4B in bfloat16 with rank 16 and alpha 32, 2 epochs, learning rate 5e-5, batches of 1 with 2
steps of gradient accumulation, sequences of 12,288 tokens at most. Merge the adapter, serve it with a server of
OpenAI's interface that decodes by JSON schema, and name it as the model (`OPENAI_BASE_URL`): the prompts are the same.
"""

import json
import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import ValidationError

from langgraph_engram.errors import InvalidInput
from langgraph_engram.llm.replay import RecordedAnswer, read_recording
from langgraph_engram.prompts.extract_events import EventReading
from langgraph_engram.prompts.extract_records import Extraction
from langgraph_engram.results import count_tokens

EXTRACTIONS: dict[str, type[Extraction] | type[EventReading]] = {
    "ExtractRecords": Extraction,
    "ExtractEvents": EventReading,
}
"""The questions that ask for dimensional records, and the shapes of their answers."""
MAX_TOKENS = 12_288
"""Tokens of an example (DimMem Table 11)."""
NUMBER = re.compile(r"\[(\d+)\]")

Example: TypeAlias = dict[str, list[dict[str, Any]]]
"""One line of a chat fine-tuning file: {"messages": [...]}."""


def make_examples(paths: Sequence[Path], max_tokens: int = MAX_TOKENS) -> list[Example]:
    """Return an example for each usable extraction of some recordings, in order, each once.

    Args:
        paths: Recordings.
        max_tokens: Tokens of the longest example.

    Raises:
        InvalidInput: A file is missing, or none of them holds a usable extraction with its prompt.
        UnreadableFile: A file cannot be read.
    """
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise InvalidInput(f"no recording at {missing[0]!r}: name a file that ReplayModel wrote")
    lines = {line.key: line for path in paths for line in read_recording(path)}
    examples = [example for line in lines.values() for example in _examples_of(line, max_tokens)]
    if not examples:
        names = ", ".join(str(path) for path in paths)
        raise InvalidInput(f'no usable extraction in {names}: record a memory that remembers under preset "dimmem"')
    return examples


def main(arguments: Sequence[str] | None = None) -> None:
    """Run from the command line."""
    parser = ArgumentParser(description="Make fine-tuning data for an extractor of recordings.")
    parser.add_argument("recordings", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--max-tokens", type=int, default=MAX_TOKENS)
    chosen = parser.parse_args(arguments)
    examples = make_examples(chosen.recordings, chosen.max_tokens)
    text = "".join(f"{json.dumps(example, ensure_ascii=False)}\n" for example in examples)
    chosen.out.write_text(text, encoding="utf-8")
    print(f"wrote {len(examples)} examples to {chosen.out}")


def _examples_of(line: RecordedAnswer, max_tokens: int) -> Iterator[Example]:
    """Yield the example that a recorded answer makes, or none."""
    if line.question not in EXTRACTIONS or not line.prompt:
        return
    try:
        answer = EXTRACTIONS[line.question].model_validate(line.answer)
    except ValidationError:
        return
    shown = {int(number) for number in NUMBER.findall(str(line.prompt[-1]["content"]))}
    if not answer.records or any(not shown.issuperset(record.sources or [0]) for record in answer.records):
        return
    messages: list[dict[str, Any]] = [*line.prompt, {"role": "assistant", "content": answer.model_dump_json()}]
    if sum(count_tokens(str(message["content"])) for message in messages) <= max_tokens:
        yield {"messages": messages}


if __name__ == "__main__":
    main()
