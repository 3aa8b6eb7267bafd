"""A small BERT with random weights in a folder, as `transformers` saves one."""

from __future__ import annotations

import atexit
import functools
import shutil
import tempfile

import tokenizers
import torch
import transformers

WIDTH = 32
LONGEST = 64
WORDS = """the and flour oven dough bread crust yeast boat wind harbour sail anchor waves bishop gambit
checkmate opening rook pawn soil seeds roses compost spade rain railway locomotive station ticket track engine
snow slope mountain lift poles goggles"""


@functools.cache
def tiny_bert(layers: int = 2, longest: int = LONGEST) -> str:
    """Its folder; gone when Python ends. Words are cut into letters, and a few are known whole."""
    folder = tempfile.mkdtemp(prefix="tiny-bert-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    save_tokenizer(folder, longest)
    config = transformers.BertConfig(
        vocab_size=200,
        hidden_size=WIDTH,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=2 * WIDTH,
        max_position_embeddings=longest,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    torch.manual_seed(0)
    transformers.BertModel(config).save_pretrained(folder)
    return folder


def save_tokenizer(folder: str, longest: int) -> None:
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    letters = [chr(number) for number in range(ord("a"), ord("z") + 1)]
    words = WORDS.split()
    pieces = [*marks, *letters, *(f"##{letter}" for letter in letters), *words]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
        model_max_length=longest,
    ).save_pretrained(folder)
