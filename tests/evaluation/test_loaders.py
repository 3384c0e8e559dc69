import csv
import json

import pytest

from groundrail.errors import InputError
from groundrail.evaluation.examples import parse_label
from groundrail.evaluation.loaders import load


@pytest.fixture
def jsonl(tmp_path):
    def write(*rows, name="data.jsonl"):
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write


@pytest.fixture
def table(tmp_path):
    def write(header, *rows, name="data.csv", encoding="utf-8"):
        path = tmp_path / name
        with path.open("w", newline="", encoding=encoding) as file:
            csv.writer(file).writerows([header, *rows])
        return path

    return write


def cited(example):
    texts = {document.id: document.text for document in example.source}
    return [[texts[span.document_id][span.start : span.end] for span in chosen] for chosen in example.evidence]


def test_true_csv(table):
    path = table(["", "grounding", "generated_text", "label"], [0, "A, b.\nC", "B?", 1], [1, "D", "", 0])
    first, second = load(path)
    assert (first.id, first.dataset, first.claim, first.label) == ("0", "data", "B?", 1.0)
    assert first.source[0].text == "A, b.\nC"
    assert (second.claim, second.label) == ("", 0.0)


def test_csv_with_a_byte_order_mark_and_a_field_over_the_csv_limit(table):
    limit = csv.field_size_limit()
    long = "word " * (limit // 4)
    (example,) = load(table(["grounding", "generated_text", "label"], [long, "x", 1], encoding="utf-8-sig"))
    assert example.source[0].text == long
    assert csv.field_size_limit() == limit


def test_q2_layouts(table):
    one = table(["", "knowledge", "gold", "response"], [3, "K", "G", "R"], name="memnet_inconsistent.csv")
    assert [(e.id, e.claim, e.label) for e in load(one)] == [("3", "R", 0.0)]
    one = table(["", "knowledge", "gold", "response"], [3, "K", "G", "R"], name="memnet_consistent.csv")
    assert [e.label for e in load(one)] == [1.0]
    header = ["", "knowledge", "gold", "a_response", "b_response", "a_label", "b_label"]
    both = load(table(header, [7, "K", "G", "RA", "RB", 0, 1]))  # 1 marks what is not consistent
    assert [(e.id, e.claim, e.label) for e in both] == [("7-a", "RA", 1.0), ("7-b", "RB", 0.0)]
    assert [(e.system, e.group) for e in both] == [("a", "7"), ("b", "7")]


def test_pairs(jsonl):
    rows = [
        {"premise": "P", "hypothesis": "H", "label": "entailment"},
        {"premise": "P", "hypothesis": "H", "label": "not_entailment", "id": "x"},
        {"premise": "P", "hypothesis": "H", "label": 0.25},
        {"premise": "P", "hypothesis": "H", "kind": "EntE", "system": "BART"},
    ]
    examples = load(jsonl(*rows))
    assert [(e.kind, e.system) for e in examples] == [(None, None)] * 3 + [("EntE", "BART")]
    assert [e.label for e in examples] == [1.0, 0.0, 0.25, None]
    assert [e.id for e in examples] == ["1", "x", "3", "4"]


@pytest.mark.parametrize(
    ("word", "number"),
    [("supported", 1), ("Partially Supported", 0.5), ("not-supported", 0), ("1", 1), (True, 1), ("", None)],
)
def test_labels_as_people_write_them(word, number):
    assert parse_label(word) == number


def test_wice_keeps_alternative_evidence_sets(jsonl):
    row = {
        "claim": "C",
        "label": "partially_supported",
        "evidence": ["One.", "Two.", "Three."],
        "supporting_sentences": [[0, 2], [1], []],
        "meta": {"id": "dev1"},
    }
    (example,) = load(jsonl(row))
    assert (example.id, example.label) == ("dev1", 0.5)
    assert cited(example) == [["One.", "Three."], ["Two."]]


def test_long_documents_keep_offsets_and_prompts(jsonl):
    text = "Aim.\r\nThe drug worked. End."
    row = {
        "id": "P1",
        "text": text,
        "claims": [
            {"prompt": "9", "text": "It worked.", "label": 1, "evidence": [[6, 22]], "kind": "copied"},
            {"prompt": "9", "text": "It failed.", "label": 0, "evidence": []},
        ],
    }
    true, wrong = load(jsonl(row))
    assert cited(true) == [["The drug worked."]]
    assert wrong.evidence is None
    assert true.group == wrong.group == "P1/9"
    assert true.prompt == wrong.prompt == "9"
    assert (true.kind, wrong.kind) == ("copied", None)


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


def test_screeneval(tmp_path):
    path = tmp_path / "screen_eval.json"
    columns = {
        "original_convo": {"0": "A: x\nB: y", "1": "C: z"},
        "inferred_summary": {"0": "Y.", "1": "Z."},
        "agg_label": {"0": True, "1": False},
        "rel_utt": {"0": [1], "1": []},
    }
    path.write_text(json.dumps(columns))
    first, second = load(path)
    assert (first.claim, first.label, cited(first)) == ("Y.", 1.0, [["B: y"]])
    assert (second.label, second.evidence) == (0.0, None)


def test_screeneval_is_read_as_the_authors_read_it_for_each_table(tmp_path):
    path = tmp_path / "screen_eval.json"
    columns = {
        "original_convo": {"0": "A: x\nB: y"},
        "convo": {"0": ["x", "y", "z"]},
        "inferred_summary": {"0": "Y."},
        "agg_label": {"0": True},
        "rel_utt": {"0": [1]},
    }
    path.write_text(json.dumps(columns))
    (scored,) = load(path)
    (searched,) = load(path, "screeneval-utterances")
    assert (scored.source[0].text, scored.evidence) == ("x\ny\nz", None)
    assert (searched.source[0].text, cited(searched)) == ("A: x\nB: y", [["B: y"]])


FRANK = {"hash": "h1", "model_name": "bart", "article": "A.", "summary": "S.", "reference": "R.", "split": "test"}


def test_frank_is_its_summaries_with_the_graded_judgements_beside_them(tmp_path):
    path = tmp_path / "benchmark_data.json"
    path.write_text(json.dumps([FRANK, {**FRANK, "model_name": "pgn"}]))
    with pytest.raises(InputError, match=r"put FRANK's human_annotations.json beside"):
        load(path)
    judged = [{"hash": "h1", "model_name": name, "Factuality": 0.5 if name == "pgn" else 1} for name in ("pgn", "bart")]
    labels = tmp_path / "human_annotations.json"
    labels.write_text(json.dumps(judged))
    first, second = load(path)
    assert (first.dataset, first.label, first.system, first.claim) == ("frank-test", 1.0, "bart", "S.")
    assert (second.label, second.system) == (0.5, "pgn")


@pytest.mark.parametrize("rows", ["[{}]", '[{"hash": "h1", "model_name": "bart"}]', '{"hash": 1}', '["h1"]'])
def test_frank_says_which_fields_of_its_judgements_were_looked_for(tmp_path, rows):
    path = tmp_path / "benchmark_data.json"
    path.write_text(json.dumps([FRANK]))
    (tmp_path / "human_annotations.json").write_text(rows)
    with pytest.raises(InputError, match="hash, model_name, Factuality; found"):
        load(path)


def test_frank_without_a_summarys_judgement(tmp_path):
    path = tmp_path / "benchmark_data.json"
    path.write_text(json.dumps([FRANK]))
    (tmp_path / "human_annotations.json").write_text("[]")
    with pytest.raises(InputError, match="no judgement of 'h1' by 'bart'"):
        load(path)


def test_summac_names_its_sets(tmp_path):
    path = tmp_path / "summac.json"
    row = {"document": "D.", "claim": "C.", "label": 0, "dataset": "polytope", "cut": "val", "annotations": [0]}
    path.write_text(json.dumps([row, {**row, "label": 1, "dataset": "factcc", "cut": "test"}]))
    assert [(e.dataset, e.label, e.source[0].text) for e in load(path)] == [
        ("polytope-val", 0.0, "D."),
        ("factcc-test", 1.0, "D."),
    ]


def test_aggrefact_and_diversumm_are_told_apart_by_their_columns(tmp_path):
    path = tmp_path / "aggre_fact_final.csv"
    path.write_text("dataset,origin,id,doc,summary,model_name,label,cut\nCLIFF,xsum,7,D.,S.,BART,1,test\n")
    (example,) = load(path)
    assert (example.dataset, example.label, example.system) == ("xsum-CLIFF-test", 1.0, "BART")
    path = tmp_path / "DiverSumm.csv"
    path.write_text("origin,id,doc,summary,model_name,label\narXiv,7,D.,S.,BART,0\n")
    (example,) = load(path)
    assert (example.dataset, example.label, example.claim) == ("arXiv", 0.0, "S.")


def test_a_list_holds_objects(tmp_path):
    path = tmp_path / "list.json"
    path.write_text("[1]")
    with pytest.raises(InputError, match="item 1: expected a JSON object, not int"):
        load(path)


@pytest.mark.parametrize("by_id", [False, True])
def test_factual_ablation_gives_every_target_both_sources(tmp_path, by_id):
    record = {"context": "On", "target": "T.", "new_target": "U.", "source": "S", "new_source": "V"}
    path = tmp_path / "ablation.jsonl"
    path.write_text(json.dumps({"7": record} if by_id else record))
    examples = load(path)
    read = [(example.source[0].text, example.claim, example.label) for example in examples]
    assert read == [("S", "T.", 1.0), ("V", "T.", 0.0), ("V", "U.", 1.0), ("S", "U.", 0.0)]
    first, second, third, fourth = (example.group for example in examples)
    assert first == second != third == fourth
    assert {example.context for example in examples} == {"On"}
    assert [example.in_context().source[0].text for example in examples[:2]] == ["S\n\nOn", "V\n\nOn"]
    assert examples[0].in_context().in_context() == examples[0].in_context()
    path.write_text(json.dumps({**record, "new_target": 3}))
    with pytest.raises(InputError, match="line 1, field 'new_target'"):
        load(path)


def test_challenge_finds_its_documents(jsonl, tmp_path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "lease.txt").write_text("The rent is 900. The pets stay out.")
    row = {
        "id": "l1a",
        "pair": "l1",
        "document": "lease.txt",
        "split": "dev",
        "label": 1,
        "kind": "paraphrase",
        "claim": "No pets for 900.",
        "evidence": "The pets stay out.",
        "also": ["The rent is 900."],
    }
    path = jsonl(row, {**row, "id": "l1b", "label": 0, "split": "test", "evidence": None, "also": []})
    first, second = load(path, documents=tmp_path / "docs")
    assert (first.dataset, first.group, first.kind) == ("data-dev", "l1", "paraphrase")
    assert cited(first) == [["The pets stay out.", "The rent is 900."]]
    assert (second.dataset, second.evidence) == ("data-test", None)
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
    with pytest.raises(InputError) as caught:
        load(path)
    message = str(caught.value)
    assert "line 2" in message
    assert repr(field) in message
    assert expected in message


def test_evidence_outside_the_source_is_refused(jsonl):
    wice = {"claim": "C", "label": "supported", "evidence": ["One."], "supporting_sentences": [[1]]}
    with pytest.raises(InputError, match="'supporting_sentences': expected numbers from 0 to 0, not 1"):
        load(jsonl(wice))
    long = {"id": "P", "text": "abc", "claims": [{"text": "C", "evidence": [[0, 9]]}]}
    with pytest.raises(InputError, match=r"'claims\.0\.evidence'.*3 characters"):
        load(jsonl(long))


def test_a_bad_csv_row_is_named_by_line(table):
    with pytest.raises(InputError, match="line 3, field 'label'"):
        load(table(["grounding", "generated_text", "label"], ["a", "b", 1], ["a", "b", "perhaps"]))
    with pytest.raises(InputError, match="line 2: more fields"):
        load(table(["grounding", "generated_text", "label"], ["a", "b", 1, 2]))
    with pytest.raises(InputError, match="line 2, field 'label': expected a value"):
        load(table(["grounding", "generated_text", "label"], ["a", "b"]))


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
    with pytest.raises(InputError, match="there are true"):
        load(path, "parquet")
    with pytest.raises(InputError, match="expected CSV"):
        load(path, "true")
    with pytest.raises(InputError, match="field 'claims': missing"):
        load(path, "long")
