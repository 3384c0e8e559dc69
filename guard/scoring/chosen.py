"""The scorers that a guard was given, loaded when they are first asked for.

`groundrail.scoring.registry` turns names into scorers; `groundrail.scoring.second` joins a first and a second one.
"""

from collections.abc import Callable
from typing import Any

from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.generators.base import Generator, InProcess
from groundrail.policy import Policy
from groundrail.runtime.locks import LOADING
from groundrail.scoring.base import Scorer, ScorerFacts


class LazyScorer:
    """A scorer, made of whatever the guard was given when it is first asked for."""

    def __init__(self, given: tuple[Any, ...], make: Callable[..., Scorer]) -> None:
        self.given, self._make = given, make
        self._made: Scorer | None = None

    def get(self) -> Scorer:
        """The scorer; loads its model at the first call."""
        if self._made is None:
            with LOADING:
                if self._made is None:
                    self._made = self._make(*self.given)
        return self._made

    def known(self) -> list[ScorerFacts]:
        """The facts about the scorers and judges that were given; loads only a scorer that was named."""
        given = [self.get(), *self.given[1:]] if self.given[1:] and isinstance(self.given[0], str) else self.given
        of_judges = [ScorerFacts.around(each.facts, "") for each in given if isinstance(each, EntailmentModel)]
        return [each.facts for each in given if isinstance(each, Scorer)] + of_judges


class GuardScorers:
    """The scorers of a guard under its policy; guards that differ in their policy share the scorers.

    Raises: InputError unless a second scorer and the policy's `doubt` come together.
    """

    def __init__(self, first: LazyScorer, second: LazyScorer | None, policy: Policy) -> None:
        if (second is None) != (policy.doubt is None):
            raise InputError("a second scorer is asked where the first is in doubt: pass second= and Policy(doubt=...)")
        self.first, self.second, self.policy = first, second, policy
        self.get = LazyScorer((), self._joined).get

    def _joined(self) -> Scorer:
        first, calibration = self.first.get(), self.policy.calibration
        fitted_on = getattr(calibration, "scorer", "")
        if fitted_on and fitted_on != first.facts.identity:
            raise InputError(
                f"the calibration was fitted on another scorer: {fitted_on}; this guard's is {first.facts.identity}. Run "
                f"`groundrail calibrate` with the one that is used"
            )
        if self.policy.doubt is None or self.second is None:
            return first
        from groundrail.scoring.second import SecondOpinion

        threshold = self.policy.decisive(first.facts)
        return SecondOpinion(first, self.second.get(), self.policy.doubt, threshold=threshold, calibration=calibration)

    def asks_model_of(self, generator: Generator) -> bool:
        """Whether a judge answers with the generator's own model, which does one thing at a time."""
        return isinstance(generator, InProcess) and any(facts.asks(generator.weights) for facts in self.known())

    def known(self) -> list[ScorerFacts]:
        """The facts about the scorers and judges that were given; loads only a scorer that was named."""
        return self.first.known() + (self.second.known() if self.second else [])
