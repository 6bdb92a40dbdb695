"""Wire the read graph: parse_intent, light_retrieve, judge_sufficiency, deep_select, backtrack, write_answer, reflect.

A search ends after `light_retrieve`. A recall goes deep where light memory does not suffice, and `reflect` may send it
back to `parse_intent` for another round.
"""

from dataclasses import dataclass
from typing import Literal

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Send

from langgraph_engram.graphs.checkpoints import with_known_types
from langgraph_engram.graphs.instrumentation import EntryNode, InstrumentedGraph
from langgraph_engram.llm.base import Model
from langgraph_engram.nodes.backtrack import Backtrack
from langgraph_engram.nodes.conclude import Conclude
from langgraph_engram.nodes.deep_select import DeepSelect, batches
from langgraph_engram.nodes.judge_sufficiency import JudgeSufficiency
from langgraph_engram.nodes.light_retrieve import LightRetrieve
from langgraph_engram.nodes.parse_intent import ParseIntentStep
from langgraph_engram.nodes.reflect import ReflectStep
from langgraph_engram.nodes.select_lines import SelectLinesStep
from langgraph_engram.nodes.write_answer import WriteAnswerStep
from langgraph_engram.papers import read_parts
from langgraph_engram.retrieval.light import LINES_BATCH, MOST_LINES, SELECT_BATCH
from langgraph_engram.settings import DeepSettings, Settings
from langgraph_engram.state import ReadInput, ReadOutput, ReadState, SelectInput, needs_whole
from langgraph_engram.stores.base import Store

ReadGraph = CompiledStateGraph[ReadState, None, ReadInput, ReadOutput]


def build_read_graph(
    store: Store,
    model: Model,
    rule_model: Model,
    settings: Settings,
    checkpointer: BaseCheckpointSaver[str] | None = None,
    selector: Model | None = None,
    entry: EntryNode | None = None,
) -> ReadGraph:
    """Build the graph that recalls.

    Args:
        rule_model: What answers where no call may be made: in `search`, and for intents that rules parse.
        checkpointer: None for `search`, and for a graph that another one embeds.
        selector: What selects the lines that bear on a message, in a search that asks for it; the model by default.
        entry: The node before the first step, where the graph is served.
    """
    parts = read_parts(store.encoder, settings)
    selects = settings.retrieve.messages and not (selector or model).by_rules
    routing = Routing(settings.deep, parts.select_batch, selects, parts.reads_whole)
    graph = InstrumentedGraph("recall", ReadState, ReadInput, ReadOutput, entry)
    parse = ParseIntentStep(store, model, rule_model, settings.retrieve, parts.reads_whole, parts.intent_rules)
    graph.add_node("parse_intent", parse)
    graph.add_node("light_retrieve", LightRetrieve(store, parts.retriever))
    if routing.selects:
        graph.add_node("select_lines", SelectLinesStep(store, selector or model, settings.deep))
        graph.add_edge("select_lines", "conclude")
    if settings.deep.sufficiency == "judged":
        graph.add_node("judge_sufficiency", JudgeSufficiency(model, settings.deep, parts.form))
    if settings.deep.sufficiency != "always":
        graph.add_node("deep_select", DeepSelect(model), input_schema=SelectInput)
        graph.add_node("backtrack", Backtrack(store, settings.deep, parts.turns_around, parts.form.shows_earlier))
    graph.add_node("write_answer", WriteAnswerStep(model, settings.deep, parts.form))
    if settings.deep.reflect:
        graph.add_node("reflect", ReflectStep(model, settings.deep, parts.form, routing.reads_on))
    graph.add_node("conclude", Conclude(store, settings.retrieve))
    graph.begin_at("parse_intent")
    graph.add_edge("parse_intent", "light_retrieve")
    graph.add_conditional_edges("light_retrieve", routing.after_light, routing.light_targets)
    if settings.deep.sufficiency == "judged":
        graph.add_conditional_edges("judge_sufficiency", routing.after_judge, ["deep_select", *routing.answer_targets])
    if settings.deep.sufficiency != "always":
        graph.add_edge("deep_select", "backtrack")
        ends = ["write_answer", "conclude"] if routing.reads_on else ["write_answer"]
        graph.add_conditional_edges("backtrack", routing.after_backtrack, ends)
    graph.add_conditional_edges("write_answer", routing.after_answer, routing.answer_targets)
    if settings.deep.reflect:
        further = ["parse_intent"] if settings.deep.max_rounds > 1 else []
        graph.add_conditional_edges("reflect", after_reflect, [*further, "conclude"])
    graph.add_edge("conclude", END)
    return graph.compile(checkpointer=with_known_types(checkpointer), name="recall")


@dataclass(frozen=True)
class Routing:
    """The routers that depend on the preset, and where they may lead, so that its drawing is true."""

    settings: DeepSettings
    select_batch: int = SELECT_BATCH
    selects: bool = False
    """Whether a language model may select what bears on a message."""
    reads_whole: bool = False
    """Whether what needs the whole is answered from lines."""

    @property
    def reads_on(self) -> bool:
        """Return whether further lines are read where these do not hold all of it."""
        return self.reads_whole and self.settings.sufficiency != "always"

    @property
    def light_targets(self) -> list[str]:
        """Return the nodes that may follow light retrieval."""
        first = {"judged": "judge_sufficiency", "never": "deep_select", "always": "write_answer"}
        whole = ["write_answer"] * self.reads_whole + ["deep_select"] * self.reads_on
        return [first[self.settings.sufficiency], "conclude", *whole, *["select_lines"] * self.selects]

    @property
    def answer_targets(self) -> list[str]:
        """Return the nodes that may follow an answer."""
        return ["reflect", "conclude"] if self.settings.reflect else ["conclude"]

    def after_light(
        self, state: ReadState
    ) -> Literal["judge_sufficiency", "write_answer", "conclude", "select_lines"] | list[Send]:
        """End a search, or let a model select for its message; judge a light answer, unless the preset takes it."""
        if state["request"].mode == "search":
            asks = self.selects and state["request"].select and state["intent"].sort == "message"
            return "select_lines" if asks else "conclude"
        if needs_whole(state):
            return self._select_deep(state) if self.reads_on and state["read_ids"] else "write_answer"
        if self.settings.sufficiency == "judged":
            return "judge_sufficiency"
        return self._select_deep(state) if self.settings.sufficiency == "never" else "write_answer"

    def after_judge(self, state: ReadState) -> Literal["reflect", "conclude"] | list[Send]:
        """Go deep when light memory does not suffice."""
        if state["sufficient"]:
            return "reflect" if self.settings.reflect else "conclude"
        return self._select_deep(state)

    def after_backtrack(self, state: ReadState) -> Literal["write_answer", "conclude"]:
        """Answer again, unless reading on for the whole brought nothing new."""
        return "conclude" if needs_whole(state) and not state["selected_ids"] else "write_answer"

    def after_answer(self, state: ReadState) -> Literal["reflect", "conclude"]:
        """Reflect where the preset does, and there is a pool."""
        return "reflect" if self.settings.reflect and state["pool"] else "conclude"

    def _select_deep(self, state: ReadState) -> Literal["conclude"] | list[Send]:
        """Select from the evidence in parallel batches; end without any."""
        sizes = (MOST_LINES, LINES_BATCH) if needs_whole(state) else (self.settings.select_n, self.select_batch)
        sent = batches(state, *sizes)
        return [Send("deep_select", batch) for batch in sent] or "conclude"


def after_reflect(state: ReadState) -> Literal["parse_intent", "conclude"]:
    """Search further, or end."""
    return "conclude" if state["done"] else "parse_intent"
