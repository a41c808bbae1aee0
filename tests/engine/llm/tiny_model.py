"""A language model of two megabytes that is built on the spot and says what the test wants.

It is a Markov chain in the shape of a llama: one layer whose attention and feed-forward weights
are zero, so that the next token depends on the last one alone. The file is GGUF, version 3.
"""

from __future__ import annotations

import array
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["build"]

END = 2  # the token that ends an answer
_BYTES = 3  # the tokens of the 256 bytes stand after the three special ones
_HEAD = 32  # dimensions of one attention head; the width is a multiple of it
_ALIGNMENT = 32

# Types of tokens and of GGUF values, as the format numbers them.
_UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = 2, 3, 4, 5, 6
_U32, _I32, _F32, _BOOL, _STRING, _ARRAY = 4, 5, 6, 7, 8, 9
_PACKED = {_U32: "<I", _I32: "<i", _F32: "<f", _BOOL: "<?"}

# Ends with the last message's own words: their last character chooses the answer.
TEMPLATE = """\
{%- if tools %}<|im_start|>system
You may call tools: {% for tool in tools %}{{ tool | tojson }}{% endfor %}<|im_end|>
{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}
{%- if m.content %}{{ m.content }}{% endif %}
{%- if m.tool_calls %}{% for c in m.tool_calls %}<tool_call>
{"name": "{{ c.function.name }}", "arguments": {{ c.function.arguments | tojson }}}
</tool_call>{% endfor %}{% endif %}
{%- if not loop.last %}<|im_end|>
{% endif %}{% endfor %}{% if add_generation_prompt %}{% endif %}"""


def build(path: Path, answers: Mapping[str, Sequence[str | bytes]], *, context: int) -> None:
    """Write a model that continues a prompt which ends with a key of `answers` by its pieces.

    A key is one ASCII character. A piece is one token; bytes are one token each. A piece may stand
    only once in all answers: after the same token comes always the same. An answer that repeats its
    first piece at the end goes on for ever.
    """
    names, kinds, follows = _vocabulary(answers)
    width = len(names)
    tensors = _tensors(width, follows)
    facts = _facts(names, kinds, context)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(facts))
    head += b"".join(_string(key) + _value(kind, value) for key, kind, value in facts)
    data = b""
    for name, shape, values in tensors:
        head += _string(name) + struct.pack("<I", len(shape)) + struct.pack(f"<{len(shape)}Q", *shape)
        head += struct.pack("<IQ", 0, len(data))  # 0: 32-bit floats
        data += _aligned(values.tobytes())
    path.write_bytes(_aligned(head) + data)


def _vocabulary(answers: Mapping[str, Sequence[str | bytes]]) -> tuple[list[str], list[int], dict[int, int]]:
    """The names and types of all tokens, and which one follows which."""
    names = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    kinds = [_UNKNOWN, _CONTROL, _CONTROL, *[_BYTE] * 256]
    numbers: dict[str, int] = {}

    def tokens(piece: str | bytes) -> Iterable[int]:
        if isinstance(piece, bytes):
            return [_BYTES + byte for byte in piece]
        if piece not in numbers:
            numbers[piece] = len(names)
            names.append(piece)
            kinds.append(_USER)
        return [numbers[piece]]

    follows: dict[int, int] = {}
    for mark, pieces in answers.items():
        last = _BYTES + ord(mark)
        for token in [token for piece in pieces for token in tokens(piece)]:
            assert follows.setdefault(last, token) == token, f"after {names[last]} comes another already"
            last = token
        follows.setdefault(last, END)
    while len(names) % _HEAD:
        names.append(f"<unused{len(names)}>")
        kinds.append(_UNUSED)
    return names, kinds, follows


def _tensors(width: int, follows: Mapping[int, int]) -> list[tuple[str, tuple[int, ...], array.array[float]]]:
    embedding, output = _zeros(width * width), _zeros(width * width)
    for token in range(width):
        embedding[token * width + token] = 1.0
        output[follows.get(token, END) * width + token] = 1.0
    ones = array.array("f", [1.0]) * width
    square, narrow = (width, width), (width, _HEAD)
    return [
        ("token_embd.weight", square, embedding),
        ("output_norm.weight", (width,), ones),
        ("output.weight", square, output),
        ("blk.0.attn_norm.weight", (width,), ones),
        *((f"blk.0.attn_{part}.weight", square, _zeros(width * width)) for part in ("q", "k", "v", "output")),
        ("blk.0.ffn_norm.weight", (width,), ones),
        *((f"blk.0.ffn_{part}.weight", narrow, _zeros(width * _HEAD)) for part in ("gate", "up")),
        ("blk.0.ffn_down.weight", (_HEAD, width), _zeros(width * _HEAD)),
    ]


def _facts(names: list[str], kinds: list[int], context: int) -> list[tuple[str, int | tuple[int], Any]]:
    width, heads = len(names), len(names) // _HEAD
    return [
        ("general.architecture", _STRING, "llama"),
        ("general.name", _STRING, "tiny"),
        ("llama.context_length", _U32, context),
        ("llama.embedding_length", _U32, width),
        ("llama.block_count", _U32, 1),
        ("llama.feed_forward_length", _U32, _HEAD),
        ("llama.attention.head_count", _U32, heads),
        ("llama.attention.head_count_kv", _U32, heads),
        ("llama.attention.layer_norm_rms_epsilon", _F32, 1e-5),
        ("llama.rope.dimension_count", _U32, _HEAD),
        ("llama.vocab_size", _U32, width),
        ("tokenizer.ggml.model", _STRING, "llama"),
        ("tokenizer.ggml.tokens", (_STRING,), names),
        ("tokenizer.ggml.scores", (_F32,), [0.0] * width),
        ("tokenizer.ggml.token_type", (_I32,), kinds),
        ("tokenizer.ggml.unknown_token_id", _U32, 0),
        ("tokenizer.ggml.bos_token_id", _U32, 1),
        ("tokenizer.ggml.eos_token_id", _U32, END),
        ("tokenizer.ggml.add_bos_token", _BOOL, True),
        ("tokenizer.ggml.add_space_prefix", _BOOL, False),
        ("tokenizer.chat_template", _STRING, TEMPLATE),
    ]


def _value(kind: int | tuple[int], value: Any) -> bytes:
    if isinstance(kind, tuple):
        head = struct.pack("<IIQ", _ARRAY, kind[0], len(value))
        return head + b"".join(_plain(kind[0], item) for item in value)
    return struct.pack("<I", kind) + _plain(kind, value)


def _plain(kind: int, value: Any) -> bytes:
    return _string(value) if kind == _STRING else struct.pack(_PACKED[kind], value)


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _zeros(count: int) -> array.array[float]:
    return array.array("f", bytes(4 * count))


def _aligned(data: bytes) -> bytes:
    return data + bytes(-len(data) % _ALIGNMENT)
