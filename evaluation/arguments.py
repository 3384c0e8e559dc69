"""The options that `eval` and `calibrate` share: the scorer, the files and the sample of claims.

The commands are in `groundrail.evaluation.cli`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cyclopts import Parameter

from groundrail.cli.scorers import ScorerChoice
from groundrail.entailment.base import EntailmentModel
from groundrail.errors import InputError
from groundrail.evaluation.answers import MarkedAnswer, load_answers
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.sampling import sample_answers, sample_each
from groundrail.evaluation.units import Aggregate
from groundrail.scoring.base import Scorer


@dataclass(frozen=True, slots=True)
class Named:
    """The scorer that the arguments name, the counter inside it, and the other settings that its scores depend on."""

    name: str
    scorer: Scorer
    counter: CountingEntailment | None
    settings: Mapping[str, Any]


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Arguments:
    """The options of both commands.

    Args:
        units: sentences, subsentences, parsed, seq2seq or whole: the parts of a claim that are scored (the scorer's own)
        splitter: for parsed units a spaCy pipeline (en_core_web_sm), for seq2seq a model
        aggregate: joins the sentences of a claim; the sub-sentences of a sentence are joined by the minimum
        format: file format (guessed from the content)
        context: put the text that a claim continues behind its source
        documents: folder of a challenge file's documents, or of RAGTruth's source_info.jsonl
        pool: measure all files as one data set of this name
        limit: measure this number of claims, or whole answers, of each data set
        seed: seed of the sample and of the intervals
        out: write results here; run again to continue
        json: print JSON, not a table
    """

    scoring: ScorerChoice = ScorerChoice()
    units: str | None = None
    splitter: str | None = None
    aggregate: Aggregate = "mean"
    format: str | None = None
    context: bool = False
    documents: Path | None = None
    pool: str | None = None
    limit: int | None = None
    seed: int = 0
    out: Path | None = None
    json: bool = False

    def named(self) -> Named:
        """Build the scorer that the options name. Raises: InputError, ModelError."""
        choice, counters = self.scoring, list[CountingEntailment]()

        def counting(judge: EntailmentModel) -> CountingEntailment:
            counters.append(CountingEntailment(judge))
            return counters[0]

        named = {"scorer": choice.scorer, "entailment": choice.judge, "splitter": self.splitter, **choice.settings}
        return Named(choice.scorer, choice.load(counting), next(iter(counters), None), named)

    def claims(self, paths: Sequence[Path]) -> list[Example]:
        """Read a sample of the claims of these files, pooled as one data set on request. Raises: InputError."""
        examples: list[Example] = []
        for path in paths:
            loaded = load(path, self.format, self.documents)
            twice = {example.dataset for example in examples} & {example.dataset for example in loaded}
            if twice:
                raise InputError(f"two files hold a data set named {min(twice)!r}; rename one")
            examples += sample_each(loaded, self.limit, self.seed)
        if not examples:
            raise InputError(f"there are no claims in {', '.join(map(str, paths))}")
        if self.pool is not None:
            examples = [replace(each, dataset=self.pool, id=f"{each.dataset}/{each.id}") for each in examples]
        return [example.in_context() for example in examples] if self.context else examples

    def answers(self, paths: Sequence[Path], leave_out: Sequence[str]) -> list[MarkedAnswer]:
        """The whole answers of these files, sampled. Raises: InputError, for a file of single claims too."""
        answers = [answer for path in paths for answer in load_answers(path, self.format, self.documents, leave_out)]
        if not answers:
            raise InputError(f"there are no answers in {', '.join(map(str, paths))}")
        return sample_answers(answers, self.limit, self.seed)
