"""What is guessed from a name alone: the one place, for the check and for confirmation.

A name is weak evidence. What is guessed here is an assumption of every finding that rests on it (see
`gradlint.domain.assumption`), and no finding of severity `error` may rest on it. Names are compared word by word, so
that `semantic_model` is no moving average (`ema`) and `refine_net` no reference (`ref`).
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal, TypeAlias

Role: TypeAlias = Literal["network", "loss", "optimizer"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")

_NETWORK = re.compile(
    r"(?i)(\w*model\w*|net_?\w|\w*net[a-z]?|qf\d?|[gd]"
    r"|\w*(net(work)?s?|encoder|decoder|generator|disc|discriminator|critic|actor|classifier|policy|backbone|transformer"
    r"|student|learner|denoiser|predictor|projector|vae|rnn|lstm|gru|cnn|mlp|gnn|gcn|bert|gpt|vit)(_?\w)?)"
)
_NOT_TRAINED = re.compile(
    r"(teacher|target|ema|frozen|pretrain(ed|ing)?|vgg|old|ref|reference|avg|averaged?)(model|net(work)?s?)?"
)
"""Words in the names of networks that programs keep and do not train."""

_MAKERS = frozenset({"class", "cls", "type", "factory", "builder"})
"""The last words in the names of what makes networks, such as `model_class`."""

_VERBS = frozenset(
    {
        *("get", "make", "build", "create", "load", "save", "wrap", "unwrap", "prepare", "add", "init", "initialize"),
        *("set", "setup", "update", "freeze", "unfreeze", "register", "export", "push", "count", "plot", "log"),
    }
)
"""The first words in the names of functions that do something to a network, such as `unwrap_model`."""

_OF_DATA = frozenset(
    {"data", "batch", "batches", "minibatch", "sample", "samples", "feed", "recurrent", "random", "seed", "torch"}
)
"""Words in the names of generators that yield data, such as `feed_forward_generator`."""

_LOSS = re.compile(r"(?i)(\w*crit(eri\w*)?|\w*loss(_?(f|fn|func|function))?(_?\w)?|(bce|mse|ce|nll|l1)(_?\w)?)")
_OPTIMIZER = re.compile(r"[a-z]*opt(im(izers?)?)?[a-z]?")

_NUMBERS = frozenset(
    {
        *("lr", "momentum", "eps", "alpha", "gamma", "beta", "weight_decay", "rate"),
        *("p", "dropout", "temperature", "lambda_", "lam", "max_norm"),
    }
)
_COUNTS = re.compile(r"(num|n)_.*|.*(_size|_dim|size|dim|channels|epochs)")
_FLAGS = re.compile(r"(is|use|has)_.*")


@cache
def words(name: str) -> tuple[str, ...]:
    """Return the words of an identifier in lower case: `netG_ema2` gives net, g, ema, 2."""
    return tuple(word.lower() for word in _WORD.findall(name))


@cache
def is_network(name: str) -> bool:
    """Return whether a name is one that programs give to a network that they train."""
    if _NETWORK.fullmatch(name) is None:
        return False
    parts = words(name)
    if parts[-1] in _MAKERS or (len(parts) > 1 and parts[0] in _VERBS):
        return False
    if parts[-1] == "generator" and any(word in _OF_DATA for word in parts):
        return False
    return not any(_NOT_TRAINED.fullmatch(word) for word in parts)


def is_class(name: str) -> bool:
    """Return whether a name is written as those of classes are, such as `UnrealModel`; `G` and `net_D` are not."""
    return name[:1].isupper() and any(letter.islower() for letter in name) and "_" not in name


def is_kept(name: str) -> bool:
    """Return whether a word of a name says that a network is kept, rather than trained."""
    return any(_NOT_TRAINED.fullmatch(word) for word in words(name))


def is_loss(name: str) -> bool:
    """Return whether a name is one that programs give to a loss function; a class has a capital."""
    return not name[:1].isupper() and _LOSS.fullmatch(name) is not None


def is_optimizer(name: str) -> bool:
    """Return whether a word of a name is short for optimizer."""
    return any(_OPTIMIZER.fullmatch(word) for word in words(name))


_OPTIMIZER_CLASS = re.compile(
    r"(Fused|CPU|Paged)?(Adam(W|ax|P|Mod)?|[NR]Adam|SGD|RMSprop|Ada(grad|delta|factor|bound|belief)|LAMB|Lamb|Lion)(8bit)?"
)


def is_optimizer_class(name: str) -> bool:
    """Return whether a name is that of a class of optimizers, as libraries have them beside torch."""
    return _OPTIMIZER_CLASS.fullmatch(name) is not None


_SCHEDULER = re.compile(r"(lr|warmup)?_?\w*sche?d(ul|l?r)?\w*")
_SCHEDULED = re.compile(r"noise|beta|kl|temp\w*|tau|eps\w*|alpha|ddpm|ddim|diffusion|sampl\w*|train|model")


def is_scheduler(name: str) -> bool:
    """Return whether a name is that of a scheduler, and no word says that of something else than learning rates."""
    found = words(name)
    return any(_SCHEDULER.fullmatch(one) for one in found) and not any(_SCHEDULED.fullmatch(one) for one in found)


_LOOKING = frozenset(
    {
        *("clip", "norm", "log", "print", "plot", "show", "draw", "save", "dump", "write", "record", "report", "watch"),
        *("count", "num", "summary", "evaluate", "eval", "validate", "validation", "val", "test", "visualize", "check"),
        *("accuracy", "metric", "metrics", "monitor", "meter", "ema", "average", "decay", "adjust", "checkpoint"),
        *("load", "restore", "resume", "measure", "profile", "register", "state", "describe", "early", "stopper"),
    }
)


_DATA = re.compile(r"\w*loaders?|\w*datasets?|batch(es)?|minibatch(es)?|dl|replay|dataiter")


def is_data(*names: str) -> bool:
    """Return whether a word of some names says that it stands for data, or for what yields data."""
    return any(_DATA.fullmatch(word) for name in names for word in words(name))


_NO_LAYER = re.compile(
    r"\w*(tokeniz|process|transform(s|ation)?$|metric|schedul|load|log|writer|sampl|augment|collat|extractor|env|config"
    r"|criteri|loss|buffer|memory|noise|eval|timer|meter|callback|lock|path|pool$)\w*"
)


_LAYER = re.compile(r"\w*(mlp|net|cnn|rnn|conv|layer|block|encoder|decoder|linear|backbone)\w*")


def is_layer(maker: str, attribute: str) -> bool:
    """Return whether an attribute that is called, made by a class or a maker of layers, is a layer, and no tool."""
    makes = maker[:1].isupper() or _LAYER.fullmatch(maker) is not None
    return makes and not any(_NO_LAYER.fullmatch(name.lower()) for name in (maker, attribute))


_BACKPROPAGATING = frozenset(
    {"backward", "backprop", "step", "update", "optimize", "optimise", "minimize", "train", "fit", "grad", "gradient"}
)


def may_backpropagate(function: str) -> bool:
    """Return whether a name is that of a function that may run a backward through what it is given."""
    return any(word.rstrip("s") in _BACKPROPAGATING for word in words(function))


def may_set_flags(method: str) -> bool:
    """Return whether the name of a method speaks of what is trained: it may set flags of parameters."""
    return any(
        re.fullmatch(r"(un)?fr(ee|o)z\w*|thaw|grads?|train\w*|set|enable|disable|toggle", one) for one in words(method)
    )


CLEARING = frozenset({"zero_grad", "clear_grad", "zero_grads"})
"""Methods that clear gradients, torch's and what others call theirs."""

_MEMBERS = frozenset({"parameters", "params", "buffers", "modules", "layers", "children", "groups", "weights"})


def gives_members(method: str) -> bool:
    """Return whether a method of a network gives what the network consists of, by its name: `trainable_parameters`."""
    return not _MEMBERS.isdisjoint(words(method)[-1:])


_OTHER_STEPS = re.compile(r"(?i)\w*sched\w*|lr|\w*warm\w*|envs?|prof\w*|p?bar")


def steps_no_parameters(name: str) -> bool:
    """Return whether what has a method `step` is no optimizer by its name: a scheduler, an environment, a profiler."""
    return any(_OTHER_STEPS.fullmatch(word) for word in words(name))


_INPUT = re.compile(
    r"\w*(batch(es)?|data|inputs?|inps?|targets?|tgts?|labels?|images?|imgs?|samples?|tokens?|masks?|texts?|ids?)"
    r"|[xy]\w?|src|trg|reals?|observations?|(\w*_)?obs"
)


def is_input(parameter: str) -> bool:
    """Return whether a name is one that a function which trains gives to its inputs and targets."""
    return _INPUT.fullmatch(parameter.lower()) is not None


def only_looks(function: str) -> bool:
    """Return whether a name is that of a function that neither clears the gradients of what it gets nor steps.

    What makes a scheduler is one, too; a scheduled optimizer is not.
    """
    makes_scheduler = is_scheduler(function) and not is_optimizer(function)
    return makes_scheduler or any(word in _LOOKING for word in words(function))


_TRAINING = _BACKPROPAGATING | {
    "zero",
    "clear",
    "reset",
    "run",
    "epoch",
    "iteration",
    "iter",
    "learn",
    "loop",
    "closure",
}


def may_train(function: str) -> bool:
    """Return whether a function may clear the gradients of what an object holds, or step, by its name."""
    return not function or any(word.rstrip("s") in _TRAINING for word in words(function))


def belongs(optimizer: str, network: str) -> bool:
    """Return whether an optimizer is that of a network by its name: `optimizerD` of `netD`, `opt_gen` of `gen`."""
    one = re.sub(r"(?i)optimizer|optim|opt|_", "", optimizer).lower()
    other = re.sub(r"(?i)model|net|_", "", network).lower()
    return bool(one and other) and (one.startswith(other) or other.startswith(one))


def kinds(name: str) -> tuple[str, ...]:
    """Return the kinds of value to make up for a name of which nothing else is known, the likeliest first."""
    name = name.lower()
    if name in _NUMBERS or name.endswith("_lr"):
        return ("float",)
    if name == "device":
        return ("device",)
    if _COUNTS.fullmatch(name):
        return ("int",)
    if _FLAGS.fullmatch(name):
        return ("bool",)
    if name.startswith("optim"):
        return ("optimizer",)
    if is_loss(name) and name != "loss":
        return ("criterion",)
    if _NETWORK.fullmatch(name) and len(name) > 1:
        return ("module",)
    if name in ("target", "targets", "label", "labels"):
        return ("target", "tensor")
    if "loader" in name:
        return ("loader",)
    return ("tensor", "float", "int")


def is_number(name: str) -> bool:
    """Return whether a name is one that programs give to a rate or a factor."""
    return name in _NUMBERS
