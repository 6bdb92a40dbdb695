"""Chats, tables, dialogues and notes become sessions, or are refused with the line that is wrong."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.errors import EngramError, InvalidInput, InvalidMessages, UnreadableFile
from langgraph_engram.formats.files import parse_conversations

WHATSAPP_STYLES = [
    "[13/06/2024, 09:15:33] Ana: I keep bees.\n[13/06/2024, 09:16:01] Ben: Since when?",
    "\u200e[13/06/24, 9:15:33\u202fAM] Ana: I keep bees.\n[13/06/24, 9:16:01\u202fAM] Ben: Since when?",
    "6/13/24, 9:15 AM - Ana: I keep bees.\n6/13/24, 9:16 AM - Ben: Since when?",
    "13.06.24, 09:15 - Ana: I keep bees.\n13.06.24, 09:16 - Ben: Since when?",
    "13-06-2024 09:15 - Ana: I keep bees.\n13-06-2024 09:16 - Ben: Since when?",
    "2024-06-13, 9:15 a.m. - Ana: I keep bees.\n2024-06-13, 9:16 a.m. - Ben: Since when?",
    "[13.6.2024, 09.15.33] ~\u202fAna: I keep bees.\n[13.6.2024, 09.16.01] Ben: Since when?",
]


def parse(text, name="chat.txt", format="auto", **options):
    return parse_conversations(text.encode(), name, format, **options)


def said(parsed):
    return [(message.speaker, message.text) for session in parsed.sessions for message in session.messages]


@pytest.mark.parametrize("text", WHATSAPP_STYLES)
def test_whatsapp_is_read_in_each_of_its_styles(text):
    """Brackets or a dash, seconds or none, twelve hours or twenty-four, and every order of a date that is certain."""
    parsed = parse(text, "_chat.txt")

    [session] = parsed.sessions
    assert parsed.format == "whatsapp"
    assert said(parsed) == [("Ana", "I keep bees."), ("Ben", "Since when?")]
    assert session.messages[0].said_at.replace(second=0) == datetime(2024, 6, 13, 9, 15, tzinfo=UTC)
    assert session.session_id == "_chat-2024-06-13"


def test_a_chat_is_a_session_a_day_and_leaves_out_what_nobody_wrote():
    """Messages go on over lines; what WhatsApp wrote, and pictures without words, are no messages."""
    parsed = parse(
        "13/06/2024, 09:15 - Messages and calls are end-to-end encrypted.\n"
        "13/06/2024, 09:15 - Ana: I keep bees.\nSince: 2019\n"
        "13/06/2024, 21:15 - Ben: <Media omitted>\n"
        "14/06/2024, 09:00 - Ben: \u200eIMG-1.jpg (file attached)\nOur new hive\n"
        "14/06/2024, 09:01 - Ana: Lovely \u200e<This message was edited>\n",
        "Chat with Ben.txt",
    )

    assert [session.session_id for session in parsed.sessions] == [
        "Chat with Ben-2024-06-13",
        "Chat with Ben-2024-06-14",
    ]
    assert said(parsed) == [("Ana", "I keep bees.\nSince: 2019"), ("Ben", "Our new hive"), ("Ana", "Lovely")]


ANDROID = (
    "You deleted this message,This message was deleted,null,Missed voice call,Missed group video call,"
    "IMG-20240613-WA0001.jpg (file attached),IMG-20240613-WA0001.jpg (Datei angehängt),Ben Novak.vcf (file attached)"
).split(",")


def test_what_android_writes_itself_without_a_mark_is_no_message():
    """What people write around it, or that reads like it, is."""
    lines = [*ANDROID, "I missed voice call after voice call", f"{ANDROID[-1]}\nMy new number"]

    parsed = parse("\n".join(f"13/06/24, 9:15 am - Ana: {line}" for line in lines))

    assert said(parsed) == [("Ana", lines[-2]), ("Ana", "My new number")]


@pytest.mark.parametrize(
    ("dates", "day"),
    [
        (["03/04/24", "14/04/24"], (2024, 4, 3)),
        (["03/04/24", "04/14/24"], (2024, 3, 4)),
        (["11/02/24", "12/02/24", "01/03/24"], (2024, 2, 11)),
        (["02/11/24", "02/12/24", "03/01/24"], (2024, 2, 11)),
        (["05/05/24"], (2024, 5, 5)),
    ],
)
def test_the_order_of_day_and_month_is_decided_from_the_whole_file(dates, day):
    """A number beyond twelve, or the only order in which time goes forward, decides."""
    parsed = parse("\n".join(f"{date}, 09:15 - Ana: Line {number}." for number, date in enumerate(dates)))

    first = parsed.sessions[0].messages[0].said_at
    assert (first.year, first.month, first.day) == day


def test_an_order_that_stays_uncertain_is_asked_for():
    """The error names the line and both readings; the option decides."""
    text = "03/04/24, 09:15 - Ana: I keep bees.\n04/04/24, 09:15 - Ben: Since when?"

    with pytest.raises(InvalidInput, match=r"chat.txt: line 1: '03/04/24, 09:15' may be 3 April 2024 or 4 March 2024"):
        parse(text)
    assert parse(text, date_order="month_first").sessions[0].messages[0].said_at.month == 3


def test_a_table_is_read_by_the_titles_of_its_columns():
    """Any usual delimiter and title; sessions by their column; times in ISO, in numbers, seconds or eight digits."""
    parsed = parse(
        'Author;Message;Date;Session\nAna;"I keep; bees.";2024-06-13T09:15:00+02:00;one\n'
        "Ben;Since when?;13/06/2024 09:16;one\nAna;2019.;1718269000;two\nBen;Oh.;20240613;two\n",
        "chat.csv",
    )

    first, second = parsed.sessions
    assert parsed.format == "csv"
    assert said(parsed) == [("Ana", "I keep; bees."), ("Ben", "Since when?"), ("Ana", "2019."), ("Ben", "Oh.")]
    assert (first.session_id, second.session_id) == ("one", "two")
    assert [message.said_at.hour for message in first.messages] == [9, 9]
    assert [message.said_at for message in second.messages] == [
        datetime.fromtimestamp(1718269000, UTC),
        datetime(2024, 6, 13, tzinfo=UTC),
    ]


@pytest.mark.parametrize("stamp", ["2024", "20241301", "202405", "20240501.5", "1714550400000"])
def test_a_number_that_is_no_time_is_refused_with_its_line(stamp):
    """It is never taken for a few seconds of 1970."""
    with pytest.raises(InvalidMessages, match=rf"chat.csv: line 3: .*{stamp[:4]}"):
        parse(f"date,text\n2024-05-01,I camp.\n{stamp},I row.\n", "chat.csv")


def test_a_dialogue_and_notes_are_told_apart():
    """Names with colons in every line are speakers; else each paragraph is the user's. A list of tasks is no JSON."""
    dialogue = parse("Ana: I keep bees.\n\nBen: Since when?\nAna: 2019.")
    notes = parse("Bees: bought two hives.\nThey are blue.\n\n\nThe dentist moved to Elm Street.", "notes.md")

    tasks = parse("[ ] water the bees\n\n[x] paint the hive blue", "notes.md")

    assert (dialogue.format, notes.format, tasks.format) == ("dialogue", "text", "text")
    assert len(said(tasks)) == 2
    assert said(dialogue) == [("Ana", "I keep bees."), ("Ben", "Since when?"), ("Ana", "2019.")]
    assert said(notes) == [
        ("user", "Bees: bought two hives.\nThey are blue."),
        ("user", "The dentist moved to Elm Street."),
    ]


@pytest.mark.parametrize(
    ("text", "name", "format", "problem"),
    [
        ("I keep bees.", "standard input", "auto", "the format cannot be told: say it with --format, one of messages"),
        ("PK\x03\x04...", "chat.zip", "auto", "is a zip archive: unpack it"),
        ("\n \n", "chat.txt", "auto", "expected conversations, but the file is empty"),
        ("Hello\nthere", "chat.txt", "whatsapp", "line 1: expected a line such as [12/06/2024"),
        ("Hello\nthere", "chat.txt", "dialogue", "line 1: expected a name, a colon"),
        ("13/06/24, 09:15 - A: One.\n45/45/24, 09:15 - A: Two.", "chat.txt", "auto", "line 2: '45/45/24, 09:15' is no"),
        ("13/06/24, 09:15 - Joined.", "chat.txt", "auto", "expected at least one message"),
        ("a,b\n1,2", "chat.csv", "auto", "line 1: expected titles of columns, one of them text, content"),
        ("speaker,text\nAna,One\nBen,Two,Three", "chat.csv", "auto", "line 3: expected 2 cells as in the first line"),
        ('speaker,text\nAna,"One\nBen,Two', "chat.csv", "auto", "line 2: expected a row of a table: unexpected end"),
        ("text,date\nOne,2024-01-01\nTwo,soon", "chat.csv", "auto", "line 3: 'soon' is no possible date"),
        ("role,text\nelf,One", "chat.csv", "auto", "line 2: unknown role 'elf'"),
        ("speaker,text\nAna,\nBen,Two", "chat.csv", "auto", 'line 2: there is no "text"'),
        ("I keep bees.", "notes.txt", "chatgpt", "expected JSON or JSON lines, broken at line 1"),
    ],
)
def test_a_bad_file_is_one_line_that_says_where(text, name, format, problem):
    """The name of the file, the line, and what was expected."""
    with pytest.raises(EngramError) as caught:
        parse(text, name, format)

    assert isinstance(caught.value, UnreadableFile | InvalidMessages | InvalidInput)
    assert str(caught.value).startswith(f"{name}: {problem}")
    assert "\n" not in str(caught.value)
