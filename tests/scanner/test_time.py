"""No text, however it is made, takes the scanner long."""

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.processor_time import within
from toolcrib.scanner.scan import scan

PIECES = (
    "a |a. |a1|A7|ab:|%41|%4z|\\u0041|&#65;|' |\"|`|e.g. |+1 |_a|=|\n|![|![a](http://x?|<a |<|im_start|[inst|javascript:|curl x |base64 -d |"
    "mkfifo |rm -|python -c '|ignore |all previous |instructions |do not |tell |the user |before any other |tool |you must |read ~/.ssh |"
    "send it to |https://a.bc/ |x@y.zz |as the |`note` |parameter |your |system prompt |whole |conversation |keep it |from |send_email |"
    "\u0430|\u200b|\U000e0041|\u202e|é|是|忽略|指令|не |"
).split("|")
SECONDS = 1.0


def scan_in_time(words: str) -> None:
    definition = {"name": words[:64], "description": words, "inputSchema": {"properties": {words[:500]: {}}}}
    with within(SECONDS):
        scan(definition)


def test_no_repeated_text_takes_a_second():
    for piece in filter(None, PIECES):
        scan_in_time((piece * 20_000)[:20_000])


@settings(max_examples=25, derandomize=True, deadline=None)
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=12), st.integers(1, 3_000))
def test_no_mixture_of_texts_takes_a_second(pieces, times):
    scan_in_time(("".join(pieces) * times)[:60_000])


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.recursive(
        st.text() | st.none() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_nothing_that_a_server_can_say_breaks_the_scanner(value):
    definition = {"name": "x", "inputSchema": value}
    assert scan(definition) == scan(definition)
