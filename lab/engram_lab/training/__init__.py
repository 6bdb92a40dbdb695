"""Scripts that make the weights shipped with `langgraph-engram`."""

from pathlib import Path

import langgraph_engram

SHIPPED = Path(langgraph_engram.__file__).parent
"""The package whose folders the weights are in."""
