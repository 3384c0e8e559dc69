"""A result as one self-contained HTML page: kept, struck out and replaced sentences with their citations.

Everything that came from a model, a user or a document is escaped; the page loads nothing.
"""

from html import escape

from groundrail.types import CheckedSentence, GuardResult, Verdict

_STYLE = """
:root { color-scheme: light dark; --good: #1a7f4b; --bad: #b3261e; --quiet: #6b7280; --line: #8884; }
body { font: 17px/1.65 system-ui, sans-serif; max-width: 46rem; margin: 3rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.15rem; margin-bottom: .25rem; } .sum { color: var(--quiet); margin-top: 0; font-size: .9rem; }
.answer { white-space: pre-wrap; border-left: 3px solid var(--line); padding-left: 1.1rem; }
.supported { text-decoration: underline 2px var(--good); text-underline-offset: 4px; }
del { color: var(--bad); } .flagged { background: #b3261e22; } .replaced { font-style: italic; }
sup a { color: var(--good); text-decoration: none; font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-size: .88rem; margin-top: 2rem; }
th, td { text-align: left; vertical-align: top; padding: .45rem .6rem; border-bottom: 1px solid var(--line); }
td.v { white-space: nowrap; font-weight: 600; } .v-supported { color: var(--good); }
.v-unsupported, .v-error, .v-timeout, .v-no_source { color: var(--bad); } .v-no_claim { color: var(--quiet); }
blockquote { margin: 0; } .where, .why { color: var(--quiet); } li { margin-bottom: .6rem; }
""".strip()


def render(result: GuardResult) -> str:
    """The whole page as text."""
    numbers = {(c.document_id, c.start, c.end): n for n, c in enumerate(result.citations, start=1)}
    released = sum(bool(s.released_text) for s in result.sentences)
    summary = f"{len(result.sentences)} sentences checked, {released} released, threshold {result.threshold:.2f}"
    answer = "".join(_shown(sentence, numbers) for sentence in result.sentences)
    rows = "\n".join(_row(sentence) for sentence in result.sentences)
    sources = "\n".join(
        f'<li id="c{n}"><blockquote><bdi>{escape(" ".join(c.text.split()))}</bdi></blockquote>'
        f'<span class="where">{escape(c.document_id)}, characters {c.start}–{c.end}</span></li>'
        for n, c in enumerate(result.citations, start=1)
    )
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>groundrail report</title>\n<style>\n{_STYLE}\n</style>\n</head>\n<body>\n"
        f'<h1>Checked answer</h1>\n<p class="sum">{escape(summary)}</p>\n<p class="answer">{answer}</p>\n'
        + (f"<h1>Sources</h1>\n<ol>\n{sources}\n</ol>\n" if sources else "")
        + "<table>\n<thead><tr><th>Verdict</th><th>Score</th><th>Sentence</th></tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table>\n</body>\n</html>\n"
    )


def _shown(sentence: CheckedSentence, numbers: dict[tuple[str, int, int], int]) -> str:
    bare = sentence.text.rstrip()
    written = f"<bdi>{escape(bare)}</bdi>"  # so that it cannot turn the direction of what follows
    gap = escape(sentence.text[len(bare) :])
    if sentence.replacement is not None:
        return f'<del>{written}</del> <span class="replaced">{escape(sentence.replacement)}</span>{gap}'
    if not sentence.released:
        return f'<del title="{escape(sentence.reason or "")}">{written}</del>{gap}'
    links = "".join(
        f'<a href="#c{n}">[{n}]</a>' for c in sentence.citations if (n := numbers[(c.document_id, c.start, c.end)])
    )
    kind = {Verdict.SUPPORTED: "supported", Verdict.NO_CLAIM: "quiet"}.get(sentence.verdict, "flagged")
    return f'<span class="{kind}">{written}</span>{f"<sup>{links}</sup>" if links else ""}{gap}'


def _row(sentence: CheckedSentence) -> str:
    score = "" if sentence.score is None else f"{sentence.score:.2f}"
    tried = [f"<del><bdi>{escape(a.text.strip())}</bdi></del>" for a in sentence.attempts[:-1]]
    text = "<br>".join([*tried, f"<bdi>{escape(sentence.text.strip())}</bdi>"])
    why = f'<div class="why">{escape(sentence.reason)}</div>' if sentence.reason else ""
    verdict = sentence.verdict.value
    return f'<tr><td class="v v-{verdict}">{verdict.replace("_", " ")}</td><td>{score}</td><td>{text}{why}</td></tr>'
