"""What a run does about what its looks find: it keeps the best model, goes back to it, or stops."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx

from vrbm.training import stiffness
from vrbm.training.gradient import parameters
from vrbm.training.looks import Look
from vrbm.training.negative import NegativePhase
from vrbm.training.optimizer import UpdateRule
from vrbm.training.step import Carry
from vrbm.typing import Chains, HiddenBias, RandomKey, VisibleBias, Weights

#: The model is lost when training rows have become less likely than at an earlier look, or than
#: under independent columns, by so many nats beside the errors, and by so large a part of what had
#: been gained over independent columns.
LOST, LOST_PART = 1.0, 0.1
#: How often a run may go back and halve its rate: without a better look, and in all.
TURNS, MOST_TURNS = 3, 6


class TrainingWarning(UserWarning):
    """A training run went wrong, and was set right."""


class Kept(eqx.Module):
    """A model and its chains, to go back to."""

    W: Weights
    b: HiddenBias
    c: VisibleBias
    h_offset: HiddenBias
    chains: Chains | None
    """None where the trainer keeps none"""


@dataclass(frozen=True)
class Control:
    """What is remembered from look to look."""

    kept: Kept | None = None
    """the model of the best look; before the first, that of the start"""
    kept_epoch: int = 0
    best_epoch: int = 0
    """epoch of the look with the highest likelihood of the validation rows, and that"""
    best_heldout: float | None = None
    best_train: float | None = None
    """the highest likelihood of the training rows less its error"""
    halvings: int = 0
    """how often the rate was halved"""
    turns: int = 0
    """how often that was for want of a better look"""

    @property
    def rate_factor(self) -> float:
        """By which the rates of the schedule are multiplied."""
        return 0.5**self.halvings

    def facts(self) -> dict[str, Any]:
        """All but the arrays, for a file."""
        return {name: value for name, value in vars(self).items() if name != "kept"}


def kept(carry: Carry, chains: Chains | None) -> Kept:
    """What there is to go back to."""
    return Kept(*parameters(carry.model), carry.h_offset, chains)


def restored(
    carry: Carry, former: Kept, rule: UpdateRule, negative: NegativePhase, key: RandomKey
) -> Carry:
    """The state with the model and the chains that were kept; what else it holds stays."""
    arrays = former.W, former.b, former.c
    model = eqx.tree_at(lambda m: (m.W, m.b, m.c), carry.model, arrays)
    stiff, chains = carry.stiff, former.chains
    if stiff is not None and model.max_hidden != carry.model.max_hidden:
        stiff = stiffness.start(model, len(stiff.directions), key)
    return replace(
        carry,
        model=model,
        h_offset=former.h_offset,
        negative=carry.negative if chains is None else negative.with_chains(carry.negative, chains),
        optimizer=rule.init(parameters(model)),
        stiff=stiff,
    )


def renewed(current: Kept, epoch: int) -> Control:
    """That of a new layer: a run does not go back to models before it."""
    return Control(kept=current, kept_epoch=epoch, best_epoch=epoch)


def has_lost(control: Control, look: Look, train: float | None, independent: float | None) -> bool:
    """Whether the training rows, with log-likelihood `train`, have been lost."""
    if look.doubt is not None or train is None:
        return False
    if independent is None:
        return False
    best = independent if control.best_train is None else max(control.best_train, independent)
    return train + look.error < best - LOST - LOST_PART * (best - independent)


def after(
    control: Control,
    look: Look,
    train: float | None,
    heldout: float | None,
    current: Kept,
    epoch: int,
) -> Control:
    """The control after a look that has not lost the data.

    A later model replaces the one that is kept unless the rows are less likely by more than the
    error: validation rows where there are any, else training rows.
    """
    if look.doubt is not None or train is None:
        return control
    value, best = (
        (train, control.best_train) if heldout is None else (heldout, control.best_heldout)
    )
    if best is not None and value + look.error < best:
        return control
    sure = train - look.error
    new = replace(
        control,
        kept=current,
        kept_epoch=epoch,
        best_train=sure if control.best_train is None else max(control.best_train, sure),
    )
    if heldout is not None and (best is None or value > best):
        new = replace(new, best_heldout=heldout, best_epoch=epoch)
    return new


def turned(control: Control, epoch: int) -> Control:
    """The control after going back in want of a better look."""
    return replace(
        control, halvings=control.halvings + 1, turns=control.turns + 1, best_epoch=epoch
    )


def warned(control: Control, epoch: int, why: str, train: float | None = None) -> Control:
    """The control after going back because the data were lost, with a warning.

    The likelihood `train` is from now on what others are compared with: if the look at the model
    that was kept was too high, the run goes back to it only once.
    """
    warnings.warn(
        f"in epoch {epoch} {why}: the run goes back to the model of epoch {control.kept_epoch}, "
        "and on at half the rate. A lower learning rate, or smaller weights to begin with, may "
        "save the detour.",
        TrainingWarning,
        stacklevel=4,
    )
    return replace(control, halvings=control.halvings + 1, best_train=train)
