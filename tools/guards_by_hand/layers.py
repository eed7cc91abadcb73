"""What layers and functions over images and features refuse."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand, ones, whole

LAYERS: tuple[ByHand, ...] = (
    ByHand(
        "torch.nn.functional.affine_grid",
        {
            "theta": (*ones((1, 2, 3), (2, 3), (1, 3, 4)), *whole((1, 2, 3))),
            "size": ("(1, 1, 2, 2)", "[1, 1, 2, 2]", "(1, 1, 2, 2, 2)"),
        },
        (
            ("theta.dtype in ('int64', 'int32', 'bool')", "'Expected theta to have floating point type'"),
            (
                "theta.dtype in ('float32', 'float64') and len(size) == 4"
                " and (theta.dim() != 3 or theta.shape[1:] != (2, 3))",
                "'Expected a batch of 2D affine matrices of shape Nx2x3'",
            ),
            (
                "theta.dtype in ('float32', 'float64') and len(size) == 5"
                " and (theta.dim() != 3 or theta.shape[1:] != (3, 4))",
                "'Expected a batch of 3D affine matrices of shape Nx3x4'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.functional.grid_sample",
        {
            "input": ones((1, 1, 3, 3), (2, 1, 3, 3)),
            "grid": ones((1, 2, 2, 2), (2, 2, 2, 2), (1, 2, 2, 3), (2, 2, 2, 3)),
        },
        (
            (
                "input.dim() == grid.dim() and grid.size(-1) != input.dim() - 2",
                "f'expected grid to have size {input.dim() - 2} in last dimension'",
            ),
            (
                "input.dim() == grid.dim() and input.size(0) != grid.size(0)",
                "'expected grid and input to have same batch size'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.functional.interpolate",
        {
            "input": ones((1, 1, 4), (1, 1, 4, 4), (1, 1, 4, 4, 4)),
            "size": ("3",),
            "mode": ("'nearest'", "'linear'", "'bilinear'", "'bicubic'", "'trilinear'", "'area'", "'cubic'"),
        },
        (
            (
                "mode in ('linear', 'bilinear', 'trilinear') and input.dim() in (3, 4, 5) and input.dim()"
                " != (3 if mode == 'linear' else 4 if mode == 'bilinear' else 5)",
                "f'Got {input.dim()}D input, but {mode} mode needs'",
            ),
            (
                "mode not in ('nearest', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area', 'nearest-exact',"
                " 'lanczos') and isinstance(mode, str)",
                "'Only 3D, 4D and 5D input Tensors supported'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.Upsample.forward",
        {
            "input": ones((1, 1, 4), (1, 1, 4, 4), (1, 1, 4, 4, 4)),
            "self_size": ("3", "None"),
            "self_scale_factor": ("None",),
            "self_mode": ("'nearest'", "'linear'", "'bilinear'", "'trilinear'", "'cubic'"),
        },
        (
            ("self_size is None and self_scale_factor is None", "'either size or scale_factor should be defined'"),
            (
                "self_mode in ('linear', 'bilinear', 'trilinear') and input.dim() in (3, 4, 5) and input.dim()"
                " != (3 if self_mode == 'linear' else 4 if self_mode == 'bilinear' else 5)"
                " and not (self_size is None and self_scale_factor is None)",
                "f'Got {input.dim()}D input, but {self_mode} mode needs'",
            ),
            (
                "self_mode not in ('nearest', 'linear', 'bilinear', 'bicubic', 'trilinear', 'area', 'nearest-exact')"
                " and isinstance(self_mode, str) and not (self_size is None and self_scale_factor is None)",
                "'Only 3D, 4D and 5D input Tensors supported'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.functional.pad",
        {
            "input": ones((1, 1, 4)),
            "pad": ("(1, 1)",),
            "mode": ("'constant'", "'reflect'", "'replicate'", "'circular'", "'mirror'", "'same'"),
        },
        (
            (
                "isinstance(mode, str) and mode not in ('constant', 'reflect', 'replicate', 'circular')",
                "'Unrecognised padding mode'",
            ),
        ),
    ),
    *(
        ByHand(
            f"torch.nn.init.{name}",
            {"tensor": ones((3, 5)), "mode": ("'fan_in'", "'fan_out'", "'fan'", "'FAN_IN'")},
            (
                (
                    "mode in ('fan', 'in', 'out', 'fan_avg', 'fan-in', 'fan-out', 'fanin', 'fanout', 'relu')",
                    "f'Mode {mode} not supported'",
                ),
            ),
        )
        for name in ("kaiming_uniform_", "kaiming_normal_")
    ),
    # Layers.
    *(
        ByHand(
            f"torch.nn.{name}",
            dict.fromkeys(sizes, ("4", "4.0", "'4'", "[4]", "-4")),
            tuple([(f"isinstance({one}, (float, str, list))", "'must be tuple of ints'") for one in sizes]),
        )
        for name, sizes in (("Linear", ("in_features", "out_features")),)
    ),
    *(
        ByHand(
            f"torch.nn.{name}",
            dict.fromkeys(sizes, ("4", "4.0", "'4'")),
            tuple([(f"isinstance({one}, float)", said) for one in sizes]),
        )
        for name, sizes, said in (
            ("Embedding", ("num_embeddings", "embedding_dim"), "''"),
            ("BatchNorm1d", ("num_features",), "''"),
            ("BatchNorm2d", ("num_features",), "''"),
            ("BatchNorm3d", ("num_features",), "''"),
            ("LayerNorm", ("normalized_shape",), "''"),
            ("GRUCell", ("input_size", "hidden_size"), "''"),
            ("LSTMCell", ("input_size", "hidden_size"), "''"),
            ("RNNCell", ("input_size", "hidden_size"), "''"),
            ("Bilinear", ("in1_features", "in2_features", "out_features"), "''"),
            ("PReLU", ("num_parameters",), "''"),
        )
    ),
    *(
        ByHand(
            f"torch.nn.Conv{dims}d",
            {"in_channels": ("4", "4.0"), "out_channels": ("8", "8.0"), "kernel_size": ("3", "3.0")},
            tuple([(f"isinstance({one}, float)", "''") for one in ("in_channels", "out_channels", "kernel_size")]),
        )
        for dims in (1, 2, 3)
    ),
    ByHand(
        "torch.nn.Unflatten",
        {"dim": ("1",), "unflattened_size": ("(2, 5)", "(2, 5.0)", "[2.0, 5]", "[2, 5]")},
        (
            (
                "isinstance(dim, int) and isinstance(unflattened_size, (tuple, list))"
                " and any(isinstance(one, (float, str, tuple, list)) for one in unflattened_size)",
                "'unflattened_size must be tuple of ints, but found element of type'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.EmbeddingBag.forward",
        {
            "self_num_embeddings": ("10",),
            "self_embedding_dim": ("4",),
            "self_mode": ("'mean'", "'sum'"),
            "input": whole((3, 4), (12,)),
            "offsets": ("None", "torch.zeros(1, dtype=torch.int64)", "torch.zeros(1, 1, dtype=torch.int64)"),
            "per_sample_weights": ("None", *ones((3, 4), (12,))),
        },
        (
            ("input.dim() == 2 and isinstance(offsets, Tensor)", "'then offsets has to be None'"),
            ("input.dim() == 1 and offsets is None and per_sample_weights is None", "'offsets has to be a 1D Tensor'"),
            (
                "isinstance(per_sample_weights, Tensor) and per_sample_weights.shape != input.shape",
                "'then it must have the same shape as the input'",
            ),
            (
                "isinstance(per_sample_weights, Tensor) and per_sample_weights.shape == input.shape"
                " and input.dim() == 2 and offsets is None and self_mode != 'sum'",
                "\"per_sample_weights is only supported for mode='sum'\"",
            ),
        ),
    ),
    ByHand(
        "torch.nn.AdaptiveLogSoftmaxWithLoss.forward",
        {
            "self_in_features": ("16",),
            "self_n_classes": ("20",),
            "self_cutoffs": ("[5, 10]",),
            "input_": ones((2, 16), (3, 16), (2, 15)),
            "target_": whole((2,), (3,)),
        },
        (
            (
                "input_.dim() == 2 and target_.dim() == 1 and input_.size(0) != target_.size(0)",
                "'Input and target should have the same size in the batch dimension'",
            ),
            (
                "input_.dim() == 2 and target_.dim() == 1 and input_.size(0) == target_.size(0)"
                " and input_.size(1) != self_in_features",
                "'mat1 and mat2 shapes cannot be multiplied'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.Bilinear.forward",
        {
            "self_in1_features": ("2",),
            "self_in2_features": ("3",),
            "self_out_features": ("4",),
            "input1": ones((5, 2), (5, 3)),
            "input2": ones((5, 2), (5, 3)),
        },
        (
            (
                "input1.dim() == input2.dim() and input1.size(-1) != self_in1_features",
                "'input1 size does not match weight size'",
            ),
            (
                "input1.dim() == input2.dim() and input1.size(-1) == self_in1_features"
                " and input2.size(-1) != self_in2_features",
                "'input2 size does not match weight size'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.PReLU.forward",
        {"self_num_parameters": ("1", "3"), "input": ones((2, 4), (2, 3), (3,), (4,))},
        (
            (
                "self_num_parameters > 1 and input.dim() > 1 and input.size(1) != self_num_parameters",
                "'Mismatch of parameter numbers and input channel size'",
            ),
        ),
    ),
    ByHand(
        "torch.nn.Fold.forward",
        {
            "self_output_size": ("(4, 5)",),
            "self_kernel_size": ("(2, 3)", "2"),
            "input": ones((1, 6, 9), (1, 5, 9), (1, 6, 10), (1, 8, 12), (1, 7, 12)),
        },
        (
            (
                "input.dim() == 3 and input.size(1) % (_pair(self_kernel_size)[0] * _pair(self_kernel_size)[1]) != 0",
                "'to be divisible by the product of kernel_size'",
            ),
        ),
    ),
    *(
        ByHand(
            f"torch.nn.MaxPool{k}d.forward",
            {
                "self_kernel_size": ("2", "3"),
                "self_stride": ("None", "0", "1"),
                "self_padding": ("0", "1", "2"),
                "input": ones((1, 1) + (6,) * k),
            },
            (
                (
                    "isinstance(self_padding, int) and isinstance(self_kernel_size, int)"
                    " and self_padding * 2 > self_kernel_size and self_stride != 0",
                    "'should be at most half of'",
                ),
                ("self_stride == 0", "''"),
            ),
        )
        for k in (1, 2, 3)
    ),
    *(
        ByHand(
            f"torch.nn.MaxUnpool{k}d.forward",
            {
                "self_kernel_size": ("2",),
                "input": ones((1, 1) + (2,) * k),
                "indices": (
                    f"torch.zeros({(1, 1) + (2,) * k}, dtype=torch.int64)",
                    f"torch.zeros({(1, 1) + (2,) * (k - 1) + (3,)}, dtype=torch.int64)",
                ),
            },
            (("input.dim() == indices.dim() and input.shape != indices.shape", "'shape of indices'"),),
        )
        for k in (2, 3)
    ),
    ByHand(
        "torch.nn.functional.batch_norm",
        {
            "input": ones((2, 10), (2, 9, 3)),
            "running_mean": ("None", *ones((10,), (9,))),
            "running_var": ("None", *ones((10,), (9,))),
            "weight": ("None", *ones((10,), (9,))),
            "training": ("False", "True"),
        },
        tuple(
            [
                (
                    f"isinstance({name}, Tensor) and input.dim() > 1 and {name}.shape != (input.size(1),)"
                    " and isinstance(running_mean, Tensor) and isinstance(running_var, Tensor)",
                    "'should contain'",
                )
                for name in ("running_mean", "running_var", "weight")
            ]
        ),
    ),
)
