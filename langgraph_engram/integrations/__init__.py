"""Integrations: LangChain middleware, tools and retriever, the LangGraph store, the chat agent, and MCP."""
