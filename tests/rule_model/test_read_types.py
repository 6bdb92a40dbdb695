"""An answer of the expected type is read off a sentence."""

from datetime import UTC, datetime

import pytest

from langgraph_engram.rules.read_types import holds_type, read_type
from langgraph_engram.text.questions import answer_type
from langgraph_engram.text.tokens import content_stems


@pytest.mark.parametrize(
    ("query", "sentence", "told"),
    [
        # A week and a weekday are told as seen from the day of telling, a day and a month by the calendar.
        ("When did Ana camp?", "We camped last week.", "The week before 8 May 2023"),
        ("When did Ana camp?", "We camped last Friday.", "The Friday before 8 May 2023 (5 May 2023)"),
        ("When did Ana camp?", "We camped two weekends ago.", "Two weekends before 8 May 2023"),
        ("When did Ana camp?", "We camped yesterday.", "7 May 2023"),
        ("When will Ana camp?", "We're camping next month.", "June 2023"),
        ("When did Ana camp?", "I camped there a few years ago.", "A few years before 8 May 2023"),
        # Of two times the one beside what is asked.
        ("When did Ana camp?", "We camped in June 2021, and in July 2022 we sailed.", "June 2021"),
        # Without a time the day of telling is a limit, or the day itself.
        ("When did Ana camp?", "We camped by the lake.", "By 8 May 2023"),
        ("When did Ana win?", "I just won!", "8 May 2023"),
        ("When will Ana sing?", "I will sing in the choir.", "After 8 May 2023"),
        ("How long has Ana known Ben?", "I've known him for six years.", "Six years"),
        ("How long has Ana painted?", "Since 2016, every day.", "Since 2016"),
        ("How long has Ana painted?", "Since I was a child.", "Since they were a child"),
        ("How many hives does Ana keep?", "In 1 garden I keep 14 hives.", "14"),
        ("How many hives does Ana keep?", "That one is mine, and twelve more.", "Twelve"),
        ("How many festivals did Ana visit?", "After the 48-hour contest I went to two more.", "Two"),
        ("How long does Ana hold her breath?", "I hold it for 30-60 seconds, no second more.", "30-60 seconds"),
        ("How many museums did Ana visit?", "Printmaking 101: a guide.", ""),
        ("How many museums did Ana visit?", "We took Spanish 101.", ""),
        ("How many museums did Ana visit?", "Saw 3.", "3"),
        ("How many sheep are there?", "We have twenty-five of them.", "Twenty-five"),
        ("What was the discount Ana got?", "At 3 shops I got 10% off.", "10%"),
        ("What percentage discount did Ana get?", "I got $20 off.", ""),
        ("What is Ana's highest score?", "I scored 132 points in one evening.", "132"),
        # An age is a number of years, and not any number.
        ("How old is Ana?", "I am 32 years old and have two cats.", "32"),
        ("How old is Ana's niece?", "My three-year-old niece has 4 dolls.", "Three-year-old"),
        ("How old was Ana when she left?", "I left just after my 18th birthday.", "18"),
        ("How old was Ana when she left?", "I was nine when we left.", "Nine"),
        ("How old was Ana when she left?", "My dad turned 50 then.", "50"),
        ("How old was Ana when she left?", "I was 5 minutes late, with 3 bags.", ""),
        ("How old was Ana when she left?", "It was 9 am, and it rained.", ""),
        # A time of day is told by a clock, a day of the week by its name or by the day's.
        ("What time does Ana get up?", "I get up at 7:30 am.", "7:30 am"),
        ("What time does Ana get up?", "Lunch is at noon, and I get up at half past six.", "half past six"),
        ("What time does Ana work?", "I work from 9 am to 5 pm.", "9 am to 5 pm"),
        ("What time does Ana close?", "We close at 7.", "7"),
        ("What time does Ana close?", "We close at 7 shops, for 5 dollars.", ""),
        ("What time does Ana close?", "We close in May.", ""),
        ("What day of the week does Ana swim?", "I swim on Fridays.", "Fridays"),
        ("What day of the week did Ana swim?", "I swam yesterday.", "Sunday"),
        ("What day of the week did Ana swim?", "I swam in May.", ""),
        ("What time does Ana get up?", "I go to bed at 10 pm and get up at 6 am.", "6 am"),
        ("What time does Ana get up?", "I get up at 6 but go to bed at 10.", "6"),
        ("What time does Ana get up?", "I get up at 6.30.", "6.30"),
        ("What time does Ana get up?", "At midday, or in 25:30 minutes.", "midday"),
        ("What time did Ana move to Oslo?", "I moved to Oslo in 2019.", "2019"),
        ("What time does Ana swim?", "I swim in June.", ""),
        ("Which weekdays does Ana work?", "I work Mondays, Tuesdays and Fridays.", "Mondays, Tuesdays and Fridays"),
        ("Which days of the week does Ana work?", "I work Mon-Fri.", "Mon-Fri"),
        ("How old is Ana's son Theo?", "I turned 40, but my son Theo is only about 6 years old.", "6"),
        ("How old is Ana's grandmother?", "When I turned 30, my grandmother was 75.", "75"),
        ("How old is Ana?", "I'm 5.5 feet tall, I turned 2 pages, there are 5 in our family.", ""),
        ("How old is Ana's house?", "Our house is over a hundred years old.", "A hundred years old"),
        ("How often does Ana swim?", "Once I swam in the sea, now I swim every day.", "Every day"),
        ("How often does Ana swim?", "I swim three days a week.", "Three days a week"),
        ("How often does Ana swim?", "I swim on Mondays.", "On Mondays"),
        ("How many times did Ana swim?", "I swam twice.", "Twice"),
        ("How many people came?", "Sixty-five people came.", "Sixty-five"),
        ("What is Ana's salary?", "My salary is 60,000 a year.", "60,000"),
        ("What was the discount on Ana's bag?", "On 2 bags I got a $20 discount.", "$20"),
        # A sum is money: of two numbers the one with a currency.
        ("How much money did Ana raise?", "With 12 friends I raised $1,250 for the shelter.", "$1,250"),
        ("How much did Ana pay?", "I got it for 40 euros at 3 in the morning.", "40 euros"),
        ("What was the amount Ana borrowed?", "They gave me $350k at last.", "$350k"),
        ("What is the total amount of money Ana earned?", "I sold 12 plants for $120.", "$120"),
        ("What was the total amount of rain?", "It was 12 inches, for $120 of damage.", "12"),
        ("How much will Ana save?", "A few of us take the train.", ""),
        ("How often does Ana swim?", "I swim three times a week.", "Three times a week"),
        ("How often does Ana swim?", "It is family time.", ""),
        ("How often does Ana swim?", "I swam for 10 years.", ""),
        ("Where does Ana live?", "I live in Tromsø with a cat.", "Tromsø"),
        ("Where did Ana study?", "I studied at the University of Melbourne.", "University of Melbourne"),
        ("Where did Ana study?", "I went to get my books, and to the library.", "The library"),
        ("Where did Ana study?", "I went to study.", ""),
        ("Where did Ana camp?", "I swim on Fridays, and I camped at Lake Bled.", "Lake Bled"),
        ("Where did Ana sing?", "I sang for the first time in a few months.", ""),
        ("Where did Ana sing?", "I put my heart into it, in the old barn.", "The old barn"),
        ("Which city did Ana visit?", "On a walk through the old harbour I saw Ghent.", ""),
        ("Which city did Ana visit?", "Through the old harbour we came to Ghent.", "Ghent"),
        ("Where was Ana last week?", "I was on Sorrel Island on Monday.", "Sorrel Island"),
        ("Where did Ana sail?", "We sailed on Sunday.", ""),
        ("Where does Ana go for coffee?", "For coffee in Lisbon I suggest the Brasileira.", "Lisbon"),
        ("Who is Runa?", "I camped at Lake Bled with my sister Runa.", "Their sister"),
        ("Who is Miso?", "I live in Lisbon with my old cat Miso.", "Their old cat"),
        ("Who is Miso?", "We camped at Lake Bled.", ""),
        ("Who is Miso?", "I moved to Porto.", ""),
        ("Who ate with Ana?", "My mom and Ana ate soup.", "Ana's mom"),
        ("Who did Ana talk to?", "I talked to Runa.", "Runa"),
        ("Who is Ana's sister?", "My sister Runa is a baker.", "Runa"),
        ("Where did Ana hide the key?", "I hid it under a pot in the old shed.", "The old shed"),
        ("Who taught Ana?", "It was Mona Berg, she is patient.", "Mona Berg"),
        ("Who taught Ana?", "My aunt showed me how.", "My aunt"),
        ("Which book did Ana read?", 'I read "The Salt Path" by Raynor Winn.', "The Salt Path by Raynor Winn"),
        ("What brand are Ana's shoes?", "Nordal has been my favorite brand of shoes.", "Nordal"),
        ("What brand are Ana's shoes?", "Running is what the brand wants.", ""),
        ("How many women are on Ana's team?", "Of 10 people half of them are women.", "10"),
        ("How many women are on Ana's team?", "There are 10 people, 6 women.", "6"),
        ("Why did Ana sell the car?", "I sold it because it broke down twice.", "Because it broke down twice"),
        ("Why does Ana run?", "I had to stop, but I run to clear my head.", "To clear their head"),
        ("How did Ana feel?", "Honestly, I felt so proud of it.", "Proud of it"),
        ("Did Ana go?", "Yes, I went there.", "Yes"),
        ("Did Ana go?", "I never went there.", "No"),
        ("When did Ana go to the fair?", "I didn't go to the fair because I was ill.", ""),
        ("When does Ana start her new job?", "I don't start my new job until 10 June.", "10 June 2023"),
        ("When did Ana not go to the fair?", "Last week I didn't go to the fair.", "The week before 8 May 2023"),
        # A judgement is in no sentence; what is open has no type.
        ("Would Ana like to go?", "I love the sea.", ""),
        ("What did Ana cook?", "I cooked soup.", ""),
        ("Why did Ana leave?", "It rained.", ""),
        ("Where does Ana live?", "It rained.", ""),
        ("Who taught Ana?", "It rained.", ""),
        ("How long did it last?", "It rained.", ""),
    ],
)
def test_an_answer_has_the_type_that_is_asked_for(query, sentence, told, said):
    """A time, a span, a number, a place, a name, a reason: none where the sentence holds none."""
    asked = set(content_stems(query))

    assert read_type(query, answer_type(query), said(sentence), asked) == told.replace("My aunt", "Their aunt")


def test_a_time_beside_a_sentence_is_that_of_its_record(said, record):
    """Where the record knows when, and the turn says how it was told."""
    week = {"event_start": datetime(2023, 5, 1, tzinfo=UTC), "event_end": datetime(2023, 5, 7, 23, 59, 59, tzinfo=UTC)}
    camped = record("Ana: We camped.", **week)

    beside = said("We camped.", around="We camped. That was last week.", record=camped)

    assert read_type("When did Ana camp?", "time", beside, {"camp"}) == "The week before 8 May 2023"
    assert read_type("When did Ana camp?", "time", said("We camped.", record=camped), {"camp"}) == (
        "the week of 1 May 2023"
    )


@pytest.mark.parametrize(
    ("query", "sentence", "holds"),
    [
        ("When did Ana camp?", "We camped yesterday.", True),
        ("When did Ana camp?", "We camped.", False),
        ("Where did Ana camp?", "We camped in Norway.", True),
        ("Where did Ana camp?", "We camped.", False),
        ("Did Ana camp?", "We camped.", False),
    ],
)
def test_a_sentence_holds_a_type_or_not(query, sentence, holds, said):
    """What holds it is preferred; where anything could answer, nothing is."""
    assert holds_type(query, answer_type(query), said(sentence), set(content_stems(query))) is holds


@pytest.mark.parametrize(
    "query", ["How many cats?", "How often?", "What discount?", "How much did it cost?", "How old?"]
)
@pytest.mark.parametrize("text", ["1," * 10_000, "one hundred " * 2_000, "at 10:10 " * 2_000, "I was only " * 2_000])
@pytest.mark.timeout(20)
def test_long_rows_are_read_in_time(query, text, said):
    """What looks like an answer again and again is looked at once."""
    read_type(query, answer_type(query), said(text), set(content_stems(query)))
