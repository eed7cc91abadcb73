"""What recurrent layers, attention and packed sequences refuse."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand, ones, whole

SEQUENCES: tuple[ByHand, ...] = (
    *(
        ByHand(
            f"torch.nn.{name}",
            {"input_size": ("4",), "hidden_size": ("6",), "proj_size": ("", "2", "6", "-1")},
            refuses,
        )
        for name, refuses in (
            ("GRU", (("isinstance(proj_size, int) and proj_size != 0", "''"),)),
            (
                "LSTM",
                (
                    ("proj_size < 0", "'proj_size should be a positive integer or zero to disable projections'"),
                    ("proj_size >= hidden_size", "'proj_size has to be smaller than hidden_size'"),
                ),
            ),
        )
    ),
    ByHand(
        "torch.nn.RNN",
        {"input_size": ("4",), "hidden_size": ("6",), "nonlinearity": ("'tanh'", "'relu'", "'gelu'")},
        (
            (
                "isinstance(nonlinearity, str) and nonlinearity not in ('tanh', 'relu')",
                "f\"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.\"",
            ),
        ),
        (
            *("input_size", "hidden_size", "num_layers=1", "nonlinearity='tanh'", "bias=True", "batch_first=False"),
            *("dropout=0.0", "bidirectional=False", "device=None", "dtype=None"),
        ),
    ),
    *(
        ByHand(
            f"torch.nn.{name}",
            {size: ("4", "10"), "nhead": ("2", "3")},
            ((f"{size} % nhead != 0", "'embed_dim must be divisible by num_heads'"),),
        )
        for name, size in (
            ("TransformerEncoderLayer", "d_model"),
            ("TransformerDecoderLayer", "d_model"),
            ("Transformer", "d_model"),
        )
    ),
    ByHand(
        "torch.nn.TransformerEncoder",
        {"encoder_layer": ("torch.nn.TransformerEncoderLayer(4, 2)",), "num_layers": ("1", "1.0")},
        (("isinstance(num_layers, float)", "''"),),
    ),
    *(
        ByHand(
            f"torch.nn.{name}.forward",
            {
                "self_input_size": ("3",),
                "self_hidden_size": ("4",),
                "self_num_layers": ("1", "2"),
                "self_batch_first": ("False", "True"),
                "self_bidirectional": ("False", "True"),
                "input": ones((5, 2, 3), (5, 3)),
                "hx": (
                    *ones((1, 2, 4), (2, 2, 4), (4, 2, 4), (1, 5, 4), (2, 5, 4), (1, 4)),
                    *("(torch.ones(1, 2, 4), torch.ones(1, 2, 4))", "None"),
                ),
            },
            (
                (
                    "isinstance(input, Tensor) and isinstance(hx, Tensor) and input.dim() == hx.dim() == 3 and"
                    " hx.shape != (self_num_layers * (2 if self_bidirectional else 1),"
                    " input.size(0 if self_batch_first else 1), self_hidden_size)",
                    "f'Expected hidden size {(self_num_layers * (2 if self_bidirectional else 1),"
                    " input.size(0 if self_batch_first else 1), self_hidden_size)}, got {hx.shape}'",
                ),
                (
                    "isinstance(hx, (tuple, list))",
                    "'object has no attribute'",
                ),
            ),
            ("input", "hx=None"),
        )
        for name in ("GRU", "RNN")
    ),
    ByHand(
        "torch.nn.LSTM.forward",
        {
            "self_input_size": ("3",),
            "self_hidden_size": ("4",),
            "self_num_layers": ("1", "2"),
            "self_batch_first": ("False", "True"),
            "self_bidirectional": ("False", "True"),
            "self_proj_size": ("0", "2"),
            "input": ones((5, 2, 3)),
            "hx": (
                *ones((1, 2, 4)),
                "None",
                *(f"(torch.ones({a}, {b}, 4), torch.ones({a}, {b}, 4))" for a in (1, 2, 4) for b in (2, 5)),
                *(f"(torch.ones({a}, {b}, 2), torch.ones({a}, {b}, 4))" for a in (1, 2) for b in (2, 5)),
            ),
        },
        (
            *(
                (
                    "isinstance(input, Tensor) and isinstance(hx, tuple) and len(hx) == 2 and input.dim() == 3"
                    f" and hx[{k}].dim() == 3 and hx[{1 - k}].dim() == 3 and hx[{k}].shape !="
                    " (self_num_layers * (2 if self_bidirectional else 1),"
                    f" input.size(0 if self_batch_first else 1), {size})",
                    f"f'Expected hidden[{k}] size {{(self_num_layers * (2 if self_bidirectional else 1),"
                    f" input.size(0 if self_batch_first else 1), {size})}}, got {{hx[{k}].shape}}'",
                )
                for k, size in ((0, "self_proj_size if self_proj_size > 0 else self_hidden_size"),)
            ),
        ),
    ),
    *(
        ByHand(
            f"torch.nn.{name}.forward",
            {
                "self_input_size": ("3",),
                "self_hidden_size": ("4",),
                "input": ones((2, 3), (2, 5), (3,)),
                "hx": (*hidden, "None"),
            },
            (
                (
                    "input.dim() in (1, 2) and input.size(-1) != self_input_size",
                    "'input has inconsistent input_size'",
                ),
                *refuses,
            ),
        )
        for name, hidden, refuses in (
            *(
                (
                    name,
                    ones((2, 4), (2, 5), (3, 4), (4,)),
                    (
                        (
                            "isinstance(hx, Tensor) and input.dim() == hx.dim() == 2 and hx.size(0) != input.size(0)"
                            " and hx.size(1) == self_hidden_size and input.size(1) == self_input_size",
                            "'batch size'",
                        ),
                        (
                            "isinstance(hx, Tensor) and input.dim() == hx.dim() == 2 and hx.size(1) != self_hidden_size"
                            " and input.size(1) == self_input_size and hx.size(0) == input.size(0)",
                            "'has inconsistent hidden_size'",
                        ),
                    ),
                )
                for name in ("GRUCell", "RNNCell")
            ),
            (
                "LSTMCell",
                (
                    *(
                        "torch.ones(2, 4)",
                        "(torch.ones(2, 4), torch.ones(2, 4))",
                        "(torch.ones(2, 5), torch.ones(2, 4))",
                    ),
                    *("(torch.ones(2, 4), torch.ones(2, 5))", "(torch.ones(3, 4), torch.ones(3, 4))"),
                ),
                (
                    (
                        "isinstance(hx, (tuple, list)) and len(hx) == 2 and input.dim() == 2 and"
                        " input.size(1) == self_input_size and hx[0].dim() == hx[1].dim() == 2 and (hx[0].shape !="
                        " (input.size(0), self_hidden_size) or hx[1].shape != (input.size(0), self_hidden_size))",
                        "'hidden'",
                    ),
                ),
            ),
        )
    ),
    ByHand(
        "torch.nn.MultiheadAttention.forward",
        {
            "self_embed_dim": ("4",),
            "self_num_heads": ("2",),
            "self_batch_first": ("False", "True"),
            "self_kdim": ("None",),
            "self_vdim": ("None",),
            "query": ones((3, 2, 4), (3, 4), (3, 2, 6)),
            "key": ones((3, 2, 4), (5, 2, 4), (3, 4), (4, 4)),
            "value": ones((3, 2, 4), (5, 2, 4), (3, 4)),
            "key_padding_mask": ("None", *ones((2, 3), (3, 2), (3,)), *whole((2, 3), (3, 2))),
            "attn_mask": ("None", *ones((3, 3), (2, 2), (4, 3, 3), (3, 3, 3), (4,))),
        },
        (
            (
                "query.dim() == 3 and (key.dim() != 3 or value.dim() != 3)",
                "f'For batched (3-D) `query`, expected `key` and `value` to be 3-D but found {key.dim()}-D and"
                " {value.dim()}-D tensors respectively'",
            ),
            (
                "query.dim() == 2 and (key.dim() != 2 or value.dim() != 2)",
                "f'For unbatched (2-D) `query`, expected `key` and `value` to be 2-D but found {key.dim()}-D and"
                " {value.dim()}-D tensors respectively'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and isinstance(key_padding_mask, Tensor)"
                " and key_padding_mask.dim() != 2",
                "'expected `key_padding_mask` to be `None` or 2-D'",
            ),
            (
                "query.dim() == key.dim() == value.dim() and isinstance(attn_mask, Tensor)"
                " and attn_mask.dim() not in (2, 3) and key_padding_mask is None",
                "'expected `attn_mask` to be `None`, 2-D or 3-D'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and key.shape == value.shape and"
                " query.size(-1) != self_embed_dim and key_padding_mask is None and attn_mask is None",
                "f'was expecting embedding dimension of {self_embed_dim}, but got {query.size(-1)}'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and query.size(-1) == self_embed_dim and"
                " self_kdim is None and self_vdim is None and key.shape != value.shape and key_padding_mask is None"
                " and attn_mask is None",
                "f'key shape {key.shape} does not match value shape {value.shape}'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and query.size(-1) == self_embed_dim and"
                " key.shape == value.shape and query.size(1 - (1 if self_batch_first else 0)) =="
                " key.size(1 - (1 if self_batch_first else 0)) and isinstance(attn_mask, Tensor) and"
                " key_padding_mask is None and attn_mask.dim() == 2 and attn_mask.shape !="
                " (query.size(1 if self_batch_first else 0), key.size(1 if self_batch_first else 0))",
                "f'The shape of the 2D attn_mask is {attn_mask.shape}, but should be"
                " {(query.size(1 if self_batch_first else 0), key.size(1 if self_batch_first else 0))}'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and query.size(-1) == self_embed_dim and"
                " key.shape == value.shape and query.size(1 - (1 if self_batch_first else 0)) =="
                " key.size(1 - (1 if self_batch_first else 0)) and isinstance(attn_mask, Tensor) and"
                " key_padding_mask is None and attn_mask.dim() == 3 and attn_mask.shape !="
                " (query.size(0 if self_batch_first else 1) * self_num_heads,"
                " query.size(1 if self_batch_first else 0), key.size(1 if self_batch_first else 0))",
                "f'The shape of the 3D attn_mask is {attn_mask.shape}, but should be"
                " {(query.size(0 if self_batch_first else 1) * self_num_heads,"
                " query.size(1 if self_batch_first else 0), key.size(1 if self_batch_first else 0))}'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and query.size(-1) == self_embed_dim and"
                " query.shape == key.shape == value.shape and isinstance(key_padding_mask, Tensor) and"
                " attn_mask is None and key_padding_mask.dim() == 2 and key_padding_mask.dtype != 'int64' and"
                " key_padding_mask.shape !="
                " (key.size(0 if self_batch_first else 1), key.size(1 if self_batch_first else 0))",
                "'Expected key_padded_mask.shape'",
            ),
            (
                "query.dim() == key.dim() == value.dim() == 3 and isinstance(key_padding_mask, Tensor) and"
                " key_padding_mask.dim() == 2 and key_padding_mask.dtype in ('int64', 'int32', 'uint8')",
                "'only bool and floating types of key_padding_mask are supported'",
            ),
        ),
    ),
    # Sequences.
    ByHand(
        "torch.nn.utils.rnn.pack_padded_sequence",
        {
            "input": ones((3, 2, 1), (2, 3, 1), (3, 3)),
            "lengths": ("[3, 2]", "[3, 0]", "[2, 3]", "[3, 2, 1]", "[1, 3, 2]", "[]", *whole((3,), (2,), (2, 1))),
            "batch_first": ("False", "True"),
            "enforce_sorted": ("True", "False"),
        },
        (
            (
                "enforce_sorted is True and (len(lengths) if isinstance(lengths, (list, tuple)) else lengths.size(0))"
                " != input.size(0 if batch_first else 1)",
                "'Expected `len(lengths)` to be equal to batch_size'",
            ),
            (
                "isinstance(lengths, (list, tuple)) and len(lengths) == input.size(0 if batch_first else 1)"
                " and min(lengths) <= 0",
                "'ength'",
            ),
            (
                "isinstance(lengths, (list, tuple)) and len(lengths) == input.size(0 if batch_first else 1)"
                " and min(lengths) > 0 and enforce_sorted and any(a < b for a, b in zip(lengths, lengths[1:]))",
                "'`lengths` array must be sorted in decreasing order when `enforce_sorted` is True'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.utils.rnn.pack_sequence",
        {
            "sequences": (
                "[torch.ones(3), torch.ones(2)]",
                "[torch.ones(2), torch.ones(3)]",
                "[torch.ones(2, 1), torch.ones(3, 1), torch.ones(3, 1)]",
                "[]",
            ),
            "enforce_sorted": ("True", "False"),
        },
        (
            (
                "isinstance(sequences, (list, tuple)) and len(sequences) == 0",
                "'received an empty list of sequences'",
            ),
            (
                "isinstance(sequences, (list, tuple)) and enforce_sorted"
                " and any(a.size(0) < b.size(0) for a, b in zip(sequences, sequences[1:]))",
                "'`lengths` array must be sorted in decreasing order when `enforce_sorted` is True'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.utils.rnn.pad_sequence",
        {
            "sequences": (
                "5",
                "2.0",
                "[torch.ones(3), torch.ones(2)]",
                "[torch.ones(3, 2), torch.ones(2, 2)]",
                "[torch.ones(3, 2), torch.ones(2, 3)]",
                "[[1, 2], [3]]",
                "[1, 2]",
                "[]",
            ),
        },
        (
            (
                "isinstance(sequences, (list, tuple)) and len(sequences) == 0",
                "'received an empty list of sequences'",
            ),
            ("isinstance(sequences, (int, float))", "'pad_sequence: Expected iterable for input sequences'"),
            (
                "isinstance(sequences, (list, tuple)) and any(isinstance(a, (int, float, list)) for a in sequences)",
                "'expected Tensor as element'",
            ),
            (
                "isinstance(sequences, (list, tuple)) and all(isinstance(one, Tensor) for one in sequences)"
                " and any(a.shape[1:] != b.shape[1:] for a, b in zip(sequences, sequences[1:]))",
                "'The size of tensor a'",
            ),
        ),
    ),
)
