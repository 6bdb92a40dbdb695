"""What the documentation points at is there, and what it shows is so."""

import contextlib
import importlib.util
import io
import re
from itertools import pairwise
from pathlib import Path

import pytest

from langgraph_engram.settings import Settings

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
SOURCES = ("langgraph_engram", "graphs", "nodes", "prompts", "stores", "tests", "docs", "examples", "lab")
MODULES = {path.name for folder in SOURCES for path in (ROOT / folder).rglob("*.py")} | {"setup.py"}
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
PATH = re.compile(r"`((?:\w+/)+(?:[\w.]+\.(?:py|md|json))?)(?:::\w+)?`")
HAS_LAB = importlib.util.find_spec("engram_lab") is not None
"""Whether `engram bench` is there: the lab is a distribution of its own."""
COMMAND = re.compile(r"^(?:\w+=\S+ )*engram (bench \w+|\w+)([^#\n]*)", re.MULTILINE)


def names(pages: list[Path]) -> list[str]:
    return [str(page.relative_to(ROOT)) for page in pages]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_relative_links_resolve(page):
    """A reader who follows a link arrives, at the heading too."""
    broken = []
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        found = (page.parent / target).resolve() if target else page
        if not found.exists() or (anchor and anchor not in anchors(found)):
            broken.append(f"{target}#{anchor}")

    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_paths_that_are_named_exist(page):
    """A path in backticks stands in the repository, in the package or in the lab."""
    text = page.read_text(encoding="utf-8")
    named, files = set(PATH.findall(text)), set(re.findall(r"`(\w+\.py)`", text))

    assert {path for path in named if not any((base / path).exists() for base in places(page))} == set()
    assert files <= MODULES


def places(page: Path) -> tuple[Path, ...]:
    """Where a path may begin."""
    return ROOT, ROOT / "langgraph_engram", ROOT / "lab/engram_lab", page.parent


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_commands_and_their_options_exist(page):
    """A reader can type what a line of a block shows."""
    from langgraph_engram.cli.main import run

    missing = []
    for command, arguments in COMMAND.findall(page.read_text(encoding="utf-8")):
        if command.startswith("bench") and not HAS_LAB:
            continue
        with contextlib.redirect_stdout(io.StringIO()) as shown:
            code = run([*command.split(), "--help"])
        options = [option for option in re.findall(r"--[a-z-]+", arguments) if option not in shown.getvalue()]
        missing += [f"{command} {option}" for option in options] if code == 0 else [command]

    assert missing == []


def script(name: str):
    """Import a script of `docs/`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_drawings_are_fresh():
    """Both graphs are shown as they are compiled now; `make docs` refreshes them."""
    module = script("draw_graphs")
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")

    for name, drawing in module.drawings().items():
        assert (module.IMAGES / f"{name}.svg").read_text(encoding="utf-8") == drawing
        assert f"(../images/{name}.svg)" in page


def test_the_figures_are_of_the_tables_beside_them():
    """Each table of a figure is read whole, and the figure stands on its page."""
    pytest.importorskip("matplotlib")
    module = script("draw_figures")
    page = module.PAGE.read_text(encoding="utf-8")

    for mark in re.findall(r"<!-- figure: (\S+) -->", page):
        titles, series = module.table(page, mark)
        assert all(len(values) == len(titles) - 1 for values in series.values())
        assert (module.IMAGES / f"{mark}.svg").exists()
        assert f"(../images/{mark}.svg)" in page


def test_every_page_is_in_the_site_and_in_llms_txt():
    """The site leads to each page but single decisions; what models read lists the same pages."""
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    pages = {page for page in pages if not re.match(r"decisions/\d", page)}
    site = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    listed = set(re.findall(r"\]\(([^)]+)\)", (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")))

    assert site == pages
    assert listed == {page.removesuffix(".md").replace("README", "index") + ".html" for page in pages - {"index.md"}}


def test_the_reference_of_commands_has_each_with_its_options():
    """It is made of the help that the command line shows."""
    from langgraph_engram.cli.main import COMMANDS

    reference = script("site_hooks").commands()
    page = (ROOT / "docs" / "reference" / "commands.md").read_text(encoding="utf-8")

    assert all(f"| `engram {command.__name__}" in page for commands in COMMANDS.values() for command in commands)
    assert all(f"## engram {command.__name__}\n" in reference for commands in COMMANDS.values() for command in commands)
    assert ("## engram bench locomo\n" in reference) == HAS_LAB
    assert "`--date-order <day_first|month_first>`" in reference


def test_python_pages_name_what_the_package_exports():
    """Each public name has its docstring in the reference."""
    import langgraph_engram

    page = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^\| \[`(\w+)`\]\(../../([\w/]+)\.py\) \| \w", page, re.MULTILINE))
    methods = {name for name in vars(langgraph_engram.Memory) if not name.startswith("_")}

    assert {name: path.replace("/", ".") for name, path in listed.items()} == langgraph_engram.HOMES
    assert {name for name in methods if f"\n| `{name}` |" not in page and name[1:] not in methods} == set()
    assert all(f"::: {home}" in script("site_hooks").docstrings() for home in langgraph_engram.HOMES.values())


def test_every_step_has_its_promise():
    """The table of the architecture names each node once."""
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## What each step promises")[1].split("\n## ")[0]

    assert sorted(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == sorted(
        path.stem for path in (ROOT / "nodes").glob("[a-z]*.py")
    )


def test_the_layers_are_those_that_are_held():
    """The table of layers has every part of the package, each row above the next one as the test of imports has it."""
    spec = importlib.util.spec_from_file_location("layers", Path(__file__).parent / "test_architecture.py")
    held = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(held)
    height = {part: row for row, parts in enumerate(held.LAYERS) for part in parts if part != "__init__"}
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    table = page.split("## The layers")[1].split("\n## ")[0]

    rows = [re.findall(r"`(\w+)(?:/|\.py)`", line) for line in re.findall(r"^\| (`[^|]*) \|", table, re.MULTILINE)]

    assert sorted(part for row in rows for part in row) == sorted(height)
    assert [
        (above, below)
        for above, below in pairwise(rows)
        if min(height[part] for part in above) <= max(height[part] for part in below)
    ] == []


def test_every_decision_is_in_the_index():
    """Half a page that nobody finds decides nothing."""
    folder = ROOT / "docs" / "decisions"
    index = (folder / "README.md").read_text(encoding="utf-8")

    assert [path.name for path in sorted(folder.glob("0*.md")) if f"({path.name})" not in index] == []


@pytest.mark.parametrize("page", PAGES, ids=names(PAGES))
def test_settings_that_are_named_exist(page):
    """Who copies `group.name` from a page changes something."""
    groups = {
        name: type(field.default).model_fields
        for name, field in Settings.model_fields.items()
        if name not in ("preset", "paper")
    }
    named = re.findall(rf"`({'|'.join(groups)})\.([a-z_0-9]+)", page.read_text(encoding="utf-8"))

    assert [f"{group}.{name}" for group, name in named if name not in groups[group]] == []


def test_the_defaults_of_settings_are_told_as_they_are():
    """The table of single settings says what `Settings()` says."""
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    table = page.split("## Single settings")[1].split("\n## ")[0]
    wrong = []
    for first, second in re.findall(r"^\| (`\w+\.\w+`[^|]*) \| ([^|]+) \|", table, re.MULTILINE):
        for name, told in zip(re.findall(r"`(\w+\.\w+)`", first), second.replace("`", "").split(", "), strict=True):
            group, field = name.split(".")
            held = getattr(getattr(Settings(), group), field)
            if told != shown(held):
                wrong.append((name, told, held))

    assert wrong == []


def shown(value: object) -> str:
    """A value as the tables have it."""
    if value is None:
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value).lower() if isinstance(value, bool) else str(value)
