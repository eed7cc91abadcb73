"""What functions over images and sequences refuse, and the layers that call them."""

from __future__ import annotations

from collections.abc import Mapping

from tools.guards_by_hand.written import ByHand, ones

_FUNCTIONAL = "torch.nn.functional."
_PLANES = ones((1, 1, 6, 6), (1, 6, 6))
_SIZES = ("2", "3", "(2, 3)")


def _both(
    name: str, layer: str, values: Mapping[str, tuple[str, ...]], *refuses: tuple[str, str], takes: tuple[str, ...] = ()
) -> tuple[ByHand, ...]:
    """Return what a function refuses, and its layer, whose constructor takes everything but the input.

    `{p}` stands before the parameters of the constructor.
    """
    of_layer = {one if one == "input" else f"self_{one}": sources for one, sources in values.items()}
    plain, mine = (tuple([(test.replace("{p}", begin), said) for test, said in refuses]) for begin in ("", "self_"))
    return (
        ByHand(f"{_FUNCTIONAL}{name}", values, plain, takes),
        ByHand(f"torch.nn.{layer}.forward", of_layer, mine),
    )


def _pooling(name: str, rank: int, takes: tuple[str, ...]) -> ByHand:
    """Return what a pooling refuses: a padding of more than half of the kernel, and a stride of nothing."""
    values = {
        "input": ones((1, 1) + (6,) * rank),
        "kernel_size": ("2", "3"),
        "stride": ("None", "0", "1"),
        "padding": ("0", "1", "2"),
    }
    too_wide = "isinstance(padding, int) and isinstance(kernel_size, int) and padding * 2 > kernel_size and stride != 0"
    return ByHand(f"{_FUNCTIONAL}{name}", values, ((too_wide, "'half'"), ("stride == 0", "''")), takes)


_MAX = ("input", "kernel_size", "stride=None", "padding=0", "dilation=1", "ceil_mode=False", "return_indices=False")
_AVERAGE = ("input", "kernel_size", "stride=None", "padding=0", "ceil_mode=False", "count_include_pad=True")

IMAGES: tuple[ByHand, ...] = (
    *_both(
        "pixel_shuffle",
        "PixelShuffle",
        {"input": ones((3,), (4, 2, 2), (1, 4, 2, 2), (2, 2)), "upscale_factor": ("2", "1", "0", "-1")},
        ("input.dim() < 3", "'pixel_shuffle expects input to have at least 3 dimensions'"),
        ("input.dim() > 2 and {p}upscale_factor <= 0", "'expects a positive upscale_factor'"),
        takes=("input", "upscale_factor"),
    ),
    *_both(
        "pixel_unshuffle",
        "PixelUnshuffle",
        {"input": ones((3,), (1, 2, 2), (1, 1, 4, 2), (1, 3, 2), (1, 2, 3)), "downscale_factor": ("2", "1", "0")},
        ("input.dim() < 3", "'pixel_unshuffle expects input to have at least 3 dimensions'"),
        ("input.dim() > 2 and {p}downscale_factor <= 0", "'expects a positive downscale_factor'"),
        (
            "input.dim() > 2 and {p}downscale_factor > 0 and input.size(-2) % {p}downscale_factor != 0",
            "'expects height to be divisible by downscale_factor'",
        ),
        (
            "input.dim() > 2 and {p}downscale_factor > 0 and input.size(-1) % {p}downscale_factor != 0",
            "'expects width to be divisible by downscale_factor'",
        ),
        takes=("input", "downscale_factor"),
    ),
    *_both(
        "channel_shuffle",
        "ChannelShuffle",
        {"input": ones((1, 3, 2, 2), (1, 4, 2, 2)), "groups": ("2", "4", "1")},
        ("input.dim() > 2 and {p}groups > 0 and input.size(1) % {p}groups != 0", "'must be divisible by groups'"),
        takes=("input", "groups"),
    ),
    *_both(
        "softshrink",
        "Softshrink",
        {"input": ones((3,)), "lambd": ("0.5", "-1", "-0.5", "0")},
        ("{p}lambd < 0", "'lambda must be in range'"),
        takes=("input", "lambd=0.5"),
    ),
    *_both(
        "celu",
        "CELU",
        {"input": ones((3,)), "alpha": ("1.0", "0", "0.0", "-1.0")},
        ("{p}alpha == 0", "'alpha cannot be 0 for CELU'"),
    ),
    *_both(
        "rrelu",
        "RReLU",
        {"input": ones((3,)), "lower": ("0.1", "0.5"), "upper": ("0.3", "0.6")},
        ("{p}lower > {p}upper", "'Lower bound should be less than or equal to the upper bound'"),
    ),
    *_both(
        "local_response_norm",
        "LocalResponseNorm",
        {"input": ones((2, 3, 4)), "size": ("0", "-1", "1", "2")},
        ("input.dim() > 2 and {p}size <= 0", "''"),
    ),
    ByHand(
        f"{_FUNCTIONAL}pad",
        {
            "input": ones((1, 1, 4), (4,), (1, 4), ()),
            "pad": ("(1, 1)", "(5, 4)", "(4, 4)", "(-3, -2)", "(1, 1, 1, 1)", "(1, 1, 1, 1, 1, 1, 1, 1)", "(1,)"),
            "mode": ("'constant'", "'reflect'", "'replicate'", "'circular'"),
        },
        (
            (
                "isinstance(pad, (tuple, list)) and len(pad) > 2 * input.dim()",
                "'Padding length should be less than or equal to two times the input dimension'",
            ),
            (
                "mode in ('reflect', 'replicate', 'circular') and len(pad) == 2 and input.dim() < 2",
                "'is not supported for'",
            ),
            (
                "mode == 'circular' and len(pad) == 2 and input.dim() > 1 and max(pad) > input.size(-1)",
                "'Padding value causes wrapping around more than once'",
            ),
            (
                "mode in ('circular', 'constant') and len(pad) == 2 and input.dim() > 1 and max(pad) <= 0"
                " and sum(pad) + input.size(-1) < 0",
                "''",
            ),
        ),
    ),
    ByHand(
        f"{_FUNCTIONAL}embedding_bag",
        {
            "input": ("torch.tensor([[1, 2]])",),
            "weight": ones((4, 3), (3, 3)),
            "padding_idx": ("None", "0", "3", "4", "-4", "-5"),
        },
        (
            (
                "isinstance(padding_idx, int) and (padding_idx >= weight.size(0) or padding_idx < -weight.size(0))",
                "'padding_idx must be within the number of embeddings'",
            ),
        ),
    ),
    *(_pooling(f"max_pool{k}d", k, _MAX) for k in (1, 2, 3)),
    *(_pooling(f"avg_pool{k}d", k, _AVERAGE) for k in (1, 2, 3)),
    ByHand(
        f"{_FUNCTIONAL}unfold",
        {"input": _PLANES, "kernel_size": ("2", "7", "(2, 7)", "(2, 3)")},
        (
            (
                "input.dim() == 4 and dilation == 1 and padding == 0"
                " and (_pair(kernel_size)[0] > input.size(2) or _pair(kernel_size)[1] > input.size(3))",
                "'calculated shape of the array of sliding blocks as'",
            ),
        ),
    ),
    *(
        ByHand(
            f"{_FUNCTIONAL}fractional_max_pool{k}d",
            {
                "input": ones((1, 1) + (6,) * k),
                "kernel_size": ("2", f"{(2,) * (k + 1)}", f"{(2,) * k}", "7"),
                "output_size": ("2", "3", "6"),
            },
            (
                (
                    f"isinstance(kernel_size, (tuple, list)) and len(kernel_size) != {k}",
                    "'kernel_size must either be a single Int or tuple of'",
                ),
                (
                    "isinstance(kernel_size, int) and isinstance(output_size, int)"
                    " and kernel_size + output_size - 1 > input.size(-1)",
                    "'too large relative to input'",
                ),
            ),
            ("input", "kernel_size", "output_size=None", "output_ratio=None", "return_indices=False"),
        )
        for k in (2, 3)
    ),
    ByHand(
        f"{_FUNCTIONAL}multi_head_attention_forward",
        {
            "query": ones((1, 1, 4)),
            "key": ones((1, 1, 4)),
            "value": ones((1, 1, 4)),
            "embed_dim_to_check": ("4",),
            "num_heads": ("2", "3"),
            "in_proj_weight": ones((12, 4)),
            "in_proj_bias": ("None",),
            "bias_k": ("None",),
            "bias_v": ("None",),
            "add_zero_attn": ("False",),
            "dropout_p": ("0.0",),
            "out_proj_weight": ones((4, 4)),
            "out_proj_bias": ("None",),
        },
        (
            (
                "isinstance(embed_dim_to_check, int) and embed_dim_to_check % num_heads != 0",
                "'not divisible by num_heads'",
            ),
        ),
    ),
)
