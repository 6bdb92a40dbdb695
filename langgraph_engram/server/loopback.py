"""Say whether a request comes from this machine: who may come in where nobody has to show a token.

A page in a browser on this machine comes from it too. So the name that was called, and the page that calls, have to be
of this machine as well, or LangGraph Studio's.
"""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

STUDIO = frozenset({"smith.langchain.com", "eu.smith.langchain.com"})
"""Where LangGraph Studio's page comes from."""


def is_loopback(host: str) -> bool:
    """Say whether a name or an address is this machine's own: `localhost`, `127.0.0.0/8` or `::1`."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def comes_from_here(scope: Mapping[str, Any]) -> bool:
    """Say whether a request comes from this machine, was sent to it by name, and by no page of elsewhere.

    Args:
        scope: The ASGI scope of the request.
    """
    headers = headers_of(scope)
    client = scope.get("client")
    called = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    return client is not None and is_loopback(client[0]) and is_loopback(called) and _is_own_page(headers)


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Give the headers of a request by their names in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope.get("headers", [])}


def _is_own_page(headers: Mapping[str, str]) -> bool:
    if "origin" not in headers:
        return True
    page = urlsplit(headers["origin"])
    host = page.hostname or ""
    return is_loopback(host) or (page.scheme == "https" and host in STUDIO)
