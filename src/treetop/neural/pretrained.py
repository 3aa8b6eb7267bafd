"""`pretrained`: a transformer and its tokenizer, from the hub by name or from a local folder."""

from __future__ import annotations

import contextlib
import logging
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

import torch
import transformers
from huggingface_hub import constants

from ..errors import ConfigError, ModelError, TreetopError, raise_machine_fault
from ..limits import PER_ENTRY
from .encoder import Encoder, Transformer, attention_of, transformers_version
from .encoder_config import EncoderConfig
from .stored_shape import check_downloads_nothing, check_sizes, reduced
from .tokenizer import Tokenizer

PATIENCE = 5.0
"""Seconds to wait for a connection to the hub."""


def pretrained(config: EncoderConfig, longest: int) -> tuple[Encoder, Tokenizer]:
    """The encoder with its pretrained weights, and its tokenizer; it must read ``longest`` tokens."""
    name = config.encoder
    local = Path(name).expanduser()
    place = str(local) if local.is_dir() else name
    here = {"trust_remote_code": False}  # else transformers asks at the terminal
    if local.is_dir() or hub_is_out_of_reach():
        here["local_files_only"] = True
    try:
        return _loaded(config, longest, place, here)
    except TreetopError:
        raise
    except Exception as error:  # whatever transformers and tokenizers raise for files that they cannot read
        if isinstance(error, MemoryError):
            raise
        raise_machine_fault(error)
        raise _not_loaded(name, local, error) from None


def _loaded(
    config: EncoderConfig, longest: int, place: str, here: dict[str, Any]
) -> tuple[Encoder, Tokenizer]:
    name = config.encoder
    _check_regular(Path(place))
    with _quietly():
        described, _ = transformers.PretrainedConfig.get_config_dict(place, **here)
        check_downloads_nothing(described)
        _check_shape(name, described)
        tokenizer = transformers.AutoTokenizer.from_pretrained(place, use_fast=True, **here)
        transformer, found = transformers.AutoModel.from_pretrained(
            place, **here, **attention_of(config), **_as_float32(), output_loading_info=True
        )
    _check_kind(transformer, config)
    if not getattr(tokenizer, "is_fast", False):
        raise ConfigError(f"encoder: {name!r} has no fast tokenizer: choose another encoder")
    vocabulary = tokenizer.get_vocab()
    if not set(vocabulary) - set(tokenizer.all_special_tokens):
        raise ConfigError(
            f"encoder: {name!r} has no vocabulary: add its tokenizer.json, vocab.txt or similar"
        )
    if (highest := max(vocabulary.values())) > PER_ENTRY * len(vocabulary):
        # tokenizers would list the numbers in between, which takes gigabytes
        raise ConfigError(
            f"encoder: {name!r} numbers its {len(vocabulary):,} tokens up to {highest:,}: download its"
            " tokenizer again"
        )
    lacking = sorted(
        key for key in found["missing_keys"] if config.pooling == "pooler" or "pooler" not in key
    )
    if lacking:
        others = f" and {len(lacking) - 1:,} others" if len(lacking) > 1 else ""
        raise ConfigError(
            f"encoder: {name!r} lacks weights that its config.json names ({lacking[0]}{others}):"
            " choose another encoder, or download it again"
        )
    if config.pooling == "pooler" and getattr(transformer, "pooler", None) is None:
        raise ConfigError(f"encoder: {name!r} has no pooler: set pooling=mean or cls")
    most = longest_input(transformer, tokenizer.model_max_length)
    if longest > most:
        raise ConfigError(
            f"max_length={longest}: the encoder {name!r} reads at most {most} tokens: lower max_length"
        )
    marks = tokenizer.num_special_tokens_to_add(pair=False)
    if longest <= marks:
        raise ConfigError(
            f"max_length={longest}: the encoder {name!r} adds {marks} special tokens to each text:"
            " raise max_length"
        )
    padding = 0 if tokenizer.pad_token_id is None else int(tokenizer.pad_token_id)
    cutter = Tokenizer(tokenizer.backend_tokenizer.to_str(), padding)
    return Encoder(transformer, config, padding), cutter


def _check_shape(name: str, described: dict[str, Any]) -> None:
    try:
        check_sizes(reduced(described))
    except ModelError as error:
        raise ConfigError(f"encoder: {name!r}: {error}") from None


def _check_regular(folder: Path) -> None:
    """Raises OSError for a pipe or device in the folder, on which transformers would wait."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if not path.is_file() and not path.is_dir():
            raise OSError(f"{path.name} is not a regular file")


def _check_kind(transformer: Transformer, config: EncoderConfig) -> None:
    name, settings = config.encoder, transformer.config
    if getattr(settings, "is_encoder_decoder", False):
        raise ConfigError(
            f"encoder: {name!r} also has a decoder ({settings.model_type}): choose an encoder-only model"
        )
    if not hasattr(settings, "hidden_size") or not hasattr(settings, "num_hidden_layers"):
        raise ConfigError(
            f"encoder: {name!r} is not a text-only transformer ({settings.model_type}): choose another"
        )
    if config.pooling == "cls" and _first_token_is_blind(transformer):
        raise ConfigError(
            f"pooling=cls: the first token of {name!r} does not attend to later tokens: set pooling=mean or"
            " last"
        )


@torch.inference_mode()
def _first_token_is_blind(transformer: Transformer) -> bool:
    """Whether its state is the same whatever follows, as in generative models."""
    tokens = torch.tensor([[0, 1], [0, 2]])
    one, other = transformer(tokens, attention_mask=torch.ones_like(tokens)).last_hidden_state[:, 0]
    return torch.allclose(one, other, atol=1e-6)


def longest_input(transformer: Transformer, limit: int) -> int:
    """Maximum number of tokens; ``limit``: that of its tokenizer, a huge number where it names none.

    Positions of the RoBERTa family start after the padding token.
    """
    positions = getattr(transformer.config, "max_position_embeddings", None) or -1
    if positions < 0:  # without a limit, as XLNet
        return int(limit)
    embeddings = getattr(getattr(transformer, "embeddings", None), "position_embeddings", None)
    skipped = getattr(embeddings, "padding_idx", None)
    return min(int(limit), int(positions) - (0 if skipped is None else skipped + 1))


def hub_is_out_of_reach() -> bool:
    """Whether there is no connection, so that only earlier downloads can be used.

    transformers would retry for half a minute, file by file, before it uses them.
    """
    if {"http", "https", "all"} & getproxies().keys():
        return False  # a proxy may reach it
    place = urlsplit(constants.ENDPOINT)
    try:
        port = place.port or (80 if place.scheme == "http" else 443)
        socket.create_connection((place.hostname, port), timeout=PATIENCE).close()
    except OSError:
        return True
    return False


def _not_loaded(name: str, local: Path, error: Exception) -> ConfigError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
    if local.is_dir():
        return ConfigError(
            f"encoder: the folder {name} does not contain a transformer ({reason}): give the"
            " folder of a downloaded model"
        )
    return ConfigError(
        f"encoder: {name!r} is not a local folder and could not be downloaded from the hub ({reason}): check"
        " the name and the connection, or give the folder of a downloaded model"
    )


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Silences progress bars and messages of transformers and the hub, inside."""
    remarks: Any = transformers.utils.logging
    hub = logging.getLogger("huggingface_hub")
    levels, bars = (remarks.get_verbosity(), hub.level), remarks.is_progress_bar_enabled()
    remarks.set_verbosity_error()
    remarks.disable_progress_bar()
    hub.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        remarks.set_verbosity(levels[0])
        hub.setLevel(levels[1])
        if bars:
            remarks.enable_progress_bar()


def _as_float32() -> dict[str, Any]:
    """By default transformers keeps the number format of the checkpoint."""
    return {"dtype" if transformers_version() >= (4, 56) else "torch_dtype": torch.float32}
