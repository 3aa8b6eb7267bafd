"""`Encoder`: a pretrained transformer that turns the tokens of a text into one vector.

`pretrained` loads one from the hub or a local folder. A model folder holds its configuration and its weights,
so that loading a model needs neither the hub nor that folder, and runs no code of theirs.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
import transformers
from torch import Tensor, nn
from torch.func import functional_call
from transformers.utils.import_utils import is_flash_attn_2_available

from ..errors import ModelError, machine_fault
from ..model_arrays import RETRAIN, Arrays, of_types
from .batches import Batch
from .encoder_config import EncoderConfig
from .int8 import with_int8_layers
from .rebuilding import Rebuilding
from .stored_shape import check_sizes, reduced

if TYPE_CHECKING:
    from typing_extensions import Self

TAKES_WHOLE_MASKS = ("bert", "roberta", "xlm-roberta", "camembert", "distilbert", "electra")
"""Families of transformers that use a given mask of texts × 1 × tokens × tokens unchanged."""
WIDE_SUMS = ("cuda",)
"""Devices that accumulate bf16 gradients in 32 bits."""
Transformer = Any
"""A `transformers.PreTrainedModel`."""


ON_PROCESSOR = 16
"""Largest batch on a CPU: its states stay in the caches."""


class Encoder(nn.Module):
    """Texts × width from a batch of tokens."""

    most_on_processor = ON_PROCESSOR

    def __init__(self, transformer: Transformer, config: EncoderConfig, padding: int) -> None:
        super().__init__()
        self.transformer = transformer
        self.config = config
        self.padding = padding
        self.dropout = nn.Dropout(config.dropout)
        self.layers = min(config.layers, self.depth)
        """Number of last layers whose vectors it returns."""
        self.width = self.width_of_last(self.layers)
        self.whole_masks = False
        """Whether the transformer gets a complete mask: it then ignores lengths, and all steps are alike."""
        self.int8: bool = False
        """Whether to predict with 8-bit weights on a CPU; `make_ready` sets it before every pass."""
        self._narrowed: dict[tuple[str, torch.device], Transformer] = {}
        """Cached copies for predictions, in a dict so that they are not part of the network."""
        self.register_load_state_dict_post_hook(_forget_narrowed)  # type: ignore[no-untyped-call]
        if config.recompute:
            # transformers 5 renamed it and warns about the old name.
            old = transformer.gradient_checkpointing_enable
            getattr(transformer, "activation_checkpointing_enable", old)({"use_reentrant": False})
        if config.pooling != "pooler" and hasattr(transformer, "pooler"):
            transformer.pooler = None  # nothing depends on its weights

    def forward(self, batch: Batch) -> Tensor:
        """The vectors, with dropout while training."""
        if self.config.pooling == "pooler":
            inside = self._inside(batch)
            vectors: Tensor = self._states(batch, inside, several=False).pooler_output.float()
        else:
            count = self.depth
            layers = range(count - self.layers + 1, count + 1)
            vectors = torch.cat(self.after_layers(batch, layers), 1)
        dropped: Tensor = self.dropout(vectors)
        return dropped

    @property
    def depth(self) -> int:
        """Number of layers."""
        return int(self.transformer.config.num_hidden_layers)

    @property
    def vocabulary(self) -> int:
        """Number of word pieces that it knows."""
        return int(self.transformer.get_input_embeddings().weight.shape[0])

    def width_of_last(self, layers: int) -> int:
        """Width of the part of a text's vector that is from the last ``layers``: its end."""
        return int(self.transformer.config.hidden_size) * min(layers, self.layers)

    def after_layers(self, batch: Batch, layers: Iterable[int]) -> list[Tensor]:
        """The vectors of the texts after each of these layers, counted from 1, without dropout.

        With ``pooling=pooler`` they are the states of the first token.
        """
        numbers, inside = list(layers), self._inside(batch)
        several = numbers != [self.depth]
        states = self._states(batch, inside, several=several)
        outputs = [states.hidden_states[at] for at in numbers] if several else [states.last_hidden_state]
        return [self._pool(layer, inside, batch.lengths) for layer in outputs]

    def attentions(self, batch: Batch) -> tuple[Tensor, ...] | None:
        """Attention of every layer, texts × heads × tokens × tokens, if the transformer returns it."""
        states = self._states(batch, self._inside(batch), several=False)
        attentions: tuple[Tensor, ...] | None = states.attentions
        return attentions

    @staticmethod
    def _inside(batch: Batch) -> Tensor:
        """Texts × tokens: which are not padding."""
        return torch.arange(batch.tokens.shape[1], device=batch.tokens.device) < batch.lengths[:, None]

    @property
    def takes_whole_masks(self) -> bool:
        config = self.transformer.config
        attention = getattr(config, "_attn_implementation", None)
        return (
            config.model_type in TAKES_WHOLE_MASKS
            and attention == "sdpa"
            and transformers_version() >= (5, 0)
        )

    def _states(self, batch: Batch, inside: Tensor, *, several: bool) -> Any:
        """The output of the transformer; ``several``: with the states of all layers.

        With bf16 all of it computes in bf16, normalisation and residual sums too, with bf16 copies of its
        weights: autocast would widen the states for these and narrow them again for every product. The
        optimizer still updates the 32-bit weights.
        """
        device = batch.tokens.device
        mask = (
            inside[:, None, None, :].expand(-1, 1, inside.shape[1], -1) if self.whole_masks else inside.long()
        )
        inputs = {
            "input_ids": torch.where(inside, batch.tokens, self.padding).long(),
            "attention_mask": mask,
            "output_hidden_states": several,
            "return_dict": True,
        }
        dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
        if not self.training and not torch.is_grad_enabled():
            transformer = self._for_predictions(device, dtype)
            if transformer is self.transformer:
                return transformer(**inputs)
            with torch.autocast(device.type, enabled=False):
                return transformer(**inputs)
        # A CPU would accumulate gradients in bf16, and recompute would run layers again without the copies.
        if dtype != torch.bfloat16 or device.type not in WIDE_SUMS or self.config.recompute:
            return self.transformer(**inputs)
        weights = {name: weight.to(dtype) for name, weight in self.transformer.named_parameters()}
        with torch.autocast(device.type, enabled=False):
            return functional_call(self.transformer, weights, (), inputs)

    def _for_predictions(self, device: torch.device, dtype: torch.dtype | None) -> Transformer:
        int8 = self.int8 and device.type == "cpu"
        if not int8 and dtype != torch.bfloat16:
            return self.transformer
        key = ("int8" if int8 else "bf16"), device
        narrowed = self._narrowed.get(key)
        if narrowed is None:
            narrowed = (with_int8_layers if int8 else _in_bf16)(self.transformer)
            self._narrowed = {key: narrowed}
        return narrowed

    def train(self, mode: bool = True) -> Self:
        """Drops the copies: training changes the weights, perhaps in replayed steps that run no Python."""
        if mode:
            self._narrowed = {}
        return super().train(mode)

    def _pool(self, states: Tensor, inside: Tensor, lengths: Tensor) -> Tensor:
        if self.config.pooling == "mean":
            sums = torch.where(inside[..., None], states, 0).sum(1, dtype=torch.float32)
            return sums / lengths.clamp(min=1)[:, None]
        if self.config.pooling in ("cls", "pooler"):  # poolers read the first token
            return states[:, 0].float()
        last = (lengths - 1).clamp(min=0)
        return states[torch.arange(len(states), device=states.device), last].float()

    def description(self) -> dict[str, npt.NDArray]:
        """The configuration of the transformer, without its weights."""
        shape = reduced(self.transformer.config.to_dict())
        described = json.dumps({"config": shape, "padding": self.padding})
        return {"config": np.frombuffer(described.encode(), np.uint8)}


def _in_bf16(transformer: Transformer) -> Transformer:
    """A copy with bf16 weights that shares the buffers: frequencies of rotary positions need 32 bits."""
    narrow = {
        id(weight): nn.Parameter(weight.detach().to(torch.bfloat16), requires_grad=False)
        for weight in transformer.parameters()
    }
    return copy.deepcopy(transformer, narrow | {id(buffer): buffer for buffer in transformer.buffers()})


def _forget_narrowed(encoder: Encoder, _: Any) -> None:
    """Drops the copies after loading weights."""
    encoder._narrowed = {}


def rebuilt(config: EncoderConfig, arrays: Arrays, stored: Arrays | None = None) -> Encoder:
    """An encoder with the configuration of `Encoder.description`, whose weights must be loaded next.

    ``stored``: the arrays with its weights, and perhaps others, which limit its size.
    """
    content = of_types(arrays, {"config": np.uint8})["config"].tobytes()
    try:
        described: dict[str, Any] = json.loads(content)
        fields = reduced(described["config"])
        check_sizes(fields)
        shape = transformers.AutoConfig.for_model(**fields)
        with Rebuilding(stored):
            transformer: Any = transformers.AutoModel.from_config(shape, **_local_attention(config))  # type: ignore[no-untyped-call]
        return Encoder(transformer.float(), config, int(described["padding"]))
    except ModelError:
        raise
    except Exception as error:  # whatever the code of a family raises for a shape that it cannot have
        if isinstance(error, MemoryError) or machine_fault(error) is not None:
            raise
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise ModelError(f"the encoder of the model is damaged ({reason}): {RETRAIN}") from None


def _local_attention(config: EncoderConfig) -> dict[str, str]:
    """`attention_of`, or the default where transformers would download a kernel for it."""
    downloads = config.attention == "flash_attention_2" and not is_flash_attn_2_available()
    return {} if downloads else attention_of(config)


def attention_of(config: EncoderConfig) -> dict[str, str]:
    return {} if config.attention == "auto" else {"attn_implementation": config.attention}


def transformers_version() -> tuple[int, ...]:
    return tuple(map(int, transformers.__version__.split(".")[:2]))
