"""Signing in: the operator's passphrase, typed at the terminal, proves who a command acts for."""

from __future__ import annotations

import getpass
import math
import os
import sys
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from m3_memory.domains.agents.service import operators
from m3_memory.errors import InvalidArgument, NeedsOperator

if TYPE_CHECKING:
    from m3_memory.app import App
    from m3_memory.context import Context
    from m3_memory.domains.agents.model import Proof
    from m3_memory.kernel.caller import Caller

_proofs: list[Proof] = []
"""What this process was given, newest last; no other process learns it."""


def as_operator(app: App, caller: Caller) -> Caller:
    """The caller as the operator, once the passphrase was typed at the terminal, or not long ago.

    A proof is good for fifteen minutes in this process, and until the passphrase is changed. Raises
    NeedsOperator where no passphrase was set up, there is no terminal, or what was typed is not it.
    """
    known = _proofs[-1] if _proofs else None
    if not operators.is_signed_in(app.context(caller), known):
        sign_in(app, caller)
    return caller.as_operator()


def sign_in(app: App, caller: Caller) -> Proof:
    """Asks for the passphrase, whether or not it was given before. Raises NeedsOperator."""
    _, proof = proved(replace(app.context(caller), deadline=math.inf), "Operator's passphrase: ")
    _proofs.append(proof)
    return proof


def proved(ctx: Context, prompt: str) -> tuple[str, Proof]:
    """The operator's passphrase as typed, and the proof it is. Raises NeedsOperator."""
    operators.is_signed_in(ctx, None)
    typed = ask_unseen(prompt)
    return typed, operators.prove(ctx, typed)


def ask_unseen(prompt: str) -> str:
    """One line typed at the process's terminal, without being shown: never an argument, a variable or a pipe.

    Raises NeedsOperator where there is no terminal, InvalidArgument for what is no text or ends too early.
    """
    try:
        _ensure_terminal()
        with warnings.catch_warnings():
            warnings.simplefilter("error", getpass.GetPassWarning)
            return getpass.getpass(prompt)
    except (OSError, getpass.GetPassWarning) as error:
        raise NeedsOperator(
            "this is an operator's, and there is no terminal to type the passphrase at",
            "run it yourself at a terminal; the passphrase is never an argument, a variable or a file",
        ) from error
    except (EOFError, UnicodeDecodeError) as error:
        raise InvalidArgument("the line typed did not end, or is no text", "type it again") from error


def _ensure_terminal() -> None:
    """Raises OSError where there is none: what getpass takes in its place may be a pipe."""
    if sys.platform != "win32":
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    elif not sys.stdin.isatty():
        raise OSError
