import csv
import json

import pytest
from tests.tables import json_lines

from groundrail.errors import InputError
from groundrail.evaluation.examples import parse_label
from groundrail.evaluation.loaders import load


@pytest.fixture
def jsonl(tmp_path):
    return lambda *rows: json_lines(tmp_path / "data.jsonl", rows)


@pytest.fixture
def table(tmp_path):
    def write(header, *rows, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        with path.open("w", newline="", encoding=encoding) as file:
            csv.writer(file).writerows([header.split(","), *rows])
        return path

    return write


def cited(example):
    texts = {document.id: document.text for document in example.source}
    return [[texts[span.document_id][span.start : span.end] for span in chosen] for chosen in example.evidence]


def read(examples, names):
    """These attributes of the examples, the texts of the source as "text"."""
    return [
        tuple("|".join(d.text for d in e.source) if name == "text" else getattr(e, name) for name in names.split())
        for e in examples
    ]


def test_true_csv(table):
    examples = load(table(",grounding,generated_text,label", [0, "A, b.\nC", "B?", 1], [1, "D", "", 0]))
    assert read(examples, "id dataset text claim label") == [
        ("0", "data", "A, b.\nC", "B?", 1.0),
        ("1", "data", "D", "", 0.0),
    ]


def test_csv_with_a_byte_order_mark_and_a_field_over_the_csv_limit(table):
    limit = csv.field_size_limit()
    long = "word " * (limit // 4)
    (example,) = load(table("grounding,generated_text,label", [long, "x", 1], encoding="utf-8-sig"))
    assert example.source[0].text == long
    assert csv.field_size_limit() == limit


def test_q2_layouts(table):
    for kind, label in (("inconsistent", 0.0), ("consistent", 1.0)):
        one = load(table(",knowledge,gold,response", [3, "K", "G", "R"], name=f"memnet_{kind}.csv"))
        assert read(one, "id claim label") == [("3", "R", label)]
    header = ",knowledge,gold,a_response,b_response,a_label,b_label"
    both = load(table(header, [7, "K", "G", "RA", "RB", 0, 1]))  # 1 marks what is not consistent
    assert read(both, "id claim label system group") == [("7-a", "RA", 1.0, "a", "7"), ("7-b", "RB", 0.0, "b", "7")]


@pytest.mark.parametrize(
    ("rows", "names", "expected"),
    [
        (
            [{"premise": "P", "hypothesis": "H", "label": "yes", "id": "x"}, {"premise": "P", "hypothesis": "H"}],
            "id text claim label kind system",
            [("x", "P", "H", 1.0, None, None), ("2", "P", "H", None, None, None)],
        ),
        (
            [{"premise": "P", "hypothesis": "H", "label": 0.25, "kind": "EntE", "system": "BART"}],
            "label kind system",
            [(0.25, "EntE", "BART")],
        ),
        (
            [{"document": "D.", "claim": "C.", "label": 0, "dataset": "polytope", "cut": "val", "error_type": "e"}],
            "dataset label text claim kind",
            [("polytope-val", 0.0, "D.", "C.", "e")],
        ),
        (
            [{"dataset": "RAGTruth", "doc": "D.", "claim": "C.", "label": 1, "contamination_identifier": "x"}],
            "dataset text claim label",
            [("data-RAGTruth", "D.", "C.", 1.0)],
        ),
        (
            [
                {"claim": "C.", "references": ["A.", "B."], "src_dataset": "E", "id": "e1", "attribution_label": label}
                for label in ("attributable", "not attributable")
            ],
            "dataset id text claim label",
            [("data-E", "e1", "A.|B.", "C.", 1.0), ("data-E", "e1", "A.|B.", "C.", 0.0)],
        ),
    ],
)
def test_rows_of_one_claim(jsonl, tmp_path, rows, names, expected):
    import pyarrow
    from pyarrow import parquet

    examples = load(jsonl(*rows))
    assert read(examples, names) == expected
    (tmp_path / "data.json").write_text(json.dumps(rows))
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "data.parquet")
    assert load(tmp_path / "data.json") == load(tmp_path / "data.parquet") == examples


@pytest.mark.parametrize(
    ("word", "number"),
    [("supported", 1), ("Partially Supported", 0.5), ("not-supported", 0), ("1", 1), (True, 1), ("", None)],
)
def test_labels_as_people_write_them(word, number):
    assert parse_label(word) == number


def test_wice_keeps_alternative_evidence_sets(jsonl):
    row = {"claim": "C", "label": "partially_supported", "evidence": ["One.", "Two.", "Three."], "meta": {"id": "dev1"}}
    (example,) = load(jsonl({**row, "supporting_sentences": [[0, 2], [1], []]}))
    assert (example.id, example.label) == ("dev1", 0.5)
    assert cited(example) == [["One.", "Three."], ["Two."]]


def test_long_documents_keep_offsets_and_questions(jsonl):
    claims = [
        {"prompt": "9", "text": "It worked.", "label": 1, "evidence": [[6, 22]], "kind": "copied"},
        {"prompt": "9", "text": "It failed.", "label": 0, "evidence": []},
    ]
    examples = load(jsonl({"id": "P1", "text": "Aim.\r\nThe drug worked. End.", "claims": claims}))
    assert read(examples, "group question kind") == [("P1/9", "9", "copied"), ("P1/9", "9", None)]
    assert cited(examples[0]) == [["The drug worked."]]
    assert examples[1].evidence is None


def test_meetings(jsonl):
    row = {
        "meeting_transcripts": [{"speaker": "A", "content": "Hello."}, {"speaker": "B", "content": "No."}],
        "specific_query_list": [{"query": "Q", "answer": "B refuses.", "relevant_text_span": [["1", "1"]]}],
        "general_query_list": [{"query": "Q", "answer": "They met."}],
    }
    specific, general = load(jsonl(row))
    assert specific.source[0].text == "A: Hello.\nB: No."
    assert cited(specific) == [["B: No."]]
    assert general.evidence is None


def test_screeneval_is_read_as_the_authors_read_it_for_each_table(tmp_path):
    path = tmp_path / "screen_eval.json"
    columns = {
        "original_convo": {"0": "A: x\nB: y", "1": "C: z"},
        "inferred_summary": {"0": "Y.", "1": "Z."},
        "agg_label": {"0": True, "1": False},
        "rel_utt": {"0": [1], "1": []},
    }
    path.write_text(json.dumps(columns))
    first, second = load(path)
    assert read([first, second], "text claim label") == [("A: x\nB: y", "Y.", 1.0), ("C: z", "Z.", 0.0)]
    assert (cited(first), second.evidence) == ([["B: y"]], None)
    path.write_text(json.dumps({**columns, "convo": {"0": ["x", "y", "z"]}}))
    assert read(load(path), "text evidence") == [("x\ny\nz", None)]
    assert load(path, "screeneval-utterances") == [first, second]


FRANK = {"hash": "h1", "model_name": "bart", "article": "A.", "summary": "S.", "reference": "R.", "split": "test"}


def test_frank_is_its_summaries_with_the_graded_judgements_beside_them(tmp_path):
    path = tmp_path / "benchmark_data.json"
    path.write_text(json.dumps([FRANK, {**FRANK, "model_name": "pgn"}]))
    with pytest.raises(InputError, match=r"put FRANK's human_annotations.json beside"):
        load(path)
    judged = [{"hash": "h1", "model_name": name, "Factuality": 0.5 if name == "pgn" else 1} for name in ("pgn", "bart")]
    (tmp_path / "human_annotations.json").write_text(json.dumps(judged))
    expected = [("frank-test", 1.0, "bart", "S."), ("frank-test", 0.5, "pgn", "S.")]
    assert read(load(path), "dataset label system claim") == expected


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        *((rows, "hash, model_name, Factuality; found") for rows in ("[{}]", '{"hash": 1}', '["h1"]')),
        ('[{"hash": "h1", "model_name": "bart"}]', "hash, model_name, Factuality; found hash, model_name"),
        ("[]", "no judgement of 'h1' by 'bart'"),
    ],
)
def test_frank_says_what_is_missing_in_its_judgements(tmp_path, rows, message):
    path = tmp_path / "benchmark_data.json"
    path.write_text(json.dumps([FRANK]))
    (tmp_path / "human_annotations.json").write_text(rows)
    with pytest.raises(InputError, match=message):
        load(path)


def test_aggrefact_and_diversumm_are_told_apart_by_their_columns(table):
    both = load(table("dataset,origin,id,doc,summary,model_name,label,cut", "CLIFF xsum 7 D. S. BART 1 test".split()))
    assert read(both, "dataset label system") == [("xsum-CLIFF-test", 1.0, "BART")]
    origin = load(table("origin,id,doc,summary,model_name,label", "arXiv 7 D. S. BART 0".split()))
    assert read(origin, "dataset label claim") == [("arXiv", 0.0, "S.")]


@pytest.mark.parametrize("by_id", [False, True])
def test_factual_ablation_gives_every_target_both_sources(tmp_path, by_id):
    record = {"context": "On", "target": "T.", "new_target": "U.", "source": "S", "new_source": "V"}
    path = tmp_path / "ablation.jsonl"
    path.write_text(json.dumps({"7": record} if by_id else record))
    examples = load(path)
    expected = [("S", "T.", 1.0, "On"), ("V", "T.", 0.0, "On"), ("V", "U.", 1.0, "On"), ("S", "U.", 0.0, "On")]
    assert read(examples, "text claim label context") == expected
    first, second, third, fourth = (example.group for example in examples)
    assert first == second != third == fourth
    assert read([example.in_context() for example in examples[:2]], "text") == [("S\n\nOn",), ("V\n\nOn",)]
    assert examples[0].in_context().in_context() == examples[0].in_context()
    path.write_text(json.dumps({**record, "new_target": 3}))
    with pytest.raises(InputError, match="line 1, field 'new_target'"):
        load(path)


def test_challenge_finds_its_documents(jsonl, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lease.txt").write_text("The rent is 900. The pets stay out.")
    row = {"pair": "l1", "document": "lease.txt", "split": "dev", "label": 1, "kind": "paraphrase", "claim": "No pets."}
    said = {"id": "l1a", "evidence": "The pets stay out.", "also": ["The rent is 900."]}
    path = jsonl({**row, **said}, {**row, "id": "l1b", "label": 0, "split": "test"})
    first, second = load(path, documents=tmp_path / "docs")
    assert read([first], "id dataset group kind") == [("l1a", "data-dev", "l1", "paraphrase")]
    assert cited(first) == [["The pets stay out.", "The rent is 900."]]
    assert read([second], "dataset evidence label") == [("data-test", None, 0.0)]
    with pytest.raises(InputError, match=r"line 1, field 'document'.*lease\.txt"):
        load(path)


@pytest.mark.parametrize(
    ("bad", "field", "expected"),
    [
        ({"premise": "P", "hypothesis": "H", "label": "maybe"}, "label", "entailment"),
        ({"premise": "P", "hypothesis": "H", "label": 7}, "label", "from 0 to 1"),
        ({"premise": 3, "hypothesis": "H"}, "premise", "string"),
        ({"premise": "P"}, "hypothesis", "missing"),
    ],
)
def test_a_bad_row_is_named_by_line_and_field(jsonl, bad, field, expected):
    path = jsonl({"premise": "P", "hypothesis": "H", "label": 1}, bad)
    with pytest.raises(InputError, match=f"line 2, field {field!r}.*{expected}"):
        load(path)


def test_evidence_outside_the_source_is_refused(jsonl):
    wice = {"claim": "C", "label": "supported", "evidence": ["One."], "supporting_sentences": [[1]]}
    with pytest.raises(InputError, match="'supporting_sentences': expected numbers from 0 to 0, not 1"):
        load(jsonl(wice))
    long = {"id": "P", "text": "abc", "claims": [{"text": "C", "evidence": [[0, 9]]}]}
    with pytest.raises(InputError, match=r"'claims\.0\.evidence'.*3 characters"):
        load(jsonl(long))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (["a", "b", "perhaps"], "line 3, field 'label'"),
        (["a", "b", 1, 2], "line 3: more fields"),
        (["a", "b"], "line 3, field 'label': expected a value"),
    ],
)
def test_a_bad_csv_row_is_named_by_line(table, row, message):
    with pytest.raises(InputError, match=message):
        load(table("grounding,generated_text,label", ["a", "b", 1], row))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "at least one row"),
        (b'{"a": 1}\n', "fit no known format"),
        (b"a,b\n1,2\n", "fit no known format"),
        (b'{"premise": "P", "hypothesis": "H"}\n{"premise": \n', "line 2: expected a JSON object"),
        (b'{"premise": "P", "hypothesis": "H"}\n[1]\n', "line 2: expected a JSON object, not list"),
        (b'[{"premise": "P"}]', "fields premise fit no known format of claims. Known: .*pairs: hypothesis, premise"),
        (b"grounding\xff", "expected UTF-8, byte 9"),
        (b"[1]", "item 1: expected a JSON object, not int"),
    ],
)
def test_a_file_that_is_something_else_is_refused(tmp_path, content, message):
    path = tmp_path / "data"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        load(path)


def test_a_file_that_is_not_there_and_a_format_that_does_not_exist(tmp_path, jsonl):
    with pytest.raises(InputError, match="cannot be read"):
        load(tmp_path / "nowhere.csv")
    path = jsonl({"premise": "P", "hypothesis": "H"})
    for name, message in (("parquet", "there are true"), ("true", "expected CSV"), ("long", "field 'claims': missing")):
        with pytest.raises(InputError, match=message):
            load(path, name)
