"""`m3 privacy probe`: whether any of some texts still stands in the bytes of our files or in the store."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING

from m3_memory.app import App
from m3_memory.config import load_settings
from m3_memory.errors import InvalidArgument
from m3_memory.storage.probe import our_files, probe_files, probe_rows
from m3_memory.surfaces.cli.command import answer
from m3_memory.surfaces.cli.signing_in import as_operator

if TYPE_CHECKING:
    from argparse import Namespace

    from m3_memory.launch import Launch

NOTHING, FOUND = 0, 8
"""The exit codes: none of the texts was found; one was."""


def run(launch: Launch, given: Namespace) -> int:
    """Answers {found, places, files}: where one of the texts stands, and how many files were read.

    Texts are the command's, or with none the lines of its standard input. They are stored nowhere. Asks for
    the operator's passphrase: it reads what is everybody's.
    """
    texts = given.texts or [line.rstrip("\n") for line in sys.stdin]
    if not (texts := [text for text in texts if text.strip()]):
        raise InvalidArgument("there is no text to look for", "m3 privacy probe TEXT…, or lines on its input")
    settings = load_settings()
    with closing(App.open(settings, store=launch.store, as_it_is=True)) as app:
        caller, _ = app.caller_for(launch)
        as_operator(app, caller)
        with app.database.read(caller.user_id) as reader:
            traces = list(probe_rows(reader, texts))
    files = our_files(settings.home)
    traces += probe_files(files, texts)
    places = [trace._asdict() for trace in traces]
    answer(launch, {"found": bool(places), "places": places, "files": len(files)})
    return FOUND if places else NOTHING
