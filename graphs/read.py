"""Wire the read graph: intent -> light retrieval -> sufficient? -> deep selection -> backtrack -> answer -> reflect.

A search ends after light retrieval, without an answer.
"""

from dataclasses import dataclass
from typing import Literal, cast

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from langgraph_engram.graphs.instrumentation import EntryNode, InstrumentedGraph, add_entry
from langgraph_engram.llm.base import Model
from langgraph_engram.nodes.backtrack import Backtrack
from langgraph_engram.nodes.conclude import Conclude
from langgraph_engram.nodes.deep_select import DeepSelect, batches
from langgraph_engram.nodes.judge_sufficiency import JudgeSufficiency
from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.nodes.parse_intent import ParseIntentStep
from langgraph_engram.nodes.reflect import ReflectStep
from langgraph_engram.nodes.write_answer import WriteAnswerStep
from langgraph_engram.rerank import Reranker
from langgraph_engram.settings import DeepSettings, Settings
from langgraph_engram.state import ReadInput, ReadState, SelectInput
from langgraph_engram.stores.base import Store

ReadGraph = CompiledStateGraph[ReadState, None, ReadInput, ReadState]


def build_read_graph(
    store: Store,
    model: Model,
    rule_model: Model,
    settings: Settings,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    reranker: Reranker | None = None,
    entry: EntryNode | None = None,
) -> ReadGraph:
    """Build the graph that recalls.

    Args:
        store: Where memories are kept.
        model: What answers the graph's questions.
        rule_model: What answers where no call may be made: in `search`, and for intents that rules parse.
        settings: A preset, or one with changes.
        checkpointer: Where each step is saved; None for `search`, and for a graph that another one embeds.
        reranker: What reorders the evidence; None to leave the order of the fusion.
        entry: The node before the first step, where the graph is served.
    """
    routing = Routing(settings.deep)
    graph = InstrumentedGraph(
        "recall",
        ReadState,
        entry.context_schema if entry else None,
        input_schema=entry.input_schema if entry else ReadInput,
    )
    graph.add_node("parse_intent", ParseIntentStep(store, model, rule_model, settings.retrieve))
    graph.add_node("light_retrieve", LightRetrieve(store, settings.retrieve, reranker))
    graph.add_node("judge_sufficiency", JudgeSufficiency(model, settings.deep))
    graph.add_node("deep_select", DeepSelect(model), input_schema=SelectInput)
    graph.add_node("backtrack", Backtrack(store, settings.deep))
    graph.add_node("write_answer", WriteAnswerStep(model, settings.deep))
    graph.add_node("reflect", ReflectStep(model, rule_model, settings.deep))
    graph.add_node("conclude", Conclude(settings.retrieve))
    add_entry(graph, entry, "parse_intent")
    graph.add_edge("parse_intent", "light_retrieve")
    graph.add_conditional_edges("light_retrieve", routing.after_light, ways_after_light(settings.deep))
    graph.add_conditional_edges("judge_sufficiency", routing.after_judge, ["deep_select", "reflect", "conclude"])
    graph.add_edge("deep_select", "backtrack")
    graph.add_edge("backtrack", "write_answer")
    graph.add_conditional_edges("write_answer", routing.after_answer)
    graph.add_conditional_edges("reflect", after_reflect)
    graph.add_edge("conclude", END)
    return cast(ReadGraph, graph.compile(checkpointer=checkpointer, name="recall"))


@dataclass(frozen=True)
class Routing:
    """Choose the way where it depends on the preset."""

    settings: DeepSettings

    def after_light(
        self, state: ReadState
    ) -> Literal["judge_sufficiency", "backtrack", "write_answer", "conclude"] | list[Send]:
        """End a search; judge, unless the preset answers from what was found, or from the turns under it (ES-Mem)."""
        if state["request"].mode == "search":
            return "conclude"
        if self.settings.sufficiency == "judged":
            return "judge_sufficiency"
        if self.settings.sufficiency == "never":
            return self.deeper(state)
        return "backtrack" if self.settings.whole_events else "write_answer"

    def after_judge(self, state: ReadState) -> Literal["reflect", "conclude"] | list[Send]:
        """Go deep when light memory does not suffice."""
        if state["sufficient"]:
            return "reflect" if self.settings.reflect else "conclude"
        return self.deeper(state)

    def deeper(self, state: ReadState) -> Literal["conclude"] | list[Send]:
        """Select from what was found, batches side by side; end when nothing was."""
        return [Send("deep_select", batch) for batch in batches(state, self.settings)] or "conclude"

    def after_answer(self, state: ReadState) -> Literal["reflect", "conclude"]:
        """Reflect where the preset does."""
        return "reflect" if self.settings.reflect and state["pool"] else "conclude"


def ways_after_light(settings: DeepSettings) -> list[str]:
    """Return the steps that may follow light retrieval under a preset, so that its drawing is true."""
    match settings.sufficiency:
        case "judged":
            return ["judge_sufficiency", "conclude"]
        case "never":
            return ["deep_select", "conclude"]
    return ["backtrack" if settings.whole_events else "write_answer", "conclude"]


def after_reflect(state: ReadState) -> Literal["parse_intent", "conclude"]:
    """Search further, or end."""
    return "conclude" if state["done"] else "parse_intent"
