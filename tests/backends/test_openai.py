"""A model behind an API against a server whose answers follow a law and whose faults are chosen."""

import itertools
import math
import random
import time

import pytest

pytest.importorskip("openai")
pytest.importorskip("aiolimiter")

from fault_server import LABELS, FaultServer, law, tokens_of

from orderbias.backends import LabelRequest, TextRequest, _limits, _openai_calls
from orderbias.backends._limits import Caps
from orderbias.backends._openai_calls import Conduct
from orderbias.backends._prices import Price, read_price
from orderbias.backends.openai import OpenAIBackend
from orderbias.errors import ArgumentError, AskingStopped, ModelError

KEY = "sk-thisisaverysecretkeyforthetests0123456789"

#: Each passes, and is asked again.
PASSING = ("429", "500", "cut", "cut-midway", "null", "no-choices", "no-logprobs", "not-json", "html")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(_limits, "FIRST_PAUSE", 0.01)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def requests(n_items=6, n_orderings=4, labels="ABCD"):
    return [
        LabelRequest(str(i), tuple((j + s) % 4 for j in range(4)), f"Question {i} turned {s}\nAnswer:", tuple(labels))
        for i in range(n_items)
        for s in range(n_orderings)
    ]


def connected(server, *, caps=None, settled=None, **options):
    conduct = {k: options.pop(k) for k in ("concurrency", "rpm", "tpm", "timeout", "retries") if k in options}
    return OpenAIBackend.connect(
        "m", base_url=server.url, conduct=Conduct(**conduct, caps=caps or Caps()), settled=settled, **options
    )


def by_law(request):
    return [law(label, request.prompt) for label in request.labels]


# --- answers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
@pytest.mark.parametrize("kind", ["other", "vllm", "vllm-old", "llama.cpp"])
def test_labels_have_the_servers_own_log_probabilities(endpoint, kind):
    asked = requests()
    with FaultServer(kind=kind) as server, connected(server, endpoint=endpoint) as backend:
        replies = backend.ask(asked)
        assert [list(r.logprobs) for r in replies] == [pytest.approx(by_law(r)) for r in asked]
        assert backend.label_form == "A"
        assert {r.tokens_in for r in replies} == {tokens_of(asked[0].prompt)}
        # Settling costs no call of its own: its replies answer the requests they were made for.
        assert len(server.calls) == len(asked) + (kind == "vllm-old")
        assert backend.used.calls == len(server.calls)
        expected = {"vllm": "token-ids", "llama.cpp": "n-probs"}.get(kind, "top-20")
        assert backend.identity["logprobs"] == expected
        assert backend.identity["endpoint"] == endpoint


def test_the_form_with_a_space_is_taken_where_it_weighs_more():
    spaced = {" A": -1.5, " B": -1.6, " C": -1.7, " D": -1.8}
    for kind in ("other", "vllm"):
        with FaultServer(kind=kind, extra_tokens=spaced) as server, connected(server) as backend:
            replies = backend.ask(requests(2))
            assert backend.label_form == " A"
            assert {r.logprobs for r in replies} == {(-1.5, -1.6, -1.7, -1.8)}


def test_forms_can_be_summed():
    spaced = {" A": -1.5, " B": -1.6, " C": -1.7, " D": -1.8}
    with FaultServer(extra_tokens=spaced) as server, connected(server, label_forms="sum") as backend:
        asked = requests(2)
        for request, reply in zip(asked, backend.ask(asked), strict=True):
            whole = [math.log(math.exp(p) + math.exp(q)) for p, q in zip(by_law(request), spaced.values(), strict=True)]
            assert list(reply.logprobs) == pytest.approx(whole)


def test_look_alikes_are_left_out_and_said():
    # Far more probable than any label, each of them.
    twins = {" A": -0.9, "a": -1.0, "А": -1.1, "Ａ": -1.2, "𝐀": -1.3}
    with FaultServer(extra_tokens=twins) as server, connected(server, settled=SETTLED) as backend:
        asked = requests()
        for request, reply in zip(asked, backend.ask(asked), strict=True):
            assert list(reply.logprobs) == pytest.approx(by_law(request))
        (notice,) = [n for n in backend.closing_notes() if "look like" in n]
        for twin, logprob in twins.items():
            assert f"{twin!r} in 24 (probability {math.exp(logprob):.2g})" in notice
        assert "'The'" not in notice


SETTLED = {"served_by": "other", "endpoint": "chat", "logprobs": "top-20", "label_form": "A", "revision": "planted-1"}


@pytest.mark.parametrize("fault", ["outside", "filler", "null-logprob"])
def test_a_label_without_a_log_probability_is_censored(fault):
    censored = "Question 3 turned 1"
    server = FaultServer(fault=lambda call: fault if call.prompt.startswith(censored) else None)
    with server, connected(server) as backend:
        asked = requests()
        for request, reply in zip(asked, backend.ask(asked), strict=True):
            if request.prompt.startswith(censored):
                assert (reply.logprobs, reply.status) == (None, "error")
                assert reply.text == "not among the 12 first tokens that the server gives: C (censored)"
            else:
                assert list(reply.logprobs) == pytest.approx(by_law(request))
        assert len(server.calls) == len(asked)  # another try would say the same


def test_llama_cpp_is_asked_for_as_many_rivals_as_it_takes():
    rare = {f"word{i}": -2.0 - i / 1e4 for i in range(5000)}
    with FaultServer(kind="llama.cpp", extra_tokens={**rare, "D": -9.0, "A": -1.0}) as server:
        with connected(server) as backend:
            replies = backend.ask(requests(1))
        assert [(r.logprobs[0], r.logprobs[3]) for r in replies] == [(-1.0, -9.0)] * 4
        assert {c.body["n_probs"] for c in server.calls} == {64, 4096, 1_000_000}


def test_narrow_lists_are_taken_as_they_are():
    with FaultServer(most_top=5, extra_tokens=dict.fromkeys(LABELS, -1.5)) as server, connected(server) as backend:
        assert {r.logprobs for r in backend.ask(requests(2))} == {(-1.5,) * 4}
        assert backend.identity["logprobs"] == "top-5"


def test_where_no_label_is_among_the_first_tokens_nothing_is_asked_in_vain():
    with FaultServer(extra_tokens={"C": None}) as server, connected(server) as backend:
        with pytest.raises(ModelError, match=r"In none of 6 replies are the labels A, B, C, D all among.*one-letter"):
            backend.ask(requests(6))
        assert len(server.calls) == 6


def test_no_log_probabilities_are_found_out_in_two_calls():
    with FaultServer(logprobs=False) as server, connected(server) as backend:
        backend.settle(requests())
        assert not backend.has_logprobs
        assert backend.identity["logprobs"] == "none"
        assert len(server.calls) == 2
        assert backend.ask(requests(1))[0].text == "the server gives no log-probabilities of labels"


def test_completions_are_taken_where_there_is_no_chat():
    with FaultServer(endpoints=("completions",)) as server, connected(server) as backend:
        asked = requests(2)
        assert [list(r.logprobs) for r in backend.ask(asked)] == [pytest.approx(by_law(r)) for r in asked]
        assert backend.identity["endpoint"] == "completions"


@pytest.mark.parametrize(
    "refused", [("max_tokens",), ("temperature", "top_p"), ("max_tokens", "temperature", "top_p", "seed")]
)
def test_what_a_model_does_not_take_is_left_out(refused):
    texts = [TextRequest(str(i), (0, 1), f"Say {i}", max_tokens=7, temperature=0.5, seed=2**47) for i in range(5)]
    with FaultServer(refuse=refused) as server, connected(server) as backend:
        assert [r.text for r in backend.ask(texts)] == ["B"] * 5
        answered = server.calls[-1].body
        assert not set(refused) & set(answered)
        assert answered["max_completion_tokens" if "max_tokens" in refused else "max_tokens"] == 7
        if "temperature" in refused:
            assert "at the server's own temperature" in " ".join(backend.notices)
            assert "temperature" in backend.identity["without"]
        else:
            assert answered["seed"] < 2**31


def test_texts_say_whether_they_were_finished_or_refused():
    server = FaultServer(
        fault=lambda call: "refusal" if "bad" in call.prompt else None, reply=lambda prompt: f"Of {prompt}"
    )
    with server, connected(server) as backend:
        good, bad = backend.ask([TextRequest("1", (0, 1), "good"), TextRequest("2", (0, 1), "bad")])
        assert (good.text, good.finished, good.status) == ("Of good", False, "ok")
        assert (bad.text, bad.status, bad.reason) == (None, "refused", "I will not.")
        (label,) = backend.ask([LabelRequest("2", (0, 1), "bad", ("A", "B"))])
        assert label.status == "error"  # texts alone were settled


def test_a_refused_label_is_refused():
    server = FaultServer(fault=lambda call: "refusal" if call.prompt.startswith("Question 2") else None)
    with server, connected(server) as backend:
        replies = backend.ask(requests())
        assert [r.status for r in replies] == ["ok"] * 8 + ["refused"] * 4 + ["ok"] * 12
        assert replies[8].text == "I will not."


# --- faults --------------------------------------------------------------------------------------------------------


def test_nothing_is_lost_and_nothing_is_doubled_by_what_passes():
    rng = random.Random(3)
    asked = requests(25)
    faults = {r.prompt: [rng.choice(PASSING) for _ in range(rng.randrange(4))] for r in asked}
    server = FaultServer(fault=lambda call: dict(enumerate(faults[call.prompt])).get(call.n))
    with server, connected(server, retries=5) as backend:
        replies = backend.ask(asked)
        assert [list(r.logprobs) for r in replies] == [pytest.approx(by_law(r)) for r in asked]
        assert set(itertools.chain(*faults.values())) == set(PASSING)
        # While settling, a reply without log-probabilities is no fault yet: it is asked again by the run itself.
        assert len(server.calls) == sum(len(f) + 1 for f in faults.values())
        assert backend.used.calls == len(server.calls)


@pytest.mark.parametrize("fault", [*PASSING, "slow", "drip"])
def test_after_the_last_try_there_is_an_error_and_the_rest_is_kept(fault):
    broken = "Question 5 turned 3"
    server = FaultServer(fault=lambda call: fault if call.prompt.startswith(broken) else None)
    with server, connected(server, retries=2, timeout=1.0 if fault in ("slow", "drip") else 60.0) as backend:
        asked = requests()
        replies = backend.ask(asked)
        failed = [(q, r) for q, r in zip(asked, replies, strict=True) if r.status != "ok"]
        assert [q.prompt.startswith(broken) for q, _ in failed] == [True]
        assert failed[0][1].logprobs is None
        assert failed[0][1].text.endswith("(3 tries)")
        assert server.asked[failed[0][0].prompt] == 3
        assert len(server.calls) == len(asked) + 2


def test_what_does_not_pass_is_not_tried_again():
    server = FaultServer(fault=lambda call: "400" if call.prompt.startswith("Question 1 ") else None)
    with server, connected(server) as backend:
        replies = backend.ask(requests())
        assert [r.status for r in replies[4:8]] == ["error"] * 4
        assert replies[4].text.startswith("status 400: This model's maximum context length")
        # A length that is too large is no parameter that is not taken.
        assert all("max_tokens" in c.body for c in server.calls)
        assert len(server.calls) == 24


def test_a_servers_pause_is_kept_by_all_calls():
    server = FaultServer(fault=lambda call: "429-long" if call.order == 9 else None)
    with server, connected(server, concurrency=1) as backend:
        asked = requests()
        backend.settle(asked)
        replies = backend.ask(asked)
        assert all(r.status == "ok" for r in replies)
        gaps = [b.at - a.at for a, b in itertools.pairwise(server.calls)]
        assert gaps[8] >= 0.7
        assert max(gaps[9:]) < 0.5


def test_a_pause_of_hours_is_an_error_now():
    server = FaultServer(fault=lambda call: "429-hours" if call.prompt.startswith("Question 5") else None)
    with server, connected(server) as backend:
        started = time.monotonic()
        assert [r.status for r in backend.ask(requests())][-4:] == ["error"] * 4
        assert time.monotonic() - started < 5


def test_a_wrong_key_is_asked_with_once_and_never_shown(capsys):
    with FaultServer(fault=lambda call: "401") as server, connected(server) as backend:
        with pytest.raises(ModelError, match="OPENAI_API_KEY holds a key that it does not know") as error:
            backend.ask(requests())
        assert len(server.calls) == 1
        assert server.calls[0].key == f"Bearer {KEY}"
        shown = str(error.value) + repr(error.getrepr(style="long")) + repr(backend) + str(vars(backend))
        assert KEY not in shown
        assert KEY not in str(backend.identity)


def test_what_a_server_says_is_stripped_of_key_and_address():
    server = FaultServer(fault=lambda call: "500" if call.prompt.startswith("Question 5") else None)
    with server, connected(server, retries=0) as backend:
        text = backend.ask(requests())[-1].text
        assert text == "status 500: oops at *** with ***"
        assert "127.0.0.1" not in str(backend.identity)


def test_an_empty_account_stops_the_run():
    server = FaultServer(fault=lambda call: "quota" if call.order > 12 else None)
    with server, connected(server, concurrency=1) as backend, pytest.raises(AskingStopped, match="no more to spend"):
        backend.ask(requests())
    assert len(server.calls) == 13


def test_a_server_that_is_gone_stops_the_run(monkeypatch):
    monkeypatch.setattr(_openai_calls, "FAILED_IN_A_ROW", 10)
    server = FaultServer(fault=lambda call: "500" if call.order > 8 else None)
    with server, connected(server, concurrency=1, retries=1) as backend:
        with pytest.raises(AskingStopped, match="last 10 calls failed on every try, in the end because status 500"):
            backend.ask(requests(20))
        assert len(server.calls) < 8 + 72 * 2


def test_a_server_that_is_not_there_is_an_error_that_says_so():
    with FaultServer() as server:
        url = server.url
    with (
        OpenAIBackend.connect("m", base_url=url, conduct=Conduct(retries=1)) as backend,
        pytest.raises(ModelError, match=r"cannot be asked: the server cannot be reached \(2 tries\). Check --base-url"),
    ):
        backend.ask(requests(1))


def test_a_run_goes_on_with_the_model_that_it_was_begun_with():
    server = FaultServer(fault=lambda call: "other-model")
    said = "now answers as 'planted-2'; this run was begun with 'planted-1'"
    with server, connected(server, settled=SETTLED) as backend, pytest.raises(ModelError, match=said):
        backend.ask(requests(1))


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cap", [0, 1, 5, 13, 40])
def test_a_cap_on_calls_is_never_passed(cap):
    server = FaultServer(fault=lambda call: "500" if call.n == 0 and "turned 2" in call.prompt else None)
    with server, connected(server, caps=Caps(calls=cap)) as backend:
        with pytest.raises(AskingStopped, match=f"--max-calls {cap} is reached"):
            backend.ask(requests(20))
        assert len(server.calls) == cap == backend.used.calls


@pytest.mark.parametrize("cap", [100, 700, 1300])
def test_a_cap_on_tokens_is_never_passed_and_nearly_reached(cap):
    with FaultServer(delay=0.002) as server, connected(server, caps=Caps(tokens=cap)) as backend:
        with pytest.raises(AskingStopped, match=f"--max-tokens-total {cap:,} is reached"):
            backend.ask(requests(60))
        # What a call may use at most is its bytes and what a template may add: so much of the cap is left in the end.
        assert cap - 300 <= server.used <= cap or (cap < 300 and server.used == 0)
        assert server.used == backend.used.tokens


def test_a_cap_on_cost_is_never_passed():
    price = Price(1000.0, 5000.0)
    with FaultServer() as server, connected(server, caps=Caps(cost=1.0, price=price)) as backend:
        with pytest.raises(AskingStopped, match="--max-cost 1 is reached"):
            backend.ask(requests(60))
        cost = sum(tokens_of(c.prompt) * 1000 + 5000 for c in server.calls) / 1e6
        assert 0.6 < cost <= 1.0
        assert price.of(backend.used.tokens_in, backend.used.tokens_out) == pytest.approx(cost)


def test_calls_are_made_at_a_time_and_no_more_than_allowed():
    with FaultServer(delay=0.03) as server, connected(server, concurrency=6) as backend:
        backend.ask(requests(20))
        assert server.most_at_once == 6


def test_prompts_of_an_item_are_sent_together():
    with FaultServer(delay=0.01) as server, connected(server, concurrency=4, settled=SETTLED) as backend:
        backend.ask(requests(20))
    order = [c.prompt.split(" turned ")[0] for c in server.calls]
    for at, item in enumerate(order):
        assert item in order[max(at - 7, 0) : at] or order.index(item) == at


def test_calls_a_minute_are_spread_evenly():
    with FaultServer() as server, connected(server, rpm=1200, settled=SETTLED) as backend:
        backend.ask(requests(5))
        assert server.calls[-1].at - server.calls[0].at >= 19 * 0.05 * 0.95


def test_tokens_a_minute_are_kept():
    asked = [LabelRequest(str(i), (0, 1), f"{i} " + "word " * 100, ("A", "B")) for i in range(60)]
    with FaultServer() as server, connected(server, tpm=90_000, settled=SETTLED) as backend:
        backend.ask(asked)
        seconds = server.calls[-1].at - server.calls[0].at
        # A twelfth may go at once, the rest at 1500 a second; a call is counted before it is sent.
        assert server.used <= 90_000 / 12 + 1500 * seconds + 2 * tokens_of(asked[0].prompt)
        assert seconds > 0.5


# --- arguments -----------------------------------------------------------------------------------------------------


def test_keys_come_from_the_environment_alone(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ArgumentError, match="OPENAI_API_KEY must hold the key"):
        OpenAIBackend.connect("m")
    with pytest.raises(ArgumentError, match="MY_KEY must hold the key"):
        OpenAIBackend.connect("m", base_url="http://127.0.0.1:1/v1", key_env="MY_KEY")
    monkeypatch.setenv("MY_KEY", KEY)
    with FaultServer() as server, OpenAIBackend.connect("m", base_url=server.url, key_env="MY_KEY") as backend:
        backend.ask(requests(1))
        assert server.calls[0].key == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("url", "key_env"),
    [
        ("http://me:secret-word@x/v1", None),
        ("http://x/v1?key=secret-word", None),
        ("secret-word", None),
        ("http://x/v1", "sk-secret-word"),
    ],
)
def test_keys_in_other_places_are_refused_and_not_repeated(url, key_env):
    with pytest.raises(ArgumentError) as error:
        OpenAIBackend.connect("m", base_url=url, key_env=key_env)
    assert "secret-word" not in str(error.value)


def test_a_system_prompt_needs_the_chat():
    asked = [LabelRequest("1", (0, 1), "?", ("A", "B"), "Be brief.")]
    with FaultServer() as server:
        with connected(server) as backend:
            backend.ask(asked)
            assert [m["role"] for m in server.calls[0].body["messages"]] == ["system", "user"]
        with connected(server, endpoint="completions") as backend, pytest.raises(ArgumentError, match="chat endpoint"):
            backend.ask(asked)


def test_prices(tmp_path):
    toml, json_ = tmp_path / "p.toml", tmp_path / "p.json"
    toml.write_text('["gpt-4o"]\ninput = 2.5\noutput = 10\n')
    json_.write_text('{"gpt-4o": {"input": 2.5, "output": 10}}')
    for path in (toml, json_):
        assert read_price(str(path), "gpt-4o") == Price(2.5, 10.0)
        with pytest.raises(ArgumentError, match=r"must have the model 'x'.*has gpt-4o"):
            read_price(str(path), "x")


@pytest.mark.parametrize(
    "text",
    [
        '{"m": {"input": -1, "output": 1}}',
        '{"m": {"input": 1}}',
        '{"m": 3}',
        "[1]",
        "{",
        '{"m": {"input": NaN, "output": 1}}',
        '{"m": {"input": true, "output": 1}}',
        '{"m": {"input": 1' + "0" * 400 + ', "output": 1}}',
        '{"m": {"input": 1e400, "output": 1}}',
        "[" * 100_000,
        '{"m": {"input": 1, "input": 2, "output": 1}}',
    ],
)
def test_bad_prices_are_errors(tmp_path, text):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(ArgumentError, match="--prices must"):
        read_price(str(path), "m")


def test_a_cap_on_cost_needs_a_price():
    with pytest.raises(ArgumentError, match="--max-cost needs --prices"):
        Caps(cost=1.0)
