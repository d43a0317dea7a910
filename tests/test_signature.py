"""Signatures: one string per set of settings."""

from hypothesis import given
from hypothesis import strategies as st

from orderbias.signature import Signature, text_hash

keys = st.sampled_from(["data", "model", "seed", "dtype"])
settings = st.dictionaries(keys, st.text("abc 1|\n", max_size=4))


@given(settings, settings)
def test_two_signatures_differ_exactly_where_a_setting_does(a, b):
    ours, theirs = Signature.of(**a), Signature.of(**b)
    clean = {k: v.replace("|", "/").replace("\n", " ") for k, v in a.items()}
    assert ours.as_dict() == clean
    assert "\n" not in str(ours)
    differing = {d.split(":")[0] for d in ours.differences(theirs)}
    mine, other = ours.as_dict(), theirs.as_dict()
    assert differing == {k for k in mine.keys() | other.keys() if mine.get(k) != other.get(k)}


def test_none_is_left_out_and_a_repeated_key_keeps_its_place():
    s = Signature.of(model="m", group=None, seed=1)
    assert str(s.extended(seed=2, model="n")) == "model:n|seed:2"


@given(st.lists(st.text(max_size=3), max_size=4), st.lists(st.text(max_size=3), max_size=4))
def test_hashes_tell_lists_of_texts_apart(a, b):
    assert (text_hash(a) == text_hash(b)) == (a == b)
