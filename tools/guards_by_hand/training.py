"""What optimizers, schedulers, loaders of data and constructors of tensors refuse."""

from __future__ import annotations

from tools.guards_by_hand.written import ByHand, ones, whole

TRAINING: tuple[ByHand, ...] = (
    # Optimizers and schedulers.
    *(
        ByHand(
            f"torch.optim.{name}",
            {
                "params": ("[torch.ones(2, 2, requires_grad=True)]",),
                "lr": ("0.1", "'0.1'", "torch.tensor(0.1)", "torch.tensor([0.1, 0.2])"),
                **({"betas": ("(0.9, 0.99)", "0.9")} if "Adam" in name else {}),
                **({"foreach": ("None", "True")} if name == "Adam" else {}),
            },
            (
                ("isinstance(lr, str)", "'not supported between instances of'"),
                ("isinstance(lr, Tensor) and lr.numel() > 1", "'Tensor lr must be 1-element'"),
                *(
                    (("isinstance(betas, float) and isinstance(lr, (int, float))", "'not subscriptable'"),)
                    if "Adam" in name
                    else ()
                ),
                *(
                    (
                        (
                            "isinstance(lr, Tensor) and lr.numel() == 1 and foreach is True",
                            "'lr as a Tensor is not supported'",
                        ),
                    )
                    if name == "Adam"
                    else ()
                ),
            ),
        )
        for name in ("Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "RAdam", "NAdam")
    ),
    ByHand(
        "torch.optim.lr_scheduler.LambdaLR",
        {
            "optimizer": ("torch.optim.SGD([torch.ones(2, requires_grad=True)], lr=0.1)",),
            "lr_lambda": ("0.5", "1", "lambda epoch: 1.0"),
        },
        (("isinstance(lr_lambda, (int, float))", "'object is not callable'"),),
    ),
    ByHand(
        "torch.utils.data.DataLoader",
        {
            "dataset": ("[1, 2, 3]",),
            "batch_size": ("1", "0", "2.0", "-1", "None"),
            "shuffle": ("None", "True", "False"),
            "sampler": ("None", "[0, 1]", "torch.utils.data.SequentialSampler([1, 2, 3])"),
            "batch_sampler": ("None", "[[0, 1]]"),
            "drop_last": ("False", "True"),
        },
        (
            (
                "sampler is not None and shuffle is True",
                "'sampler option is mutually exclusive with shuffle'",
            ),
            (
                "batch_sampler is None and batch_size is not None and not isinstance(batch_size, int)"
                " and not (sampler is not None and shuffle)",
                "'batch_size should be a positive integer value'",
            ),
            (
                "batch_sampler is None and isinstance(batch_size, int) and batch_size <= 0"
                " and not (sampler is not None and shuffle)",
                "'batch_size should be a positive integer value'",
            ),
            (
                "batch_size is None and drop_last is True and batch_sampler is None"
                " and not (sampler is not None and shuffle)",
                "'batch_size=None option disables auto-batching'",
            ),
        ),
    ),
    ByHand(
        "torch.utils.data.RandomSampler",
        {"data_source": ("[1, 2, 3]",), "num_samples": ("None", "0", "1", "-1", "2.0")},
        (
            (
                "num_samples is not None and not isinstance(num_samples, int)",
                "'num_samples should be a positive integer value'",
            ),
            ("isinstance(num_samples, int) and num_samples <= 0", "'num_samples should be a positive integer value'"),
        ),
    ),
    ByHand(
        "torch.utils.data.random_split",
        {
            "dataset": ("[1, 2, 3, 4]", "[1, 2]"),
            "lengths": ("[2, 2]", "[2, 3]", "[0.5, 0.5]", "[0.5, 0.6]", "[1, 1]", "[0.7, 0.2]"),
        },
        (
            (
                "isinstance(lengths, (list, tuple)) and all(isinstance(one, int) for one in lengths)"
                " and isinstance(dataset, (list, tuple)) and sum(lengths) != len(dataset)",
                "'Sum of input lengths does not equal the length of the input dataset'",
            ),
            (
                "isinstance(lengths, (list, tuple)) and all(isinstance(one, float) for one in lengths)"
                " and sum(lengths) > 1.001",
                "'Sum of input lengths does not equal the length of the input dataset'",
            ),
        ),
    ),
    # Devices.
    ByHand(
        "torch.amp.autocast",
        {"device_type": ("'cpu'", "'gpu'", "0", "'cuda'")},
        (
            ("isinstance(device_type, int)", "'Expected `device_type` of type `str`'"),
            ("device_type in ('gpu', 'GPU', 'gpu:0')", "'Expected one of cpu, cuda'"),
        ),
    ),
    # Sparse tensors.
    ByHand(
        "torch.sparse_coo_tensor",
        {
            "indices": whole((2, 2), (1, 2), (2, 3)),
            "values": ones((2,), (3,), (2, 4)),
            "size": ("(2, 2)", "(2, 2, 2)", "(2, 2, 4)", "(2,)", "[2, 2]"),
        },
        (
            (
                "indices.dim() == 2 and isinstance(size, (tuple, list)) and values.dim() > 0"
                " and len(size) != indices.size(0) + values.dim() - 1",
                "'is not satisfied'",
            ),
            (
                "indices.dim() == 2 and isinstance(size, (tuple, list)) and values.dim() > 0"
                " and len(size) == indices.size(0) + values.dim() - 1 and indices.size(1) != values.size(0)",
                "'indices and values must have same nnz'",
            ),
        ),
        ("indices", "values", "size=None"),
    ),
    # Methods of modules and optimizers.
    ByHand(
        "torch.nn.Module.train",
        {"mode": ("True", "False", "'yes'", "1", "None", "0.5")},
        (
            (
                "mode is None or isinstance(mode, (str, int, float)) and not isinstance(mode, bool)",
                "'training mode is expected to be boolean'",
            ),
        ),
        ("mode=True",),
        "torch.nn.Linear(2, 2)",
    ),
    ByHand(
        "torch.nn.Module.load_state_dict",
        {
            "state_dict": (
                *("'model.pt'", "3", "[1, 2]", "torch.nn.Linear(2, 2)", "torch.nn.Linear(2, 2).state_dict"),
                *("torch.nn.Linear(2, 2).state_dict()", "(1, 2)", "None"),
            ),
        },
        (
            (
                "state_dict is None or isinstance(state_dict, (str, int, float, list, tuple, Module, function))",
                "'Expected state_dict to be dict-like'",
            ),
        ),
        ("state_dict", "strict=True", "assign=False"),
        "torch.nn.Linear(2, 2)",
    ),
    ByHand(
        "torch.optim.Optimizer.load_state_dict",
        {
            "state_dict": (
                "torch.optim.SGD([torch.ones(2)], lr=0.1)",
                "torch.optim.SGD([torch.ones(2)], lr=0.1).state_dict",
                "torch.optim.SGD([torch.ones(2)], lr=0.1).state_dict()",
                *("'optimizer.pt'", "3", "(1, 2)"),
            ),
        },
        (("isinstance(state_dict, (Optimizer, function, str, int, tuple))", "'object has no attribute'"),),
        ("state_dict",),
        "torch.optim.SGD([torch.ones(2)], lr=0.1)",
    ),
    ByHand(
        "torch.utils.checkpoint.create_selective_checkpoint_contexts",
        {
            "policy_fn_or_list": (
                *("2", "None", "'sin'", "(torch.ops.aten.sin.default,)", "lambda *given, **named: 0"),
                *("[2]", "['sin']", "[torch.ops.aten.sin]", "[torch.ops.aten.sin.default]", "[]"),
            ),
        },
        (
            (
                "policy_fn_or_list is None or isinstance(policy_fn_or_list, (int, float, str, tuple))",
                "'policy_fn_or_list must be either a function or a list of ops'",
            ),
            (
                "isinstance(policy_fn_or_list, list) and any(isinstance(one, (int, str, function, OpOverloadPacket))"
                " for one in policy_fn_or_list)",
                "'Expected op in `op_list` to be an OpOverload'",
            ),
        ),
    ),
    *(
        ByHand(
            f"torch.nested.{name}",
            {first: ("1", "torch.ones(3)", "[torch.ones(3), torch.ones(2)]", *more)},
            ((test, said),),
        )
        for name, first, more, test, said in (
            ("nested_tensor", "tensor_list", ("'a'",), "isinstance(tensor_list, (int, float, Tensor))", "'Only lists'"),
            (
                "as_nested_tensor",
                "ts",
                ("[1]",),
                "isinstance(ts, (int, float, str)) or isinstance(ts, list) and any(isinstance(one, (int, float))"
                " for one in ts)",
                "'Expected first argument to be a tensor or a list / tuple of tensors'",
            ),
        )
    ),
    ByHand(
        "torch.nn.utils._per_sample_grad.call_for_per_sample_grads",
        {"module": ("torch.nn.Linear(2, 2)", "'model'", "1", "lambda x: x"), "batch_size": ("None", "2")},
        (("isinstance(module, (str, int, function))", "'Module passed must be nn.Module'"),),
    ),
    # What stands for a module, a tensor, a function or a flag.
    ByHand(
        "torch.nn.Parameter",
        {"data": ("3", "1.0", "'w'", "[1.0, 2.0]", "(1.0,)", "torch.ones(2)"), "requires_grad": ("True", "False")},
        (("isinstance(data, (int, float, str, list, tuple))", "'has no attribute'"),),
        ("data=None", "requires_grad=True"),
    ),
    *(
        ByHand(
            path,
            {"device": ("'cpu'", "'gpu'", "'GPU'", "'cpu:0'", "'gpu:0'")},
            (("device in ('gpu', 'GPU', 'gpu:0')", "'Expected one of cpu, cuda'"),),
            takes,
            on,
        )
        for path, takes, on in (
            ("torch.to", ("self", "device"), "torch.ones(2)"),
            ("torch.nn.Module.to", ("device",), "torch.nn.Linear(2, 2)"),
        )
    ),
    ByHand(
        "torch.nn.Module.apply",
        {"fn": ("lambda module: None", "3", "'init'", "None")},
        (("fn is None or isinstance(fn, (int, str))", "'object is not callable'"),),
        ("fn",),
        "torch.nn.Linear(2, 2)",
    ),
    *(
        ByHand(
            f"torch.{place}set_grad_enabled",
            {"mode": ("True", "False", "'no'", "None", "0.5")},
            (("mode is None or isinstance(mode, (str, float))", "'must be bool'"),),
            ("mode",),
        )
        for place in ("", "autograd.")
    ),
    ByHand(
        "torch.nn.utils.parametrize.register_parametrization",
        {
            "module": ("torch.nn.Linear(2, 2)",),
            "tensor_name": ("'weight'",),
            "parametrization": ("torch.nn.Identity()", "lambda w: w * 2", "'exp'"),
        },
        (("isinstance(parametrization, (function, str, int))", "'has no attribute'"),),
    ),
)
