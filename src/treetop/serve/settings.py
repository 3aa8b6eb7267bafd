"""Settings of the server, from which the options of ``treetop serve`` and their help follow."""

from __future__ import annotations

import dataclasses
import ipaddress
from dataclasses import dataclass
from typing import Any

from ..config import Config, setting

LOCALHOST = "localhost"


def is_loopback(host: str) -> bool:
    """Whether this is localhost or an address that only this machine can reach."""
    if host.lower() == LOCALHOST:
        return True
    try:
        address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback


@dataclass(frozen=True)
class ServeConfig(Config):
    """Address, access and limits of the server."""

    host: str = setting("127.0.0.1", "address to listen on; use 0.0.0.0 to accept other machines")
    port: int = setting(8000, "port to listen on; 0 picks a free one", at_least=0, at_most=65535)
    workers: int = setting(
        1, "processes that share the port and the memory-mapped models", at_least=1, at_most=256
    )
    threads: int = setting(1, "threads per prediction; 0 uses all cores", at_least=0, at_most=4096)
    device: str | None = setting(
        None, "device of a network: cuda, cuda:1, mps or cpu; by default the first available"
    )
    int8: bool = setting(False, "8-bit weights for transformers on the CPU, which is faster")
    feedback: str = setting(
        "none", "SQLite file that stores feedback, such as feedback.sqlite; none: feedback is rejected"
    )
    api_keys: str = setting("none", "file of API keys, one per line; every request must carry one of them")
    allow_host: tuple[str, ...] = setting(
        (),
        "host name to accept in addition to localhost (repeatable); by default a server on loopback accepts"
        " only localhost, other servers accept any name",
    )
    cors_origin: tuple[str, ...] = setting(
        (), "web origin whose pages may use the server (repeatable); * allows all"
    )
    watch: float = setting(
        2.0, "seconds between checks for changed model folders; 0 reloads on SIGHUP only", at_least=0
    )
    timeout: float = setting(
        10.0, "time limit in seconds for a request to arrive, and again for its response", above=0
    )
    drain: float = setting(30.0, "seconds to let running requests finish at shutdown", at_least=0)
    batch: int = setting(64, "maximum texts per prediction batch", at_least=1)
    batch_wait: float = setting(
        0.0, "milliseconds to wait for more texts before a batch starts", at_least=0, at_most=1000
    )
    max_waiting: int = setting(
        256, "maximum texts waiting for a prediction; further requests get status 429", at_least=1
    )
    max_connections: int = setting(
        1000, "maximum connections per worker; further ones get status 503", at_least=1
    )
    max_body: int = setting(4_000_000, "maximum bytes of a request body", at_least=1)
    max_text: int = setting(100_000, "maximum characters of a text", at_least=1)
    max_texts: int = setting(256, "maximum texts per request", at_least=1)
    max_k: int = setting(1000, "maximum labels per text", at_least=1)
    max_labels: int = setting(50_000, "maximum labels per request, over all its texts", at_least=1)
    max_explained: int = setting(
        50, "maximum explained labels per request, the top labels of each text first", at_least=1
    )
    log_requests: bool = setting(False, "log every request")

    @property
    def load_settings(self) -> dict[str, Any]:
        """Settings with which a trained model is loaded."""
        given: dict[str, Any] = {"threads": self.threads}
        if self.device is not None:
            given["device"] = self.device
        return given | ({"int8": True} if self.int8 else {})

    @property
    def feedback_file(self) -> str | None:
        return None if self.feedback.lower() in ("", "none") else self.feedback

    @property
    def api_keys_file(self) -> str | None:
        return None if self.api_keys.lower() in ("", "none") else self.api_keys

    @property
    def host_names(self) -> frozenset[str] | None:
        """Host names that requests may use besides loopback addresses; None: any.

        Prevents DNS rebinding: a page of another site can make its own host name resolve to 127.0.0.1 and so
        reach, through the browser, a server that listens there for its owner only. Such requests carry the
        other site's name.
        """
        if not is_loopback(self.host) and not self.allow_host:
            return None
        return frozenset(name.lower() for name in (LOCALHOST, "127.0.0.1", "[::1]", *self.allow_host))

    def bound_to(self, address: str) -> ServeConfig:
        """The same with the address that ``host`` stands for: 127.1 and a machine's name may be loopback."""
        names = self.allow_host
        if is_loopback(address):
            names += (f"[{self.host}]" if ":" in self.host else self.host,)
        return dataclasses.replace(self, host=address, allow_host=names)
