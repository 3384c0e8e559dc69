"""`load` picks the class by what the files say, and importing the package loads nothing."""

import pytest

from groundrail.entailment import CrossEncoderEntailment, Seq2SeqEntailment, load
from groundrail.errors import InputError, ModelError


def test_a_name_gets_the_class_its_architecture_needs(tiny_nli_folder, tiny_t5_folder) -> None:
    judge = load(str(tiny_nli_folder), threshold=0.7)
    assert isinstance(judge, CrossEncoderEntailment)
    assert judge.threshold == 0.7
    assert isinstance(load(str(tiny_t5_folder), device="cpu"), Seq2SeqEntailment)


def test_an_object_is_taken_as_it_is(tiny_nli, tiny_tokenizer) -> None:
    judge = CrossEncoderEntailment(tiny_nli, tiny_tokenizer)
    assert load(judge) is judge
    with pytest.raises(InputError, match="exists already"):
        load(judge, device="cpu")


@pytest.mark.parametrize("thing", [3, object(), lambda pairs: pairs])
def test_what_is_no_model_is_an_error(thing) -> None:
    with pytest.raises(InputError, match="no entailment model"):
        load(thing)


def test_a_model_of_another_kind_is_an_error(tiny_nli, tmp_path) -> None:
    tiny_nli.bert.save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="BertModel"):
        load(str(tmp_path))


def test_unknown_names_are_attribute_errors() -> None:
    import groundrail.entailment

    with pytest.raises(AttributeError, match="Nothing"):
        _ = groundrail.entailment.Nothing
    assert set(groundrail.entailment.__all__) <= set(dir(groundrail.entailment))
