"""`m3 privacy probe`: whether any of some texts still stands in the bytes of our files or in the store."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from m3_memory.errors import InvalidArgument
from m3_memory.storage.probe import our_files, probe_files, probe_rows
from m3_memory.surfaces.cli.command import answer
from m3_memory.surfaces.cli.opening import opened

if TYPE_CHECKING:
    from argparse import Namespace

    from m3_memory.launch import Launch

NOTHING, FOUND = 0, 8
"""The exit codes: none of the texts was found; one was."""


def run(launch: Launch, given: Namespace, _doors: object) -> int:
    """Answers {found, places, files}: where one of the texts stands, and how many files were looked into.

    A file that can't be read to its end is among the places, as `unreadable`: nobody knows what it holds.

    Texts are the command's, or with none the lines of its standard input. They are stored nowhere. Asks for
    the operator's passphrase: it reads what is everybody's.
    """
    texts = given.texts or [line.rstrip("\n") for line in sys.stdin]
    if not (texts := [text for text in texts if text.strip()]):
        raise InvalidArgument("there is no text to look for", "m3 privacy probe TEXT…, or lines on its input")
    with opened(launch, signed_in=True, as_it_is=True) as (_, ctx), ctx.read() as reader:
        traces = list(probe_rows(reader, texts))
    files = our_files(ctx.settings.home)  # without those that go when the store is closed
    traces += probe_files(files, texts)
    places = [{name: said for name, said in trace._asdict().items() if said != ""} for trace in traces]
    answer(launch, {"found": bool(places), "places": places, "files": len(files)})
    return FOUND if places else NOTHING
