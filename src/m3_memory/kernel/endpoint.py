"""Address: where an embedding endpoint is, and whether the settings allow to send it what people remember."""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import NamedTuple

from m3_memory.errors import InvalidSettings

_PORTS = {"http": 80, "https": 443}
_ROUTE = "/embeddings"
_FORM = re.compile(r"(https?)://(\[[0-9A-Fa-f:.]+\]|[\w.-]+)(?::([0-9]{1,5}))?((?:/[\w.~%+:-]*)*)", re.ASCII)


class Address(NamedTuple):
    """Where to send texts to. `path` is that of the request."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        """The address for people."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def read_address(url: str, remote_host: str, *, has_key: bool) -> Address:
    """The endpoint that the settings name. Raises InvalidSettings.

    `url` ends before or after `/embeddings`; one without a path means `/v1`. A host that is not this machine
    has to be named once more, as `remote_host`: it then gets to read every text that is stored or searched
    for. A key travels to another machine by https only.
    """
    parts = _FORM.fullmatch(url)
    if not parts or int(parts[3] or 1) not in range(1, 1 << 16):
        raise InvalidSettings(
            "embedder_url is not of a form that is understood",
            "write it as http://localhost:11434/v1, without user, password, query or fragment",
        )
    scheme, host = parts[1], parts[2].strip("[]").lower()
    loopback = _is_loopback(host)
    if not loopback and host != remote_host.lower():
        raise InvalidSettings(
            f"embedder_url names the host {host}, which is not this machine",
            f'to send it every text that is stored or searched for, set embedder_remote_host = "{host}"',
        )
    if has_key and scheme == "http" and not loopback:
        raise InvalidSettings(
            "embedder_url would send the key to another machine unencrypted",
            "use https, or take M3_EMBEDDER_API_KEY away",
        )
    path = (parts[4].rstrip("/") or "/v1").removesuffix(_ROUTE) + _ROUTE
    return Address(scheme, host, int(parts[3] or _PORTS[scheme]), path)


def _is_loopback(host: str) -> bool:
    """Whether a host is this machine by its writing alone: no name but `localhost` is trusted to be."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
