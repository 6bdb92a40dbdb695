"""Find the packages: those inside `langgraph_engram`, and the four folders that stand beside it.

`graphs nodes prompts stores` are imported as `langgraph_engram.graphs` and so on. The links in `langgraph_engram/` say
the same to type checkers and editors; nothing is installed through them, so that a checkout without links installs too
(docs/decisions/0001-one-memory-and-its-laboratory.md).
"""

from setuptools import find_packages, setup

PACKAGE = "langgraph_engram"
FOLDERS = ("graphs", "nodes", "prompts", "stores")

linked = [f"{PACKAGE}.{folder}{below}" for folder in FOLDERS for below in ("", ".*")]
inside = find_packages(include=[PACKAGE, f"{PACKAGE}.*"], exclude=linked)
beside = find_packages(include=[name for folder in FOLDERS for name in (folder, f"{folder}.*")])

setup(
    packages=[*inside, *(f"{PACKAGE}.{name}" for name in beside)],
    package_dir={f"{PACKAGE}.{folder}": folder for folder in FOLDERS},
)
