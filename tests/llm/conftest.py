"""What the tests of the adapters share: a question of each kind, and a chat model of a fake server."""

from dataclasses import dataclass
from typing import Literal

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, Field

from langgraph_engram.llm.base import Question
from langgraph_engram.llm.chat import ChatModel, ChatSettings
from tests.fake_server import FakeServer

GOOD = '{"label": "news", "confidence": 0.5}'
"""An answer to `AskNote`."""


class Note(BaseModel):
    """What a sentence is."""

    label: Literal["news", "chat"]
    confidence: float = Field(default=1.0, ge=0, le=1)


@dataclass(frozen=True)
class AskNote(Question[Note]):
    """What is this sentence?"""

    text: str = "It rains."

    def render(self) -> list[BaseMessage]:
        return [SystemMessage("Label the sentence."), HumanMessage(self.text)]


@dataclass(frozen=True)
class AskText(Question[str]):
    """A text question."""

    text: str = "Hello?"

    def render(self) -> list[BaseMessage]:
        return [HumanMessage(self.text)]


def chat_of(server: FakeServer | str, timeout: float = 10.0, retries: int = 0, **settings: object) -> ChatModel:
    """Make a chat model that talks to a fake server by the real client."""
    url = server if isinstance(server, str) else server.url
    chat = ChatOpenAI(base_url=url, api_key="any", model="fake", temperature=0, timeout=timeout, max_retries=retries)
    return ChatModel(chat, "openai:fake", ChatSettings(**settings))
