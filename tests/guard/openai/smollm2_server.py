"""A small OpenAI-compatible server over SmolLM2, run as a process of its own by `test_openai_real.py`.

Prints its port, then answers `POST /v1/chat/completions`: plain and streamed, greedy, with logprobs, and
continuing a partial assistant message where `continue_final_message` asks for it.
"""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import torch
from transformers import TextIteratorStreamer

from groundrail.generators.smollm2 import smollm2

MODEL, TOKENIZER = smollm2()
ONE_AT_A_TIME = threading.Lock()


def prompt_ids(body: dict[str, Any]) -> torch.Tensor:
    encoded: Any = TOKENIZER.apply_chat_template(
        body["messages"],
        add_generation_prompt=body.get("add_generation_prompt", True),
        continue_final_message=body.get("continue_final_message", False),
        return_tensors="pt",
        return_dict=True,
    )
    ids: torch.Tensor = encoded["input_ids"]
    return ids


def first_token_logprobs(ids: torch.Tensor, count: int) -> dict[str, Any]:
    with torch.inference_mode():
        log_p = torch.log_softmax(MODEL(ids).logits[0, -1].float(), dim=-1)
    values, tokens = log_p.topk(count)
    top = [
        {"token": TOKENIZER.decode(int(token)), "logprob": float(value)}
        for token, value in zip(tokens, values, strict=True)
    ]
    return {"content": [{**top[0], "top_logprobs": top}]}


def written(ids: torch.Tensor, max_tokens: int) -> Iterator[str]:
    streamer = TextIteratorStreamer(TOKENIZER, skip_prompt=True, skip_special_tokens=True)
    mask = torch.ones_like(ids)
    options = {"max_new_tokens": max_tokens, "do_sample": False, "streamer": streamer}
    thread = threading.Thread(target=MODEL.generate, args=(ids,), kwargs={"attention_mask": mask, **options})  # type: ignore[arg-type]
    thread.start()
    yield from streamer
    thread.join()


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with ONE_AT_A_TIME:
            ids = prompt_ids(body)
            if body.get("logprobs"):
                choice = {"message": {"role": "assistant", "content": ""}, "finish_reason": "length"}
                self._send({"choices": [{**choice, "logprobs": first_token_logprobs(ids, body["top_logprobs"])}]})
            elif body.get("stream"):
                self._stream(written(ids, body.get("max_tokens", 48)))
            else:
                text = "".join(written(ids, body.get("max_tokens", 48)))
                self._send({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]})

    def _send(self, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, pieces: Iterator[str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for piece in pieces:
            self._event({"choices": [{"delta": {"content": piece}, "finish_reason": None}]})
        self._event({"choices": [{"delta": {}, "finish_reason": "stop"}]})
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, event: dict[str, Any]) -> None:
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
        self.wfile.flush()

    def log_message(self, *args: object) -> None:
        """Tests read standard output."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
