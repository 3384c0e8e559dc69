"""The head for kinds learns from states."""

import torch
from fit_kinds import fit
from mpnet import Kinds
from torch.nn import functional as F


def test_the_head_learns_to_tell_states_apart() -> None:
    torch.manual_seed(0)
    kinds = torch.arange(3000) % 3
    read = 3 * F.one_hot(kinds, 12).float() + 0.1 * torch.randn(3000, 12)
    fitted = fit(read, kinds, torch.ones(len(read))).eval()
    with torch.no_grad():
        before = float(F.cross_entropy(Kinds(12, 0.1).eval()(read), kinds))
        after = float(F.cross_entropy(fitted(read), kinds))
    assert after < before / 2
