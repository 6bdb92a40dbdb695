"""Every question has its rule, and no text, however odd, stops one."""

from datetime import UTC, datetime

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from langgraph_engram.rule_model.model import RULES, RuleModel
from tests.prompts.conftest import questions_about

TEXTS = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="🏕️👩‍👩‍👧\u200d\u202e\x00\n\t .?!", max_size=20),
    st.sampled_from(
        ["", " ", "?", "...", "I", "9" * 400, "[1] [2]", "on 31 February 9999", "\ud7ff\ufffe", "İstanbul ß"]
    ),
)


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, TEXTS, st.sampled_from([None, datetime(2023, 5, 8, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)]))
def test_no_text_stops_a_rule(first, second, said_at):
    """Whatever was said, each question gets an answer of its type, at no cost."""
    said = (("Ana", first, [first]), (second[:20], second, [second]), ("Ana", second, []))

    results = RuleModel().ask_all(questions := [*questions_about(said, second, said_at).values()])

    assert {type(question) for question in questions} == set(RULES)
    for question, result in zip(questions, results, strict=True):
        assert isinstance(result.answer, question.answer_type())
        assert (result.failure, result.usage.calls, result.usage.prompt_tokens) == (None, 0, 0)
