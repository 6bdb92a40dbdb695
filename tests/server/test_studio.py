"""A real server shows, runs, stops, resumes and forks both graphs, as LangGraph Studio needs it."""

import importlib.util
import json
import tomllib

import httpx
import pytest

from tests.server.conftest import ROOT, asked, chat, said

pytestmark = pytest.mark.timeout(600)  # servers start, and machines that run tests are busy

RESULT = {"remember": "receipt", "recall": "recollection"}
FIRST, LAST = "identify", {"remember": "report_run", "recall": "conclude"}


@pytest.mark.parametrize("name", ["remember", "recall"])
def test_each_graph_is_shown(opened, name):
    """Its drawing holds its steps, and forms can be made of its schemas."""
    client = opened.client()
    (assistant,) = [found for found in client.assistants.search() if found["graph_id"] == name]

    drawn = client.assistants.get_graph(assistant["assistant_id"], xray=True)
    schemas = client.assistants.get_schemas(assistant["assistant_id"])

    assert assistant["name"] == name
    assert assistant["description"]
    assert {FIRST, LAST[name]} < {node["id"] for node in drawn["nodes"]}
    assert len(drawn["edges"]) > len(drawn["nodes"]) / 2
    assert all(schemas[kind] for kind in ("input_schema", "output_schema", "state_schema", "context_schema"))
    assert schemas["input_schema"]["properties"].keys() == {"request"}
    assert schemas["output_schema"]["properties"].keys() == {RESULT[name]}
    assert {"usage", "request"} < schemas["state_schema"]["properties"].keys()
    assert schemas["context_schema"]["properties"].keys() == {"user_id", "tenant", "agent_id"}


def test_a_server_without_a_model_says_that_to_improve_takes_one(opened, user):
    """The graph for schedules is served, runs for whom its context names, and its failure is plain."""
    client = opened.client()

    failed = client.runs.wait(None, "improve", input={"budget": 500}, context={"user_id": user}, raise_error=False)

    assert "language model" in failed["__error__"]["message"]


def test_runs_stream_what_each_step_did(opened, user):
    """No update is empty: the state of every step can be seen, and each step tells when it begins and ends."""
    client = opened.client()
    thread = client.threads.create()["thread_id"]

    message = said("I camped at Lake Bled.", user_id=user)
    written = list(client.runs.stream(thread, "remember", input=message, stream_mode=["updates", "custom"]))
    client.runs.wait(thread, "recall", input=asked("Where did Ana camp?", user_id=user))

    output = [(part.data["step"], part.data["status"]) for part in written if part.event == "custom"]
    steps = {step: update for part in written if part.event == "updates" for step, update in part.data.items()}
    assert next(iter(steps)) == FIRST
    assert next(reversed(steps)) == LAST["remember"]
    assert all(steps[step] for step in ("receive", "segment", "extract", "verify", "filter_candidates", "report_run"))
    assert output == [(step, status) for step in steps for status in ("started", "done")]
    assert {part.data["graph"] for part in written if part.event == "custom"} == {"remember"}
    assert steps["receive"]["turns"][0]["text"] == "I camped at Lake Bled."
    assert "Bled" in client.threads.get_state(thread)["values"]["recollection"]["answer"]


def test_every_step_is_a_checkpoint_that_can_be_forked(opened, user):
    """History has a checkpoint for each step; a run from an old one asks something else."""
    client = opened.client()
    message = said("My cat is called Miso. My dog is called Rex.", user_id=user)
    client.runs.wait(None, "remember", input=message)
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "recall", input=asked("What is Ana's cat called?", user_id=user))

    history = client.threads.get_history(thread, limit=50)
    (before,) = [saved for saved in history if saved["next"] == ["parse_intent"]]
    fork = client.threads.update_state(
        thread, asked("What is Ana's dog called?", user_id=user), checkpoint=before["checkpoint"], as_node=FIRST
    )
    forked = client.runs.wait(thread, "recall", checkpoint=fork["checkpoint"])

    assert history[0]["next"] == []
    assert "Miso" in history[0]["values"]["recollection"]["answer"]
    assert "Rex" in forked["recollection"]["answer"]


def test_an_agent_remembers_from_thread_to_thread(opened, user):
    """What was said on one thread is known on the next; a form offers the model and the prompt."""
    client = opened.client()
    (assistant,) = client.assistants.search(graph_id="agent")
    schemas = client.assistants.get_schemas(assistant["assistant_id"])
    message, asking = chat("My cat is called Miso."), chat("What is my cat called?")

    client.runs.wait(client.threads.create()["thread_id"], "agent", input=message, context={"user_id": user})
    answered = client.runs.wait(client.threads.create()["thread_id"], "agent", input=asking, context={"user_id": user})
    other = client.runs.wait(None, "agent", input=asking, context={"user_id": f"not {user}"})

    fields = schemas["context_schema"]["properties"].values()
    nodes = {node["id"] for node in client.assistants.get_graph(assistant["assistant_id"])["nodes"]}
    assert {field.get("langgraph_type") for field in fields} >= {"model", "prompt"}
    assert {node for field in fields for node in field.get("langgraph_nodes", ())} <= nodes
    assert all(schemas[kind] for kind in ("input_schema", "output_schema", "state_schema"))
    assert "Miso" in answered["messages"][-1]["content"]
    assert "Miso" not in other["messages"][-1]["content"]


def test_a_run_waits_for_a_person_and_goes_on(opened, user):
    """What would supersede something is shown, and done once it is approved."""
    client = opened.client()
    client.runs.wait(None, "remember", input=said("I live in Lisbon.", 1, "a", user_id=user))
    thread = client.threads.create()["thread_id"]
    client.runs.wait(thread, "remember", input=said("I live in Porto.", 2, "b", user_id=user))

    waiting = client.threads.get_state(thread)
    done = client.runs.wait(thread, "remember", command={"resume": "approve"})

    (interrupt,) = waiting["interrupts"]
    (decision,) = interrupt["value"]["decisions"]
    assert client.threads.get(thread)["status"] == "idle"
    assert waiting["next"] == ["approve_updates"]
    assert (decision["action"], decision["old"]) == ("SUPERSEDE", ["Ana: I live in Lisbon."])
    assert done["receipt"]["decisions"] == 1
    decisions = client.threads.get_state(thread)["values"]["decisions"]
    assert [decision["action"] for decision in decisions] == ["SUPERSEDE"]


def test_an_assistant_of_one_s_own_reports_an_input_that_does_not_fit(opened, user):
    """It is looked at when the run begins."""
    client = opened.client()
    mine = client.assistants.create("recall", context={"user_id": user})["assistant_id"]

    failed = client.runs.wait(None, mine, input={"question": "Where?"}, raise_error=False)

    assert failed["__error__"]["error"] == "InvalidInput"
    assert "request.query: Field required" in failed["__error__"]["message"]


@pytest.mark.parametrize("address", ["http://10.0.0.8/done", "http://192.168.1.2/", "http://169.254.169.254/latest"])
def test_no_address_of_a_private_network_is_told_of_a_run(opened, user, address):
    """Whoever may start a run must not reach what stands beside the server."""
    run = {"assistant_id": "recall", "input": asked("Where?", user_id=user), "webhook": address}

    assert httpx.post(f"{opened.url}/runs/wait", json=run, timeout=60).status_code == 422


def test_nothing_blocks_the_event_loop(opened, user):
    """The development server refuses blocking calls, and says so in its log; pages of the inspector are none."""
    opened.client().runs.wait(None, "remember", input=said("I teach maths.", user_id=user))
    shown = [httpx.get(f"{opened.url}/memory{path}", params={"user": user}) for path in ("", "/health", "/style.css")]

    log = opened.log.read_text()

    assert "BlockingError" not in log
    assert [answer.status_code for answer in shown] == [200, 200, 200]
    assert "I teach maths." in shown[0].text


def test_a_page_of_studio_may_ask_whether_it_may_call(opened):
    """Browsers ask first, and name the private network."""
    headers = {
        "Origin": "https://smith.langchain.com",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Private-Network": "true",
    }

    answer = httpx.options(f"{opened.url}/assistants/search", headers=headers)

    assert answer.status_code == 200
    assert answer.headers["access-control-allow-private-network"] == "true"


def test_only_this_machine_may_call_without_a_token(opened):
    """A page of elsewhere, or another name for this machine, is turned away."""
    own = {}, {"Origin": "https://smith.langchain.com"}, {"Origin": "http://localhost:3000"}
    foreign = {"Origin": "https://example.com"}, {"Host": "rebound.example.com"}

    answers = [httpx.post(f"{opened.url}/assistants/search", json={}, headers=sent) for sent in (*own, *foreign)]

    assert [answer.status_code for answer in answers] == [200] * 3 + [401] * 2


def test_the_example_of_the_sdk_runs(guarded, capsys):
    """It keeps, recalls and talks."""
    spec = importlib.util.spec_from_file_location("sdk_client", ROOT / "examples" / "sdk_client.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    example.main(guarded.url, "token-of-reader")

    kept, steps, output, *chatted = capsys.readouterr().out.splitlines()
    assert kept == "3 turns stored"
    assert steps.startswith("identify -> parse_intent -> light_retrieve")
    assert "Lake Bled" in output
    assert "sister" in " ".join(chatted)


def test_the_repository_and_the_package_serve_the_same():
    """`langgraph dev` in the repository and `engram serve` differ in nothing.

    An image needs what extras bring; without bounds, for the shell that builds it would take ">" for its own.
    """
    from langgraph_engram.cli.serve import CONFIGURATION, ENVIRONMENT

    output = json.loads((ROOT / "langgraph.json").read_text(encoding="utf-8"))
    own, *needed = output.pop("dependencies")

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert output == {**CONFIGURATION, "env": ENVIRONMENT}
    assert own == "."
    assert set(needed) == {
        extra.split(">")[0] for name in ("offline", "agents", "mcp", "inspect") for extra in extras[name]
    }


@pytest.mark.parametrize(
    ("graph", "sent"),
    [
        ("remember", {"input": {"request": {"messages": [{"role": "user", "text": "I live in Lisbon."}]}}}),
        ("recall", {"input": {"request": {"query": "Where?", "user_id": " "}}, "context": {"user_id": " "}}),
        ("agent", {"input": chat("Hello!")}),
        ("agent", {"command": {"resume": "approve"}}),
    ],
)
def test_a_run_that_names_no_user_is_refused_before_it_begins(opened, graph, sent):
    """By a server that knows nobody: with one line to the client, and no traceback in the log."""
    before = opened.log.read_text()
    thread = opened.http().post("/threads", json={}).json()["thread_id"]

    answer = opened.http().post(f"/threads/{thread}/runs/wait", json={"assistant_id": graph, **sent})

    assert answer.status_code == 422
    assert "user_id" in answer.json()["detail"]
    assert "\n" not in answer.json()["detail"]
    assert "Traceback" not in opened.log.read_text()[len(before) :]


def test_a_graph_of_ones_own_is_served_beside_ours(guarded):
    """Its user is the one whose token was sent, whatever the request says."""
    said = [{"role": "user", "speaker": "Ana", "text": "My cat is called Miso."}]
    guarded.client("owner").runs.wait(None, "remember", input={"request": {"messages": said}})
    asked = {"question": "What is the cat called?"}
    sent = {"configurable": {"user_id": "owner", "langgraph_user_id": "owner", "langgraph_auth_user_id": "owner"}}

    mine, other = (
        guarded.client(name).runs.wait(None, "mine", input=asked, config=sent) for name in ("owner", "other")
    )

    assert (mine["user"], "Miso" in mine["found"]) == ("owner", True)
    assert (other["user"], other["found"]) == ("other", "")


def test_the_log_is_quiet_and_has_no_colours(guarded):
    """The addresses, and no banner; no escape codes, since it is no terminal."""
    log = guarded.log.read_text()

    assert guarded.url in log
    assert "graphs: mine, remember, recall, agent" in log
    assert "\033" not in log
    assert "Welcome" not in log
