"""Pretrained transformers: tokens, vectors, and the errors when one cannot be loaded."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import transformers
from scipy import sparse

from tiny_bert import LONGEST, WIDTH, tiny_bert
from treetop import Strings
from treetop.errors import ModelError
from treetop.features.joined import side_by_side
from treetop.neural.batches import Batch
from treetop.neural.encoder import Encoder, rebuilt
from treetop.neural.encoder_config import EncoderConfig
from treetop.neural.inference import InferenceSettings
from treetop.neural.pretrained import pretrained
from treetop.neural.text_encoder import TextEncoder

ON_CPU = InferenceSettings(3, torch.device("cpu"), torch.float32)
TEXTS = Strings.of(["the boat and the harbour", "", "snow " * 100, "Bishop, gambit — checkmate!"])


def encoder(**settings) -> TextEncoder:
    return TextEncoder.pretrained(EncoderConfig(encoder=tiny_bert(), **settings), LONGEST)


def vectors(text_encoder: TextEncoder, texts: Strings) -> np.ndarray:
    tokens = text_encoder.tokens(texts)
    return text_encoder.vectors(tokens, ON_CPU, threads=1)


def reference(text: str, layers: int = 1) -> list[torch.Tensor]:
    """States of the last layers for one text, from transformers alone."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert())
    model = transformers.AutoModel.from_pretrained(tiny_bert()).eval()
    inputs = tokenizer(text, truncation=True, max_length=LONGEST, return_tensors="pt")
    with torch.no_grad():
        return [states[0] for states in model(**inputs, output_hidden_states=True).hidden_states[-layers:]]


def test_tokens_are_those_of_transformers():
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert())
    expected = tokenizer(list(TEXTS), truncation=True, max_length=20)["input_ids"]
    indptr, numbers = pretrained(EncoderConfig(encoder=tiny_bert()), 20)[1].numbers(TEXTS, 20)
    assert [list(numbers[a:b]) for a, b in itertools.pairwise(indptr)] == expected
    assert numbers.dtype == np.int32 and indptr.dtype == np.int64


def test_spaces_and_long_words_take_no_room():
    """Of a long text only its beginning is cut, unless that gives too few pieces."""
    cutter = pretrained(EncoderConfig(encoder=tiny_bert()), 16)[1]

    def pieces(text: str) -> list[int]:
        return cutter.numbers(Strings.of(["rook", text, "pawn"]), 16)[1].tolist()

    plain = pieces("bread oven wind sail")
    assert pieces(" " * 500 + "bread oven" + "\n" * 500 + "wind sail") == plain
    assert pieces("bread oven " + "x" * 500 + " wind sail") == pieces("bread oven [UNK] wind sail")


@pytest.mark.parametrize("pooling", ["mean", "cls", "last"])
@pytest.mark.parametrize("layers", [1, 2])
def test_vectors_do_not_depend_on_the_texts_beside(pooling, layers):
    found = vectors(encoder(pooling=pooling, layers=layers), TEXTS)
    assert found.shape == (4, layers * WIDTH)
    for row, text in enumerate(TEXTS):
        states = reference(text, layers)
        pool = {"mean": lambda s: s.mean(0), "cls": lambda s: s[0], "last": lambda s: s[-1]}[pooling]
        expected = torch.cat([pool(each) for each in states]).numpy()
        assert np.allclose(found[row], expected, atol=1e-5)


def test_the_pretrained_pooler():
    found = vectors(encoder(pooling="pooler"), TEXTS)
    model = transformers.AutoModel.from_pretrained(tiny_bert()).eval()
    with torch.no_grad():
        assert np.allclose(found[0], model.pooler(reference(TEXTS[0])[0][None])[0].numpy(), atol=1e-5)


def test_saved_and_rebuilt():
    before = encoder(pooling="cls")
    after = TextEncoder.from_whole_state(before.encoder.config, LONGEST, before.whole_state())
    assert np.array_equal(vectors(before, TEXTS), vectors(after, TEXTS))
    state = before.whole_state()
    del state["weights.transformer.embeddings.word_embeddings.weight"]
    with pytest.raises(ModelError, match=r"word_embeddings\.weight is missing"):
        TextEncoder.from_whole_state(before.encoder.config, LONGEST, state)
    with pytest.raises(ModelError, match="the encoder of the model is damaged"):
        rebuilt(EncoderConfig(), {"config": np.frombuffer(b'{"config": {}}', np.uint8)})
    with pytest.raises(ModelError, match="the tokenizer"):
        TextEncoder.from_whole_state(
            before.encoder.config, LONGEST, before.whole_state() | {"tokens.tokenizer": np.zeros(3, np.uint8)}
        )


def test_gradients_computed_twice_are_the_same():
    from treetop.neural.batches import Examples
    from treetop.neural.encoder_network import EncoderNetwork

    found = []
    for recompute in (False, True):
        torch.manual_seed(0)
        text_encoder = encoder(recompute=recompute, dropout=0.0)
        Y = sparse.csr_matrix(np.eye(4, dtype=np.float32))
        examples = Examples(text_encoder.tokens(TEXTS), Y)
        network = EncoderNetwork(text_encoder.encoder, 4, "bce").train()
        network(next(examples.batches([np.arange(4)], torch.device("cpu")))).backward()
        found.append({name: p.grad for name, p in network.named_parameters()})
    assert found[0].keys() == found[1].keys()
    for name, gradient in found[0].items():
        assert torch.allclose(gradient, found[1][name], atol=1e-6), name


def test_terms_and_vectors_side_by_side():
    """Eq. 10: the rows by hand."""
    X = sparse.csr_matrix(np.array([[0.6, 0, 0.8], [0, 0, 0], [0, 1, 0]], np.float32))
    joined = side_by_side(X, np.array([[3, 4], [0, 0], [0, 2]], np.float32))
    expected = [[0.6, 0, 0.8, 0.6, 0.8], [0, 0, 0, 0, 0], [0, 1, 0, 0, 1]]
    assert np.allclose(joined.toarray(), expected)
    assert joined.has_sorted_indices and joined.indices.dtype == np.int32


def test_vectors_are_found_again(tmp_path, monkeypatch):
    def found(texts, **settings) -> np.ndarray:
        text_encoder = encoder(**settings)
        tokens = text_encoder.tokens(texts)
        return text_encoder.vectors(tokens, ON_CPU, threads=1, cache=str(tmp_path / "cache"))

    first = found(TEXTS)
    assert np.array_equal(first, vectors(encoder(), TEXTS))
    with monkeypatch.context() as patched:
        patched.setattr("treetop.neural.text_encoder.text_vectors", None)
        assert np.array_equal(found(TEXTS), first)
    found(TEXTS, pooling="cls")
    found(TEXTS[:2])
    files = sorted((tmp_path / "cache").iterdir())
    assert len(files) == 3 and all(file.suffix == ".npy" for file in files)
    for file in files:
        file.write_bytes(b"damaged")
    assert np.array_equal(found(TEXTS), first)


def random_encoder(family: str, **settings) -> Encoder:
    """With random weights, and no dropout."""
    shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    if family == "distilbert":
        shape = {"dim": 32, "n_layers": 2, "n_heads": 2, "hidden_dim": 64}
    if family == "xlnet":
        shape = {"d_model": 32, "n_layer": 2, "n_head": 2, "d_inner": 64}
    config = transformers.AutoConfig.for_model(family, vocab_size=50, pad_token_id=1, **shape)
    torch.manual_seed(0)
    made = Encoder(transformers.AutoModel.from_config(config), EncoderConfig(**settings), 1)
    for layer in made.modules():
        if isinstance(layer, torch.nn.Dropout):
            layer.p = 0.0
    return made


def some_batch() -> Batch:
    return Batch(torch.randint(3, 50, (3, 9)), torch.tensor([9, 4, 1]), torch.arange(3))


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_whole_masks_say_the_same(family):
    made, batch = random_encoder(family, attention="sdpa").eval(), some_batch()
    assert made.takes_whole_masks
    with torch.inference_mode():
        expected = made(batch)
        made.whole_masks = True
        assert torch.allclose(made(batch), expected, atol=1e-6)
    assert not random_encoder("modernbert").takes_whole_masks


@pytest.mark.parametrize(
    "family", ["bert", "roberta", "distilbert", "xlnet", "modernbert", "deberta-v2", "electra", "mpnet"]
)
def test_bf16_in_all_layers_is_close_to_32_bits(family, monkeypatch):
    """Vectors, and the gradients of the wide weights."""
    monkeypatch.setattr("treetop.neural.encoder.WIDE_SUMS", ("cpu",))  # good enough for a few tokens
    made, batch = random_encoder(family, dropout=0.0), some_batch()
    towards = torch.randn(3, made.width)
    found = []
    for narrow in (False, True):
        made.zero_grad()
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow):
            vectors = made(batch)
        (vectors * towards).sum().backward()
        gradients = [p.grad.reshape(-1) for p in made.parameters() if p.grad is not None]
        found.append((vectors.detach(), torch.cat(gradients)))
    (wide, wide_gradient), (narrow, narrow_gradient) = found
    assert narrow.dtype == narrow_gradient.dtype == torch.float32
    assert not torch.equal(wide, narrow) and torch.allclose(wide, narrow, atol=0.1)
    assert torch.cosine_similarity(wide_gradient, narrow_gradient, dim=0) > 0.99
    with torch.autocast("cpu", torch.bfloat16), torch.inference_mode():
        assert torch.allclose(made.eval()(batch), narrow, atol=0.01)


def test_predictions_in_bf16_follow_the_weights():
    made, batch = random_encoder("bert").eval(), some_batch()
    with torch.autocast("cpu", torch.bfloat16):
        with torch.inference_mode():
            before = made(batch)
            assert torch.equal(made(batch), before)
        made.load_state_dict({name: 2 * value for name, value in made.state_dict().items()})
        with torch.inference_mode():
            loaded = made(batch)
        made.train()
        with torch.no_grad():
            made.transformer.embeddings.word_embeddings.weight.mul_(3)
        with torch.inference_mode():
            trained = made.eval()(batch)
    assert not torch.allclose(before, loaded, atol=0.1) and not torch.allclose(loaded, trained, atol=0.1)


def test_positions_stay_exact_in_bf16():
    """Rotary frequencies are no weights: in bf16 the last of many tokens would turn by another angle."""
    made = random_encoder("modernbert").eval()
    wide = {name: buffer.dtype for name, buffer in made.named_buffers()}
    assert any("inv_freq" in name for name in wide)
    with torch.autocast("cpu", torch.bfloat16), torch.inference_mode():
        made(some_batch())
    (narrowed,) = made._narrowed.values()
    assert {f"transformer.{name}": buffer.dtype for name, buffer in narrowed.named_buffers()} == wide
    assert {weight.dtype for weight in narrowed.parameters()} == {torch.bfloat16}


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_more_layers_than_there_are_give_all(pooling):
    found = encoder(layers=5, pooling=pooling)
    assert found.encoder.layers == 2 and found.encoder.width == 2 * WIDTH
    assert np.array_equal(vectors(found, TEXTS), vectors(encoder(layers=2, pooling=pooling), TEXTS))
