"""Open a model by the name that users give in settings, on the command line or in `ENGRAM_MODEL`, or wrap one.

The name "rules" is resolved by `config`: `RuleModel` lives in a higher layer.
"""

import os
from importlib.util import find_spec
from urllib.parse import urlsplit

from langchain_core.language_models import BaseChatModel

from langgraph_engram.errors import ModelUnavailable, UnknownModel
from langgraph_engram.llm.base import Model
from langgraph_engram.llm.chat import ChatModel, ChatSettings

CHOICES = '"rules", "openai:NAME" (OpenAI, or any server at OPENAI_BASE_URL), a LangChain chat model, or a Model'
OPENAI_HOST = "api.openai.com"
NO_KEY = "not-needed"
"""Sent to self-hosted servers, which take any key."""
MAX_CONNECT_SECONDS = 10.0
"""Seconds to wait for a connection; the answer itself may take `timeout_seconds`."""


def open_model(model: str | BaseChatModel | Model, settings: ChatSettings) -> Model:
    """Open "openai:NAME", "PROVIDER:NAME" where `langchain` is installed, a chat model, or a `Model` as it is.

    Raises:
        UnknownModel: No model of that name.
        ModelUnavailable: A key or a package is missing.
    """
    if isinstance(model, str):
        return ChatModel(open_chat(model, settings), model, settings)
    if isinstance(model, BaseChatModel):
        return ChatModel(model, _name_of(model), settings)
    if callable(getattr(model, "ask", None)) and callable(getattr(model, "ask_all", None)):
        return model
    raise UnknownModel(f"unknown model {model!r}: choose {CHOICES}")


def open_chat(model: str, settings: ChatSettings) -> BaseChatModel:
    """Build the chat model of a name; see `open_model`."""
    provider, _, name = model.partition(":")
    if not (provider and name):
        raise UnknownModel(f"unknown model {model!r}: choose {CHOICES}")
    return openai_chat(name, settings) if provider == "openai" else _by_langchain(model, settings)


def openai_chat(name: str, settings: ChatSettings) -> BaseChatModel:
    """Build a chat model of OpenAI, or of the OpenAI-compatible server at `OPENAI_BASE_URL`."""
    base_url = os.environ.get("OPENAI_BASE_URL") or os.environ.get("OPENAI_API_BASE") or ""
    self_hosted = bool(base_url) and urlsplit(base_url).hostname != OPENAI_HOST
    key = os.environ.get("OPENAI_API_KEY") or (NO_KEY if self_hosted else "")
    if not key:
        raise ModelUnavailable(
            f"no key for the model 'openai:{name}': set OPENAI_API_KEY, or OPENAI_BASE_URL for a server of your own, "
            "or use the model 'rules', which needs neither"
        )
    from langchain_openai import ChatOpenAI
    from openai import Timeout
    from pydantic import SecretStr

    seconds = settings.timeout_seconds
    return ChatOpenAI(
        model=name,
        api_key=SecretStr(key),
        base_url=base_url or None,
        temperature=settings.temperature,
        timeout=Timeout(seconds, connect=min(seconds, MAX_CONNECT_SECONDS)),
        max_retries=settings.retries,
        # OpenAI wants the newer name of this limit; self-hosted servers often know only the older one.
        max_completion_tokens=None if self_hosted else settings.max_completion_tokens,
        extra_body={"max_tokens": settings.max_completion_tokens} if self_hosted else None,
    )


def _by_langchain(model: str, settings: ChatSettings) -> BaseChatModel:
    if find_spec("langchain") is None:
        raise UnknownModel(f"unknown model {model!r}: install langchain and its package, or choose {CHOICES}")
    from langchain.chat_models import init_chat_model

    try:
        return init_chat_model(
            model,
            temperature=settings.temperature,
            timeout=settings.timeout_seconds,
            max_tokens=settings.max_completion_tokens,
            max_retries=settings.retries,
        )
    except ImportError as error:
        raise ModelUnavailable(f"cannot open the model {model!r}: {error}") from error
    except ValueError as error:
        raise UnknownModel(f"unknown model {model!r}: choose {CHOICES} ({str(error).splitlines()[0]})") from error


def _name_of(chat: BaseChatModel) -> str:
    provider = chat.get_name().removeprefix("Chat").lower()
    name = getattr(chat, "model_name", None) or getattr(chat, "model", None)
    return f"{provider}:{name}" if isinstance(name, str) and name else provider
