"""engram in MemoryAgentBench: save as `methods/engram.py`, and add it to `agent.py` as `agentmemory` is there.

    elif self._is_agent_type("engram"):
        from methods.engram import initialize_engram_agent
        initialize_engram_agent(self, agent_config)

and `handle_engram_agent(self, message, memorizing, query_id, context_id)` in `_handle_memory_agent`, to which
`send_message` has a list of names of its own. `retrieve_num` counts chunks in an agent's configuration; `tokens`, by
default 2,000, what is shown of ours. Leave `agent_chunk_size` out: the data set's own is taken.
"""

import re
import time

from langgraph_engram import Memory

TOKENS, USER = 2000, "context"
AROUND = re.compile(r"^Based on the provided Knowledge Pool,|Answer:\s*$")
"""What templates put around a question."""
SYSTEM = "You are a helpful AI. Answer the question from these memories; later ones hold over earlier ones.\n"


def initialize_engram_agent(agent, agent_config):
    """Open a memory in this process."""
    agent.memory = Memory("memory:", "rules")
    agent.memory_tokens = agent_config.get("tokens", TOKENS)
    agent.client = agent._create_oai_client()
    agent.agent_start_time = time.time()


def handle_engram_agent(agent, message, memorizing, query_id, context_id):
    """Memorize a chunk as a session, or answer from what is found; there is an agent for each context."""
    if memorizing:
        agent.memory.remember([{"role": "user", "content": message}], user_id=USER, close_session=True)
        return "Memorized"
    built = time.time() - agent.agent_start_time
    query = AROUND.sub("", agent._extract_retrieval_query(message)).strip()
    found = agent.memory.recall(query, user_id=USER, budget=agent.memory_tokens)
    memories = "\n".join(f"- {evidence.text}" for evidence in found.evidence)
    answered = agent.client.chat.completions.create(
        model=agent.model,
        messages=[{"role": "system", "content": SYSTEM + memories}, {"role": "user", "content": message}],
        temperature=agent.temperature,
        max_tokens=agent.max_tokens,
    )
    response = agent._create_standard_response(
        answered.choices[0].message.content,
        answered.usage.prompt_tokens,
        answered.usage.completion_tokens,
        built,
        time.time() - agent.agent_start_time - built,
    )
    agent.agent_start_time = time.time()
    return response
