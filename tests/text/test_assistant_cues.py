"""Queries for the assistant's words are told from queries for the user's own."""

import pytest

from langgraph_engram.text.dialogue_acts import asks_for_assistant


@pytest.mark.parametrize(
    "query",
    [
        "What was the bakery you recommended in Ghent?",
        "Which three stretches did you suggest for a stiff neck?",
        "You told me to rest the dough; how long did you say?",
        "In our previous conversation about kites, how long was the tail?",
        "I am going back to our earlier chess game: where did the bishop end up?",
        "We talked about tide tables earlier. What was the name of the harbour?",
        "Can you remind me of the name of that museum with the clocks?",
        "What was the fourth item on your list?",
        "What did the assistant advise about the leaking tap?",
        "Which poem had you quoted?",
    ],
)
def test_what_the_assistant_said_is_asked_for(query):
    """Speaking to the assistant of what it did, or of an earlier talk of both, is enough."""
    assert asks_for_assistant(query)


@pytest.mark.parametrize(
    "query",
    [
        "Where did I buy my tent?",
        "Can you recommend a bakery in Ghent?",
        "What did I tell you about my sister?",
        "Remind me what I said about the boiler.",
        "Remind me when my lease ends.",
        "What did Ilse suggest to Omar?",
        "How many books have I finished since March?",
        "Do you think I would enjoy sailing?",
        "What is the name of my previous employer?",
    ],
)
def test_other_queries_are_left_alone(query):
    """Requests, the user's own words and other people's are none of the assistant's."""
    assert not asks_for_assistant(query)
