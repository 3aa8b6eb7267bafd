"""What the server can be told. The command's options and their help follow from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..config import Config, setting

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServeConfig(Config):
    """Where to listen, who may ask, and how much at a time."""

    host: str = setting("127.0.0.1", "address to listen on; other machines reach 0.0.0.0 only")
    port: int = setting(8000, "port to listen on; 0: any free one", at_least=0, at_most=65535)
    workers: int = setting(
        1, "processes that share the port and the memory-mapped models", at_least=1, at_most=256
    )
    threads: int = setting(1, "threads of one prediction; 0: all cores", at_least=0, at_most=4096)
    device: str | None = setting(
        None, "where a network runs: cuda, cuda:1, mps or cpu; none: the first there is"
    )
    int8: bool = setting(False, "8-bit weights of a transformer on the processor: faster")
    feedback: str = setting("feedback.sqlite", "file that keeps feedback; none: feedback is refused")
    api_keys: str = setting("none", "file of keys, one a line, of which a request must carry one")
    allow_host: tuple[str, ...] = setting(
        (), "names that requests may call this server by; on loopback only its own unless given"
    )
    cors_origin: tuple[str, ...] = setting((), "web origins whose pages may ask; * for all")
    watch: float = setting(
        2.0, "seconds between looks for a changed model folder; 0: on SIGHUP only", at_least=0
    )
    timeout: float = setting(10.0, "seconds for a request to arrive, and again to be answered", above=0)
    drain: float = setting(30.0, "seconds that running requests get at shutdown", at_least=0)
    batch: int = setting(64, "texts that are predicted together at most", at_least=1)
    batch_wait: float = setting(0.0, "milliseconds to wait for more texts to join", at_least=0, at_most=1000)
    max_waiting: int = setting(
        256, "texts that wait for an answer before further requests are turned away", at_least=1
    )
    max_connections: int = setting(1000, "connections of a worker; more are turned away", at_least=1)
    max_body: int = setting(4_000_000, "bytes of a request", at_least=1)
    max_text: int = setting(100_000, "characters of a text", at_least=1)
    max_texts: int = setting(256, "texts of a request", at_least=1)
    max_k: int = setting(1000, "labels of a text that can be asked for", at_least=1)
    max_labels: int = setting(50_000, "labels that can be asked for, of all texts of a request", at_least=1)
    max_explained: int = setting(
        50, "labels of a request that are explained, the best of each text first", at_least=1
    )
    log_requests: bool = setting(False, "write a line for each request")

    @property
    def at_prediction(self) -> dict[str, Any]:
        """Settings that a trained model is loaded with."""
        chosen: dict[str, Any] = {"threads": self.threads}
        if self.device is not None:
            chosen["device"] = self.device
        return chosen | ({"int8": True} if self.int8 else {})

    @property
    def feedback_file(self) -> str | None:
        return None if self.feedback.lower() in ("", "none") else self.feedback

    @property
    def api_keys_file(self) -> str | None:
        return None if self.api_keys.lower() in ("", "none") else self.api_keys

    @property
    def host_names(self) -> frozenset[str] | None:
        """Names that a request may call the server by; None: any.

        A page of another site can make a browser look up its own name as 127.0.0.1 and so reach a server that
        listens there for its owner alone; what the browser then sends names the other site.
        """
        if self.host not in LOOPBACK and not self.allow_host:
            return None
        return frozenset(name.lower() for name in (*LOOPBACK, "[::1]", *self.allow_host))
