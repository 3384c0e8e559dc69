"""Contrasts are written from a grammar: each family agrees with itself, and held-out words stay out of training."""

import doctest
import json
import re
from collections import Counter, defaultdict
from itertools import islice
from pathlib import Path

import contrasts.grammar
import contrasts.words
import contrasts.write
import pytest
from contrasts.grammar import SLOT, GrammarError, lexicon, only_source, read
from contrasts.texts import fillers
from contrasts.write import HERE, author, cut

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "contrasts" / "contrasts.jsonl"
GOOD = """
[bounds]
slots = { n = "3-40", m = "3-40" }
frames = ["the lift carries {}", "* a raft holds {}"]
swap = ["n m"]
[bounds.says]
most = ["at most {n person}", "up to {n person}"]
least = ["at least {n person}", "no fewer than {n person}"]
[bounds.if]
most = { not = "least" }
least = { not = "most" }
"""


@pytest.fixture(scope="module")
def families():
    return {family.name: family for family in read(HERE)}


@pytest.fixture(scope="module")
def trained():
    return list(author(1, False).texts(500, 1))


@pytest.fixture(scope="module")
def held_out():
    return list(author(1, True).texts(200, 1))


def told(rows):
    """The words of a file that come from the grammar: claims, and the places of facts in texts."""
    for row in rows:
        for claim in row["claims"]:
            yield claim["text"]
            yield from (row["text"][start:end] for start, end in claim["evidence"])


def pattern(text, told):
    """A pattern for the words of a form or frame, with anything in its slots.

    None if it has too few words of its own, or if some of them are not told at all.
    """
    own = SLOT.sub("\n", text.replace("{}", "\n")).lower()
    if len(re.findall(r"\w{3,}", own)) < 2 or not all(part.strip() in told for part in own.split("\n")):
        return None
    parts = SLOT.split(text.replace("{}", "{any}"))[::4]
    return re.compile(r"\b" + r"[\w ,.'’€&:-]+?".join(map(re.escape, parts)).strip() + r"\b", re.IGNORECASE)


@pytest.mark.parametrize("module", [contrasts.grammar, contrasts.words])
def test_examples_in_docstrings_hold(module) -> None:
    assert doctest.testmod(module).failed == 0


def test_families_are_many_and_ten_are_held_out(families) -> None:
    assert len(families) >= 60
    assert sum(family.held_out for family in families.values()) == 10


def test_each_family_agrees_with_itself(families) -> None:
    """No claim is both true and false of a source, with the frame and every exchange written out."""
    for family in families.values():
        for source in family.sources:
            for frame in family.frames:
                labels = defaultdict(set)
                for claim in family.claims(source, frame):
                    labels[claim.text].add(claim.label == "entailment")
                assert all(len(some) == 1 for some in labels.values()), (family.name, source)


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("{n person}", "{k person}", "unknown slot {k}"),
        ('["n m"]', '["n m"]\nsources = "most"', "a claim 'least' is never true"),
        ('not = "least"', 'not = "fewest"', "names 'fewest', which is no meaning"),
        ('not = "least"', 'not = "least most"', "names 'most' twice"),
        ("at least {n person}", "at most {n person}", "makes .* true and false"),
        ('"3-40", m', '"three", m', "the slot n has an unknown kind 'three'"),
        ("carries {}", "carries it", "has no {} for the form"),
        ("* a raft", "a raft", "holds nothing out"),
        ('["n m"]', '["n"]', "exchanges pairs of slots, not 'n'"),
        ('["n m"]', '["n k"]', "unknown slot k"),
        ("swap =", "swops =", "unknown key swops"),
        ("{n person}", "{N person}", "has a slot that cannot be read"),
        ("[bounds.says]", "[bounds.say]", "unknown key say"),
        ('["at most {n person}", "up to {n person}"]', '["{n} and {m} are most"]', "as true with n and m exchanged"),
    ],
)
def test_a_fault_names_file_and_family(old, new, fault, tmp_path) -> None:
    (tmp_path / "lexicon.toml").write_text('town = "Orsova"\n', encoding="utf-8")
    file = tmp_path / "numbers.toml"
    file.write_text(GOOD, encoding="utf-8")
    assert len(read(tmp_path)) == 1
    text = GOOD.replace(old, new)
    if "{n} and {m}" in new:
        text = text.replace('n = "3-40", m = "3-40"', 'n = "town", m = "town"').replace("{n person}", "{n} and {m}")
    file.write_text(text, encoding="utf-8")
    with pytest.raises(GrammarError, match=rf"^numbers\.toml, family bounds: .*{fault}"):
        read(tmp_path)


def test_equal_seeds_give_equal_texts_and_others_do_not() -> None:
    first, again, other = (list(author(seed, False).texts(40, 0)) for seed in (3, 3, 4))
    assert first == again
    assert [row["text"] for row in first] != [row["text"] for row in other]


def test_every_span_of_evidence_holds_its_fact() -> None:
    writer = author(2, False)
    for _ in range(25):
        for layout in ("prose", "documents", "bullets", "table", "faq", "titled"):
            facts = writer.facts(writer.teller.pool(True), layout)
            made = getattr(writer, layout)(facts)
            for fact in facts:
                spans = [made.text[start:end] for start, end in made.spans[id(fact)]]
                assert len(spans) == len(fact.sentences)
                for said in fact.sentences:
                    ending = " ".join(said.split()[-2:])
                    assert any(ending in " ".join(span.split()) for span in spans), (said, spans)


def test_text_and_claims_are_spelled_as_sentences(trained, held_out) -> None:
    for words in told([*trained, *held_out]):
        assert not re.search(r"[{}]|  |\.\.|//| ,|\ba [aeio](?!ne|u)|\ban [b-df-gj-np-tv-z]", words.lower()), words
        assert words[0] == words[0].upper()
        assert "\n" in words or words.endswith((".", '."')), words


def test_labels_are_balanced_and_no_form_gives_its_label_away() -> None:
    writer = author(5, False)
    claims = [claim for row in writer.texts(1500, 5) for claim in row["claims"]]
    assert 0.45 < sum(claim["label"] == "entailment" for claim in claims) / len(claims) < 0.55
    counts: dict[tuple[str, ...], Counter[bool]] = defaultdict(Counter)
    for (*key, true), number in writer.teller.balance.counts.items():
        counts[tuple(key)][true] += number
    tilted = {
        key: some for key, some in counts.items() if some.total() >= 40 and not 0.25 <= some[True] / some.total() <= 0.75
    }
    assert not tilted


def test_held_out_words_are_never_trained_on(families, trained, held_out) -> None:
    told_in_training = "\n".join(set(told(trained))).lower()
    kinds = {claim["kind"] for row in trained for claim in row["claims"]}
    assert not kinds & {family.name for family in families.values() if family.held_out}
    for family in families.values():
        if family.held_out:
            continue
        held = [form.text for forms in family.meanings.values() for form in forms if form.held_out]
        held += [form.text for name in family.held_meanings for form in family.meanings[name]]
        held += [text for frame in family.frames if frame.held_out for text in (frame.sentence, *frame.values.values())]
        for found in filter(None, (pattern(text, told_in_training) for text in held)):
            assert not found.search(told_in_training), (family.name, found.pattern)
    assert {claim["kind"] for row in held_out for claim in row["claims"]} > {
        family.name for family in families.values() if family.held_out
    }


def test_first_two_forms_are_trained_on_and_some_words_are_held_out(families) -> None:
    for family in families.values():
        for forms in family.meanings.values():
            assert family.held_out or not any(form.held_out for form in forms[:2]), family.name
            assert len({form.text for form in forms}) == len(forms), family.name
            assert not all(only_source(form.text) and form.held_out for form in forms)


def test_benchmark_is_written_from_held_out_words_in_pairs() -> None:
    rows = [json.loads(line) for line in BENCHMARK.read_text(encoding="utf-8").splitlines()]
    assert rows == list(cut(author(2026, True, pairs=True).texts(2000, 2026), 1500))
    claims = [claim for row in rows for claim in row["claims"]]
    assert len(claims) == 1500
    assert 0.45 < sum(claim["trained"] for claim in claims) / 1500 < 0.55
    assert 0.45 < sum(len(row["claims"]) for row in rows if row["domain"] == "contrasts bare") / 1500 < 0.55
    for true, false in zip(claims[::2], claims[1::2], strict=True):
        assert true["pair"] == false["pair"]
        assert true["evidence"] == false["evidence"]
        assert (true["label"] == "entailment") != (false["label"] == "entailment")


def test_lexicon_and_other_sentences_can_be_drawn() -> None:
    assert all(len(set(some)) == len(some) for some in lexicon(HERE).values())
    assert all(islice(fillers(HERE.parent / "written"), 50))
