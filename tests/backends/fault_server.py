"""A server that speaks as OpenAI's does and fails as real ones do, on demand; of the standard library alone.

Its answers follow a law of the prompt alone, so that any of them can be checked; it notes every call that it gets.
"""

import contextlib
import hashlib
import json
import math
import socket
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LABELS = "ABCDE"
#: What else the model might begin with: look-alikes of labels among it.
OTHERS = (" A", "a", "А", "Ａ", "The", "\n", "**", " B")
FILLER = -9999.0


def law(text, prompt):
    """The log-probability of a first token: of labels together about 0.5."""
    draw = int(hashlib.sha256(f"{text}|{prompt}".encode()).hexdigest()[:8], 16) / 2**32
    return math.log((0.05 + 0.1 * draw) if text in LABELS else (0.01 + 0.02 * draw))


def tokens_of(text):
    return len(text.split()) + 3


@dataclass
class Call:
    path: str
    prompt: str
    body: dict
    key: str
    at: float
    n: int  # how often this prompt was asked before
    order: int  # 1 for the first call of all


@dataclass
class FaultServer:
    """``fault(call)`` names what goes wrong with a call, or does it (a function of the handler), or is None.

    ``kind`` is what it is: other, vllm, vllm-old, llama.cpp. ``refuse`` are parameters that it does not take,
    ``endpoints`` those that it has, ``model`` what it calls itself.
    """

    fault: object = lambda call: None
    kind: str = "other"
    refuse: tuple = ()
    endpoints: tuple = ("chat", "completions")
    most_top: int = 20
    logprobs: bool = True
    delay: float = 0.0
    model: str = "planted-1"
    reply: object = lambda prompt: "B"
    looks: object = None
    extra_tokens: dict = field(default_factory=dict)
    calls: list = field(default_factory=list)
    looked: list = field(default_factory=list)
    most_at_once: int = 0

    def __post_init__(self):
        self.lock = threading.Lock()
        self.over = threading.Event()
        self.asked = Counter()
        self.at_once = 0

    def __enter__(self):
        outer = self

        class Handler(_Handler):
            owner = outer

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *exc):
        self.over.set()
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.http.server_address[1]}/v1"

    def first_tokens(self, prompt):
        texts = (*LABELS, *OTHERS)
        known = {**{t: law(t, prompt) for t in texts}, **self.extra_tokens}
        return sorted(((t, p) for t, p in known.items() if p is not None), key=lambda pair: -pair[1])

    @property
    def used(self):
        """Tokens that were answered for, as the server counts them."""
        return sum(tokens_of(c.prompt) + 1 for c in self.calls)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner = None

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.owner.looked.append(self.path)
        if self.owner.looks is not None:  # what a test alone has it say
            self.owner.looks(self)
        elif self.path == "/v1/models":
            owned_by = {"vllm": "vllm", "vllm-old": "vllm", "llama.cpp": "llamacpp"}.get(self.owner.kind, "someone")
            self.say(200, {"object": "list", "data": [{"id": "m", "object": "model", "owned_by": owned_by}]})
        else:
            self.say(404, {"error": {"message": "no such thing"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path in ("/tokenize", "/detokenize"):
            self.owner.looked.append(self.path)
            self.say(200, tokenized(self.path, body)) if "vllm" in self.owner.kind else self.say(404, {})
            return
        prompt = body["messages"][-1]["content"] if "messages" in body else body["prompt"]
        with self.owner.lock:
            n, order = self.owner.asked[prompt], len(self.owner.calls) + 1
            call = Call(self.path, prompt, body, self.headers["authorization"], time.monotonic(), n, order)
            self.owner.asked[prompt] += 1
            self.owner.calls.append(call)
            self.owner.at_once += 1
            self.owner.most_at_once = max(self.owner.most_at_once, self.owner.at_once)
        try:
            time.sleep(self.owner.delay)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                self.answer(call)
        finally:
            with self.owner.lock:
                self.owner.at_once -= 1

    def answer(self, call):
        owner = self.owner
        endpoint = "chat" if "chat" in call.path else "completions"
        if endpoint not in owner.endpoints:
            return self.say(404, {"error": {"message": "Not Found"}})
        for name in owner.refuse:
            if name in call.body:
                return self.say(
                    400,
                    {
                        "error": {
                            "message": f"Unsupported parameter: '{name}'.",
                            "param": name,
                            "code": "unsupported_parameter",
                        }
                    },
                )
        width = call.body.get("top_logprobs", 0) if endpoint == "chat" else call.body.get("logprobs") or 0
        if width > owner.most_top and owner.kind != "llama.cpp":
            return self.say(400, {"error": {"message": f"top_logprobs must be at most {owner.most_top}"}})
        fault = owner.fault(call)
        if fault is None:
            return self.say(200, self.data(call, endpoint, width))
        if callable(fault):  # a fault of one test alone
            return fault(self, call, endpoint, width)
        return getattr(self, "do_" + fault.replace("-", "_"))(call, endpoint, width)

    def data(self, call, endpoint, width, tokens=None):
        owner = self.owner
        tokens = owner.first_tokens(call.prompt) if tokens is None else tokens
        wanted = call.body.get("logprobs") and owner.logprobs
        content = tokens[0][0] if wanted else owner.reply(call.prompt)
        ids = call.body.get("logprob_token_ids") if owner.kind == "vllm" else None
        if ids:
            by_text = dict(tokens)
            tokens = [tokens[0], *((text_of(i), by_text.get(text_of(i), -30.0)) for i in ids)]
        if call.body.get("return_tokens_as_token_ids"):
            tokens = [(f"token_id:{id_of(t)}", p) for t, p in tokens]
        usage = {"prompt_tokens": tokens_of(call.prompt), "completion_tokens": 1}
        shown = tokens[: width + 1 if ids else width] or tokens[:1]
        if endpoint == "chat" or owner.kind == "llama.cpp":
            entries = [{"token": t, "logprob": p, "bytes": list(t.encode())} for t, p in shown]
            logprobs = {"content": [{**entries[0], "top_logprobs": entries}]}
        else:
            logprobs = {"tokens": [shown[0][0]], "token_logprobs": [shown[0][1]], "top_logprobs": [dict(shown)]}
        said = {"message": {"role": "assistant", "content": content}} if endpoint == "chat" else {"text": content}
        choice = {"index": 0, "finish_reason": "length", **said, "logprobs": logprobs if wanted else None}
        return {"id": "x", "model": owner.model, "choices": [choice], "usage": usage}

    def say(self, status, data, headers=()):
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    # --- what goes wrong ------------------------------------------------------------------------------------------

    def do_429(self, call, endpoint, width):
        self.say(429, {"error": {"message": "slow down"}}, [("retry-after", "0.05")])

    def do_429_long(self, call, endpoint, width):
        self.say(429, {"error": {"message": "slow down"}}, [("retry-after-ms", "700")])

    def do_429_hours(self, call, endpoint, width):
        self.say(429, {"error": {"message": "slow down"}}, [("retry-after", "36000")])

    def do_500(self, call, endpoint, width):
        self.say(500, {"error": {"message": f"oops at {self.owner.url} with {self.headers['authorization']}"}})

    def do_400(self, call, endpoint, width):
        self.say(
            400, {"error": {"message": "This model's maximum context length is 10 tokens, max_tokens is too large"}}
        )

    def do_401(self, call, endpoint, width):
        self.say(401, {"error": {"message": f"Incorrect API key provided: {self.headers['authorization']}"}})

    def do_quota(self, call, endpoint, width):
        self.say(429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}})

    def do_cut(self, call, endpoint, width):
        # A reset, not an orderly end.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def do_cut_midway(self, call, endpoint, width):
        raw = json.dumps(self.data(call, endpoint, width)).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw[: len(raw) // 2])
        self.wfile.flush()
        self.close_connection = True

    def do_null(self, call, endpoint, width):
        data = self.data(call, endpoint, width)
        data["choices"][0] |= {
            "message": {"role": "assistant", "content": None},
            "finish_reason": "stop",
            "logprobs": None,
        }
        self.say(200, data)

    def do_no_choices(self, call, endpoint, width):
        self.say(200, {"id": "x", "choices": []})

    def do_no_logprobs(self, call, endpoint, width):
        data = self.data(call, endpoint, width)
        data["choices"][0]["logprobs"] = None
        self.say(200, data)

    def do_not_json(self, call, endpoint, width):
        self.say(200, b'{"id": "x", "choices": [{"mess')

    def do_html(self, call, endpoint, width):
        self.say(200, b"<html><body>Bad gateway</body></html>")

    def do_slow(self, call, endpoint, width):
        self.owner.over.wait(5)
        self.say(200, self.data(call, endpoint, width))

    def do_drip(self, call, endpoint, width):
        raw = json.dumps(self.data(call, endpoint, width)).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        for byte in raw:
            if self.owner.over.wait(0.1):
                break
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
        self.close_connection = True

    def do_hang(self, call, endpoint, width):
        self.owner.over.wait(60)
        self.close_connection = True

    def do_filler(self, call, endpoint, width):
        self.say(200, self.data(call, endpoint, width, _with(self.owner.first_tokens(call.prompt), "C", FILLER)))

    def do_null_logprob(self, call, endpoint, width):
        self.say(200, self.data(call, endpoint, width, _with(self.owner.first_tokens(call.prompt), "C", None)))

    def do_outside(self, call, endpoint, width):
        tokens = [pair for pair in self.owner.first_tokens(call.prompt) if pair[0] != "C"]
        self.say(200, self.data(call, endpoint, width, tokens))

    def do_refusal(self, call, endpoint, width):
        data = self.data(call, endpoint, width)
        data["choices"][0] |= {
            "message": {"role": "assistant", "content": None, "refusal": "I will not."},
            "logprobs": None,
        }
        self.say(200, data)

    def do_other_model(self, call, endpoint, width):
        self.say(200, {**self.data(call, endpoint, width), "model": "planted-2"})


def _with(tokens, text, logprob):
    return [(t, logprob if t == text else p) for t, p in tokens]


def id_of(text):
    """The id of a token: a character's own number, a private one for a space with a label, and for any other text."""
    if len(text) == 1:
        return ord(text)
    return 0xE000 + ord(text[1]) if text[0] == " " and text[1:] in LABELS else 0xF000 + len(text)


def text_of(token_id):
    return " " + chr(token_id - 0xE000) if 0xE000 <= token_id < 0xF000 else chr(token_id)


def tokenized(path, body):
    """A tokenizer of one token a character, but for a space with a label, which are one."""
    if path == "/detokenize":
        return {"prompt": "".join(chr(i) for i in body["tokens"])}
    text = body["prompt"] if "prompt" in body else "user: " + body["messages"][-1]["content"] + "\nassistant:"
    ids = []
    for character in text:
        if ids and ids[-1] == ord(" ") and character in LABELS:
            ids[-1] = id_of(" " + character)
        else:
            ids.append(ord(character))
    return {"tokens": ids, "count": len(ids), "max_model_len": 4096}
