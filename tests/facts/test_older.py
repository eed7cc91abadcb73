"""What an older release of torch does otherwise; each statement was executed under it."""

from __future__ import annotations

import pytest

from gradlint.check import check_source
from gradlint.domain.release import Release
from gradlint.facts import fact
from gradlint.facts.table import older
from gradlint.facts.versions import stating
from gradlint.settings.config import Config

PROGRAMS = {
    "nextafter": "a = torch.rand(3, requires_grad=True)\ntorch.nextafter(a, torch.ones(3)).sum().backward()\n",
    "aminmax": "a = torch.rand(3, requires_grad=True)\ntorch.aminmax(a).max.backward()\n",
    "channel_shuffle": "a = torch.rand(1, 4, 2, 2, requires_grad=True)\nnn.ChannelShuffle(2)(a).sum().backward()\n",
    "narrow_copy": "a = torch.rand(4, requires_grad=True)\ntorch.narrow_copy(a, 0, 0, 2).sum().backward()\n",
    "ldexp_": "a = torch.rand(3, requires_grad=True) * 2\na.ldexp_(torch.ones(3))\n",
    "grid_sample": "a = torch.rand(1, 1, 4, 4, requires_grad=True)\n"
    "y = nn.functional.grid_sample(a, torch.zeros(1, 2, 2, 2), align_corners=False)\n"
    "(d,) = torch.autograd.grad(y.pow(2).sum(), a, create_graph=True)\nd.sum().backward()\n",
}
"""Each raises under 2.4.1, and runs under 2.13.0; under 2.6.0, 2.9.1 and 2.10.0 all raise but the channel shuffle.

Under 2.11.0 `ldexp_` runs, too; under 2.12.0 `nextafter` alone raises."""


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_older_release_raises_where_the_default_one_does_not(name: str) -> None:
    """The stated release decides."""
    source = "import torch\nfrom torch import nn\n\n" + PROGRAMS[name]
    errors = {
        text: [one for one in check_source(source, config=Config(torch=Release.of(text))) if one.severity == "error"]
        for text in ("2.3", "2.4", "2.6", "2.9", "2.10", "2.11", "2.12", "2.13")
    }
    assert errors["2.4"]
    assert errors["2.3"]
    for text in ("2.6", "2.9", "2.10"):
        assert bool(errors[text]) is (name != "channel_shuffle")
    assert bool(errors["2.11"]) is (name not in ("channel_shuffle", "ldexp_"))
    assert bool(errors["2.12"]) is (name == "nextafter")
    assert not errors["2.13"]


def test_rows_belong_to_the_release_that_is_stated() -> None:
    """One that was not measured is taken for the next one that was."""
    default = fact("nextafter")
    for text, differs in (("2.0", True), ("2.4", True), ("2.5", True), ("2.9", True), ("2.12", True), ("2.13", False)):
        with stating(Release.of(text)):
            assert (fact("nextafter") != default) is differs
            assert fact("relu") == fact("relu")
    assert not older(None)["rows"]
