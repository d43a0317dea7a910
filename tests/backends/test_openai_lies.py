"""A server that lies: it can neither end a run, nor have a key stored, nor send calls elsewhere."""

import gzip
import json
import time
import zlib

import pytest

pytest.importorskip("openai")
pytest.importorskip("aiolimiter")

from fault_server import FaultServer
from test_openai import KEY, connected, quick, requests  # noqa: F401  (a fixture that every test here uses)

from orderbias.backends import TextRequest, _openai_client
from orderbias.backends._limits import Caps
from orderbias.backends._openai_address import Address
from orderbias.backends._openai_calls import MOST, Conduct
from orderbias.backends._openai_replies import usage_of
from orderbias.backends._prices import Price
from orderbias.backends.openai import OpenAIBackend
from orderbias.errors import ArgumentError, ModelError

LIAR = "Question 5 turned 3"


def written():
    return [TextRequest(r.item_id, r.positions, r.prompt, max_tokens=8) for r in requests()]


def lying(lie, **options):
    return FaultServer(fault=lambda call: lie if call.prompt.startswith(LIAR) else None, **options)


def replaced(old, new):
    """Send the usual reply, with one part of its JSON replaced."""

    def lie(handler, call, endpoint, width):
        raw = json.dumps(handler.data(call, endpoint, width))
        assert old in raw
        handler.say(200, raw.replace(old, new).encode())

    return lie


def raw(data, status=200, headers=()):
    return lambda handler, call, endpoint, width: handler.say(status, data, headers)


UNREADABLE = {
    "brackets within brackets": raw(b"[" * 100_000 + b"]" * 100_000),
    "brackets within a reply": raw(b'{"choices": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    "a number of 6,000 digits": raw(b'{"usage": {"prompt_tokens": ' + b"9" * 6000 + b"}}"),
    "log-probabilities of 400 digits": replaced('"logprob": -', '"logprob": -1' + "0" * 400 + ', "x": -'),
    "log-probabilities above any number": replaced('"logprob": -', '"logprob": 1e400, "x": -'),
    "log-probabilities that are none": replaced('"logprob": -', '"logprob": NaN, "x": -'),
    "log-probabilities above 0": replaced('"logprob": -', '"logprob": 1'),
    "what is not compressed as it says": raw(b"no", headers=[("content-encoding", "gzip")]),
    "a message of five million letters": raw(json.dumps({"error": {"message": "x" * 5_000_000}}).encode(), 500),
    "a status that is none": raw(b"", 999),
    "choices that are a text": raw(b'{"choices": "ABC"}'),
}


@pytest.mark.parametrize("lie", UNREADABLE)
def test_what_cannot_be_read_is_one_error_and_the_rest_is_kept(lie):
    started = time.monotonic()
    with lying(UNREADABLE[lie]) as server, connected(server, retries=1) as backend:
        replies = backend.ask(requests())
        assert [r.status for r in replies] == ["ok"] * 23 + ["error"]
        assert replies[-1].logprobs is None
        assert replies[-1].text.endswith("(2 tries)")
        assert len(replies[-1].text) < 400
    assert time.monotonic() - started < 10


def test_counts_that_no_call_can_have_are_not_counted():
    assert usage_of({"usage": {"prompt_tokens": 10**300, "completion_tokens": 1}}) is None
    lie = replaced('"prompt_tokens": ', '"prompt_tokens": 1' + "0" * 300)
    with lying(lie) as server, connected(server) as backend:
        replies = backend.ask(requests())
        assert {r.status for r in replies} == {"ok"}
        assert max(r.tokens_in for r in replies) < 1000
        assert backend.used.tokens_in < 100_000


def test_a_reply_is_read_up_to_a_length(monkeypatch):
    monkeypatch.setattr(_openai_client, "MOST_BYTES", 50_000)

    def endless(handler, call, endpoint, width):
        handler.send_response(200)
        handler.end_headers()
        while not handler.owner.over.wait(0.001):
            handler.wfile.write(b" " * 10_000)
        handler.close_connection = True

    with lying(endless) as server, connected(server, timeout=30) as backend:
        reply = backend.ask(requests())[-1]
        assert (reply.status, reply.text[:24]) == ("error", "the reply is longer than")
        assert server.asked[requests()[-1].prompt] == 1


@pytest.mark.parametrize("packing", ["gzip", "zlib", "raw"])
@pytest.mark.parametrize("step", [1, 7, 10_000])
def test_a_packed_reply_is_unpacked_whatever_its_parts(packing, step):
    data = json.dumps({"x": list(range(3000))}).encode()
    raw = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    packed = {"gzip": gzip.compress(data), "zlib": zlib.compress(data), "raw": raw.compress(data) + raw.flush()}[
        packing
    ]
    unpack, parts = _openai_client._Unpacking(), []
    for at in range(0, len(packed), step):
        parts.append(unpack(packed[at : at + step], 10**6 - sum(map(len, parts))))
    assert b"".join(parts) == data


@pytest.mark.parametrize(
    ("packing", "status"), [("gzip", "error"), ("deflate", "error"), ("br", "error"), ("none", "ok")]
)
def test_a_reply_is_unpacked_up_to_a_length(packing, status, monkeypatch):
    """A small reply may unpack to a thousand times its size; an honest packed one is read, be it long."""
    monkeypatch.setattr(_openai_client, "MOST_BYTES", 1_000_000)
    heads = []

    def packed(handler, call, endpoint, width):
        heads.append(handler.headers["accept-encoding"])
        data = json.dumps(handler.data(call, endpoint, width)).encode()
        data += b" " * (3_000_000 if packing != "none" else 900_000)
        small = zlib.compress(data) if packing == "deflate" else gzip.compress(data, 6)
        handler.say(200, small, [("content-encoding", "gzip" if packing == "none" else packing)])

    with lying(packed) as server, connected(server, timeout=30) as backend:
        reply = backend.ask(requests())[-1]
    assert reply.status == status
    assert set(heads) == {"identity"}
    if status == "error":
        assert reply.text.startswith("the reply is not JSON" if packing == "br" else "the reply is longer than")


@pytest.mark.parametrize(
    ("message", "param"),
    [
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        ("Extra inputs are not permitted: top_p", "top_p"),
        ("'seed' is not supported", "seed"),
    ],
)
def test_a_server_that_minds_what_is_left_out_already_is_not_asked_for_ever(message, param):
    def minds(handler, call, endpoint, width):
        handler.say(400, {"error": {"message": message, "param": param}})

    with lying(minds) as server, connected(server) as backend:
        replies = backend.ask(requests())
        assert [r.status for r in replies] == ["ok"] * 23 + ["error"]
        assert server.asked[requests()[-1].prompt] <= 3


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (
            {"choices": [{"message": {"content": ""}, "finish_reason": "error"}]},
            "error",
            "ended the reply with an error",
        ),
        ({"error": {"message": "no such deployment", "code": 404}}, "error", "the server says: no such deployment"),
        ({"error": "overloaded"}, "error", "the server says: overloaded"),
        ({"choices": [{"message": {"content": None}, "finish_reason": "content_filter"}]}, "refused", "filter"),
    ],
)
@pytest.mark.parametrize("wants", ["labels", "text"])
def test_what_a_server_says_of_a_reply_that_is_none(body, status, said, wants):
    def told(handler, call, endpoint, width):
        handler.say(200, {"model": handler.owner.model, **body})

    asked = requests()
    if wants == "text":
        asked = [TextRequest(r.item_id, r.positions, r.prompt, max_tokens=4) for r in asked]
    with lying(told) as server, connected(server, retries=1) as backend:
        reply = backend.ask(asked)[-1]
        assert reply.status == status
        assert said in (reply.reason if wants == "text" else reply.text)


def test_a_call_is_never_sent_elsewhere():
    """A redirection would be a call that no cap counts, answered by a server that no setting names."""
    with FaultServer() as other:
        lie = raw(b"", 307, [("location", other.url + "/chat/completions")])
        with lying(lie) as server, connected(server) as backend:
            reply = backend.ask(requests())[-1]
            assert reply.status == "error"
            assert reply.text.startswith("status 307: the server sends the call elsewhere")
            assert len(server.calls) == backend.used.calls == 24
        with (
            FaultServer(fault=lambda call: lie) as server,
            connected(server) as backend,
            pytest.raises(ModelError, match="elsewhere"),
        ):
            backend.ask(requests())
        assert other.calls == []


def said(**message):
    return lambda key: (
        lambda handler, call, endpoint, width: handler.say(
            200,
            {
                "model": handler.owner.model,
                "choices": [{"message": {k: v.format(key) for k, v in message.items()}, "finish_reason": "stop"}],
            },
        )
    )


@pytest.mark.parametrize("message", [{"content": "A. Bearer {}"}, {"refusal": "not for {}"}])
@pytest.mark.parametrize("key", [KEY, "token-abc/12\\3"])
def test_a_key_that_a_reply_repeats_is_not_stored(message, key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with lying(said(**message)(key)) as server, connected(server) as backend:
        reply = backend.ask(written())[-1]
        assert "***" in (reply.text or reply.reason)
        assert key not in repr(reply)


def test_a_key_that_is_the_models_name_is_not_stored():
    with FaultServer(model=f"for {KEY}") as server, connected(server) as backend:
        backend.ask(requests())
        assert backend.identity["revision"] == "for ***"
        assert KEY not in str(backend.closing_notes())


@pytest.mark.parametrize("key", ["A", "none", "EMPTY", "password"])
def test_a_key_that_is_a_word_changes_no_reply(key):
    text = f'{{"text": "the answer is A: none, an EMPTY password"}}{key}'
    assert Address("http://localhost:8000/v1", key).without_key(text) == text


def drips(handler):
    handler.send_response(200)
    handler.end_headers()
    while not handler.owner.over.wait(0.05):
        handler.wfile.write(b" ")
        handler.wfile.flush()
    handler.close_connection = True


@pytest.mark.parametrize(
    "looks",
    [
        drips,
        lambda handler: handler.say(200, {"data": [{"owned_by": ["vllm"]}, {"owned_by": {}}, 3, None]}),
        lambda handler: handler.say(200, b"[" * 100_000 + b"]" * 100_000),
        lambda handler: handler.say(200, {"data": "vllm"}),
        lambda handler: handler.say(200, [1]),
    ],
)
def test_what_a_server_says_of_its_models_can_do_no_harm(looks):
    with FaultServer(looks=looks) as server, connected(server, timeout=1.0) as backend:
        assert {r.status for r in backend.ask(requests(2))} == {"ok"}
        assert backend.identity["served_by"] == "other"


def test_names_of_models_are_kept_short_and_few():
    def renamed(call):
        return lambda handler, call, endpoint, width: handler.say(
            200, {**handler.data(call, endpoint, width), "model": str(call.order) * 5000}
        )

    with FaultServer(fault=renamed) as server, connected(server) as backend:
        backend.ask(requests())
        assert len(backend.identity["revision"]) == 200
        assert len(str(backend.closing_notes())) < 2500


@pytest.mark.parametrize(
    "given",
    [{"tpm": 10**400}, {"rpm": MOST + 1}, {"concurrency": 10**30}, {"retries": 10**30}, {"timeout": float("nan")},
     {"timeout": 0.0}, {"timeout": float("inf")}],
)  # fmt: skip
def test_numbers_beyond_sense_are_errors(given):
    with pytest.raises(ArgumentError, match=f"--{next(iter(given))} must"):
        Conduct(**given)


@pytest.mark.parametrize("cost", [float("nan"), -1.0])
def test_a_cap_that_holds_nothing_back_is_an_error(cost):
    with pytest.raises(ArgumentError, match="--max-cost must"):
        Caps(cost=cost, price=Price(1, 1))


@pytest.mark.parametrize("url", ["http://[::1/v1", "http://h:99999/v1", "http://h:x/v1"])
def test_an_address_that_is_none_is_an_error(url):
    with pytest.raises(ArgumentError, match="--base-url must"):
        OpenAIBackend.connect("m", base_url=url)


@pytest.mark.parametrize("key", ["sk-й123456789", "sk-12345678\n90"])
def test_a_key_that_no_header_can_hold_is_not_repeated(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ArgumentError, match="plain characters") as error:
        OpenAIBackend.connect("m")
    assert "123456" not in str(error.value)
