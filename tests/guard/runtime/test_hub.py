"""Judges, scorers and generators come in by one door: no code, no pickles, one error, and `hub` is passed on."""

import contextlib
import io
import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tests.decoding.conftest import letters
from tests.http_servers import QuietHandler, serving

from groundrail.decoding import HFGenerator
from groundrail.entailment import CrossEncoderEntailment, Seq2SeqEntailment, load
from groundrail.errors import InputError, ModelError
from groundrail.generators.smollm2 import SMOLLM2_FILE, smollm2
from groundrail.papers.gain import GainScorer
from groundrail.papers.q2.asking import Seq2SeqQuestions
from groundrail.runtime.hub import load_config
from groundrail.runtime.locks import LOADING
from groundrail.scoring import NearestScorer

Load = Callable[..., Any]
LOADERS: dict[str, tuple[str, Load]] = {
    "generator": ("causal", HFGenerator.from_pretrained),
    "gain": ("causal", lambda name, **hub: GainScorer.from_pretrained(name, hub=hub)),
    "cross-encoder": ("nli", CrossEncoderEntailment.from_pretrained),
    "judge": ("nli", load),
    "seq2seq": ("t5", Seq2SeqEntailment.from_pretrained),
    "questions": ("t5", lambda name, **hub: Seq2SeqQuestions.from_pretrained(name, hub=hub)),
}
REVISIONS = {"main": "a" * 40, "older": "b" * 40}


@pytest.fixture(params=list(LOADERS))
def loader(request: pytest.FixtureRequest) -> tuple[Path, Load]:
    """A folder with a model, and what loads it."""
    kind, function = LOADERS[request.param]
    name = {"causal": "causal_folder", "nli": "tiny_nli_folder", "t5": "tiny_t5_folder"}[kind]
    return request.getfixturevalue(name), function


@pytest.fixture
def copy(loader: tuple[Path, Load], tmp_path: Path) -> Path:
    """A copy of the folder that a test may change."""
    return Path(shutil.copytree(loader[0], tmp_path / "copy"))


def one_weight(model: torch.nn.Module) -> torch.Tensor:
    return next(weight for weight in model.state_dict().values() if weight.dim() == 2)


def test_code_from_the_hub_is_refused(loader: tuple[Path, Load]) -> None:
    folder, function = loader
    with pytest.raises(InputError, match="no code from the hub"):
        function(str(folder), trust_remote_code=True)
    assert function(str(folder), trust_remote_code=False)


def change(path: Path, **settings: Any) -> None:
    """Set values in a file of JSON."""
    path.write_text(json.dumps({**json.loads(path.read_text()), **settings}))


def test_code_beside_a_model_is_not_run_whatever_is_typed(loader, copy, tmp_path, monkeypatch) -> None:
    """Where transformers is not told, it asks on standard input whether to run it."""
    ran, typed = tmp_path / "ran", io.StringIO("y\n" * 9)
    (copy / "own.py").write_text(f"open({str(ran)!r}, 'w').close()")
    monkeypatch.setattr("sys.stdin", typed)
    heads = ("CausalLM", "SequenceClassification", "Seq2SeqLM")
    change(copy / "config.json", model_type="bark", auto_map={f"AutoModelFor{head}": "own.Own" for head in heads})
    with pytest.raises(ModelError, match="custom code"):  # the type is known, but has no such head
        loader[1](str(copy))
    change(copy / "config.json", model_type="own", auto_map={"AutoConfig": "own.Own"})
    for read in (loader[1], lambda name: load_config(name, {}), lambda name: GainScorer(name, letters())):
        with pytest.raises(ModelError, match="custom code"):
            read(str(copy))
    assert (ran.exists(), typed.tell()) == (False, 0)


def test_attention_by_another_repositorys_code_is_refused(loader: tuple[Path, Load], copy: Path) -> None:
    change(copy / "config.json", attn_implementation="owner/kernel")
    with pytest.raises(ModelError, match="code of another repository, owner/kernel"):
        loader[1](str(copy))


def waits(function: Callable[[], object]) -> bool:
    """Whether a call ends in another thread, one way or the other, only after what is loaded here."""
    ended = threading.Event()

    def call() -> None:
        with contextlib.suppress(ModelError, InputError):
            function()
        ended.set()

    thread = threading.Thread(target=call)
    with LOADING:
        thread.start()
        early = ended.wait(0.5)
    thread.join(60)
    return not early and ended.is_set()


def test_one_thing_is_loaded_at_a_time(loader: tuple[Path, Load]) -> None:
    folder, function = loader
    assert waits(lambda: function(str(folder)))


def test_what_comes_with_groundrail_waits_for_its_turn_too(tiny_nli_folder, tmp_path, monkeypatch) -> None:
    unused = tmp_path / "groundrail" / "smollm2-0.1.2" / SMOLLM2_FILE
    unused.parent.mkdir(parents=True)
    unused.write_bytes(b"not what was pinned")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert waits(smollm2)
    assert waits(lambda: NearestScorer(load(device="meta", dtype="int8")))
    assert waits(lambda: load_config(str(tiny_nli_folder), {}))


def test_what_is_not_there_is_a_model_error(loader: tuple[Path, Load], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Pass a folder"):
        loader[1](str(tmp_path / "nothing"), local_files_only=True)


def test_a_scorer_by_name_alone_has_the_same_door(causal_folder: Path, tmp_path: Path) -> None:
    assert GainScorer(str(causal_folder)).score(["a"], "b")
    with pytest.raises(ModelError, match="Pass a folder"):
        GainScorer(str(tmp_path / "nothing"))
    (bare := tmp_path / "bare").mkdir()
    for name in ("config.json", "model.safetensors"):
        shutil.copy(causal_folder / name, bare)
    assert GainScorer(str(bare), letters()).score(["a"], "b")


def test_pickled_weights_are_refused_with_the_way_out(loader: tuple[Path, Load], copy: Path) -> None:
    weights = load_file(copy / "model.safetensors")
    (copy / "model.safetensors").unlink()
    torch.save(weights, copy / "pytorch_model.bin")
    with pytest.raises(ModelError, match=r"pickled weights.*save_pretrained"):
        loader[1](str(copy))
    with pytest.raises(InputError, match="use_safetensors"):
        loader[1](str(copy), use_safetensors=False)


def test_files_that_cannot_be_read_are_model_errors(loader: tuple[Path, Load], copy: Path) -> None:
    weights = (copy / "model.safetensors").read_bytes()
    torch.save({}, copy / "pytorch_model.bin")  # not what is wrong
    (copy / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    with pytest.raises(ModelError, match="incomplete"):
        loader[1](str(copy))
    (copy / "config.json").write_text("{")
    with pytest.raises(ModelError, match=r"cannot load .*config"):
        loader[1](str(copy))


def test_a_model_without_the_head_is_refused(tiny_nli_folder: Path) -> None:
    with pytest.raises(ModelError, match="no weights for cls"):
        HFGenerator.from_pretrained(str(tiny_nli_folder))


@pytest.fixture
def cached(loader: tuple[Path, Load], tmp_path: Path) -> Path:
    """A hub cache with one model in two revisions; the older one's weights are all ones."""
    repository = tmp_path / "models--someone--something"
    for revision, commit in REVISIONS.items():
        snapshot = repository / "snapshots" / commit
        shutil.copytree(loader[0], snapshot)
        (repository / "refs").mkdir(exist_ok=True)
        (repository / "refs" / revision).write_text(commit)
    _fill(repository / "snapshots" / REVISIONS["older"] / "model.safetensors")
    return tmp_path


def _fill(path: Path) -> None:
    """Ones for every matrix, the file's metadata kept."""
    from safetensors import safe_open
    from safetensors.torch import save_file

    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    save_file({name: torch.ones_like(each) for name, each in load_file(path).items()}, path, metadata=metadata)


def test_revision_cache_and_staying_offline_are_passed_on(loader: tuple[Path, Load], cached: Path) -> None:
    function = loader[1]
    offline = {"cache_dir": str(cached), "local_files_only": True}
    newest = one_weight(function("someone/something", **offline).model)
    older = one_weight(function("someone/something", revision="older", **offline).model)
    assert torch.equal(older, torch.ones_like(older))
    assert not torch.equal(newest, older)
    for named in ("someone/something@older", f"someone/something@{REVISIONS['older']}"):
        assert torch.equal(one_weight(function(named, **offline).model), older)
    with pytest.raises(InputError, match="two revisions"):
        function("someone/something@older", revision="main", **offline)
    with pytest.raises(ModelError, match="someone/something"):
        function("someone/something", revision="none", **offline)
    with pytest.raises(ModelError, match="someone/something"):
        function("someone/something", cache_dir=str(cached / "empty"), local_files_only=True)


@pytest.fixture
def hub() -> Iterator[tuple[str, list[str | None]]]:
    """A model hub that knows no model, and the credentials it was shown by who asked for one."""
    shown: list[str | None] = []

    class Hub(QuietHandler):
        def do_GET(self) -> None:
            if "someone" in self.path:
                shown.append(self.headers.get("Authorization"))
            self.send(404, X_Error_Code="RepoNotFound")

        do_HEAD = do_GET

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Hub)) as server:
        yield f"http://127.0.0.1:{server.server_port}", shown


@pytest.mark.slow
def test_the_token_is_passed_on_and_an_unknown_id_is_a_model_error(hub, monkeypatch, tmp_path) -> None:
    address, shown = hub
    monkeypatch.setenv("HF_ENDPOINT", address)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    program = """
import json
from groundrail.decoding import HFGenerator
from groundrail.entailment import load
from groundrail.papers.gain import GainScorer
raised = []
for function in HFGenerator.from_pretrained, load, lambda name, **hub: GainScorer.from_pretrained(name, hub=hub):
    try:
        function("someone/nothing", token="secret", cache_dir=CACHE)
    except Exception as error:
        raised.append(type(error).__name__)
print(json.dumps(raised))
"""
    done = subprocess.run(
        [sys.executable, "-c", program.replace("CACHE", repr(str(tmp_path)))], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == ["ModelError"] * 3
    assert len(shown) >= 3
    assert set(shown) == {"Bearer secret"}


def test_a_configuration_alone_is_read_by_the_same_rules(tiny_nli_folder: Path, tmp_path: Path) -> None:
    assert load_config(str(tiny_nli_folder), {"device": "cpu"}).model_type == "bert"
    with pytest.raises(InputError, match="no code from the hub"):
        load_config(str(tiny_nli_folder), {"trust_remote_code": True})
    with pytest.raises(ModelError, match=r"there is no '.*nothing'. Pass a folder"):
        load_config(str(tmp_path / "nothing"), {})
