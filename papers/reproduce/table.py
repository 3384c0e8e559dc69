"""`Table`, a table of a paper, and `Job`, the data and settings with which it is computed.

    figures = TABLES["scale-table5"].run(Job(TABLES["scale-table5"], Path("DIR")))

The tables are in `groundrail.papers.reproduce.tables`. The smoke rows in `smoke/` are hand-written, in the published formats.
"""

import fnmatch
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from groundrail.entailment import load as load_entailment
from groundrail.errors import InputError
from groundrail.evaluation.counting import CountingEntailment
from groundrail.evaluation.examples import Example
from groundrail.evaluation.loaders import load
from groundrail.evaluation.run import Result, evaluate
from groundrail.evaluation.sampling import sample_each
from groundrail.scoring.base import Scorer

Figures: TypeAlias = Mapping[str, Mapping[str, float]]
"""The measures of each row of a table."""

SMOKE = Path(__file__).parent / "smoke"
"""The folder of the bundled rows."""

BUILTIN = "built-in"
"""Name that stands for the built-in judge in settings."""


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper.

    files: patterns of the names of the data files.
    settings: the paper's settings; "model" is the paper's model.
    run: the function that computes the table.
    smoke: settings that replace the paper's for the bundled rows.
    figures: the figures that the paper prints, by model.
    """

    name: str
    title: str
    protocol: str
    files: Sequence[str]
    settings: Mapping[str, Any]
    run: Callable[["Job"], Figures]
    smoke: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, Figures] = field(default_factory=dict)


class Job:
    """The data and settings for one table, the judges that count their calls, and notes for the reader.

    Raises: InputError for a setting that the table does not have, or for a folder without the table's files.
    """

    def __init__(
        self,
        table: Table,
        data: Path | None = None,
        *,
        settings: Mapping[str, Any] | None = None,
        limit: int | None = None,
        out: Path | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Find the data files; without `data`, use the bundled rows and the built-in judge."""
        self.table, self.smoke = table, data is None
        self.data = SMOKE if data is None else data
        unknown = sorted((settings or {}).keys() - table.settings.keys())
        if unknown:
            known = ", ".join(table.settings)
            raise InputError(f"{table.name} has no setting {unknown[0]!r}; it has {known}")
        self.settings = {**table.settings, **(table.smoke if self.smoke else {}), **(settings or {})}
        self.limit, self.out, self.progress = limit, out, progress
        self.notes: list[str] = []
        self.judges: list[CountingEntailment] = []
        self.found = self._find()

    @property
    def calls(self) -> int:
        """Number of calls of the judge so far."""
        return sum(judge.calls for judge in self.judges)

    @property
    def pairs(self) -> int:
        """Number of pairs of premise and claim in these calls."""
        return sum(judge.pairs for judge in self.judges)

    def _find(self) -> list[Path]:
        wanted = ", ".join(self.table.files)
        if not self.data.is_dir():
            raise InputError(f"{self.data}: there is no such folder; --data names the one with {wanted}")
        names = sorted(path for path in self.data.rglob("*") if path.is_file())
        found = [path for path in names if any(fnmatch.fnmatch(path.name.lower(), p.lower()) for p in self.table.files)]
        if not found:
            seen = ", ".join(path.name for path in names[:8]) or "nothing"
            raise InputError(f"{self.table.name} looks for {wanted} in {self.data}, and found {seen}")
        return found

    def examples(self, pattern: str = "*", format: str | None = None) -> list[Example]:
        """Read the claims of the files that match `pattern`, at most `limit` claims of each data set."""
        paths = [path for path in self.found if fnmatch.fnmatch(path.name.lower(), pattern.lower())]
        return sample_each([example for path in paths for example in load(path, format)], self.limit)

    def judge(self, tokens: int | None = None) -> CountingEntailment:
        """Load the model that the settings name, with room for `tokens` tokens of premise, claim and question.

        Raises: InputError, before any weights are read, if the model reads fewer tokens.
        """
        name = self.settings["model"]
        if name == BUILTIN:
            model = load_entailment()
            if tokens is not None and model.max_tokens < tokens:
                if not self.smoke:
                    raise self._too_short("the built-in judge", model.max_tokens, tokens)
                self.notes.append(f"The built-in judge reads {model.max_tokens} tokens at once, the protocol {tokens}.")
        else:
            model = load_entailment(name, **({} if tokens is None else self._options(name, tokens)))
        self.judges.append(CountingEntailment(model))
        return self.judges[-1]

    def _options(self, name: str, tokens: int) -> dict[str, Any]:
        """The length, and the template if the model takes one. Raises: InputError for a model that reads too few tokens."""
        from groundrail.runtime.hub import load_config

        config = load_config(name, {})
        longest = getattr(config, "max_position_embeddings", None)  # missing for T5, whose positions are relative
        if isinstance(longest, int) and 0 < longest < tokens:
            raise self._too_short(name, longest, tokens)
        template = self.settings.get("template")
        return {"max_length": tokens} | ({"template": template} if template and config.is_encoder_decoder else {})

    def _too_short(self, name: str, longest: int, tokens: int) -> InputError:
        return InputError(
            f"{self.table.name} reads {tokens} tokens at once and {name} at most {longest}: name a model that reads more with "
            f"--model (the paper's is {self.table.settings['model']}), or ask for less with --set"
        )

    def evaluate(
        self,
        scorer: Scorer,
        examples: Sequence[Example],
        name: str,
        units: str | None = None,
        splitter: str | None = None,
    ) -> list[Result]:
        """Score claims; if there is a folder for results, a second run continues the file called `name`."""
        return evaluate(
            scorer,
            examples,
            results=None if self.out is None else self.out / f"{self.table.name}-{name}.jsonl",
            settings={key: str(value) for key, value in self.settings.items()},
            units=units,
            splitter=splitter,
            counter=self.judges[-1] if self.judges else None,
            progress=self.progress,
        )

    def theirs(self) -> Figures:
        """The paper's figures for the model in use, or else for the first model that has figures."""
        figures = self.table.figures
        return figures.get(self.settings["model"]) or next(iter(figures.values()), {})
