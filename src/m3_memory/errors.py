"""Every error this product raises, as a tree; each class has a stable code.

M3Error
├── InvalidInput              the call cannot be carried out as written; nothing was stored
│   ├── InvalidArgument       an argument is missing, unknown, of the wrong type or out of range
│   ├── UnknownTool           no tool of that name
│   ├── InvalidContent        empty, blank, too long, or holding characters no store can keep
│   ├── InvalidTime           not one of the accepted date forms, or an empty or inverted interval
│   ├── InvalidMetadata       not a JSON object, or it tries to set identity, trust or confidence
│   ├── InvalidId             not a full id where one is needed
│   ├── AmbiguousId           a prefix that several visible memories share
│   ├── SecretRefused         a secret was found and the settings say refuse
│   ├── DamagedExport         an export that was cut off, changed, or is none; nothing was written
│   ├── HostFileInvalid       a host's configuration can't be understood; it was left as it is
│   └── InvalidSettings       the settings file or a variable can't be understood; nothing is guessed
├── Refused                   understood, and not allowed
│   ├── WiderIdentity         an argument asks for more than the caller holds
│   ├── NeedsOperator         only a person who proved to be the operator may do this
│   ├── NeedsGrant            the caller's agent lacks a grant
│   ├── SupersededValue       the value was replaced by one that is current
│   ├── Tombstoned            the value was rejected by a person, or erased
│   ├── DuplicateValue        another current memory already says this
│   ├── PlanStale             what a plan expects is no longer so; nothing of it was done
│   ├── UndoBlocked           a later event stands in the way of an undo
│   ├── StoreNotEmpty         a whole store is restored into an empty one only
│   ├── ServerNameTaken       a host has a server of our name that is not ours
│   ├── NotDispatchable       a tool that is called by its own name only
│   ├── AnswerTooLarge        the answer is larger than one message may be; the call itself was done
│   └── ReadOnlyCall          a reading tool tried to write (a bug of ours)
├── Missing                   there is no such thing for this caller
│   ├── NotFound              no such memory for this caller
│   ├── NotCurrent            the memory is no longer current
│   ├── NoStore               there is no store yet, and this was not to make one
│   └── UnknownStore          no store of that name is declared
└── Unavailable               the store or a model can't serve this now; nothing was half done
    ├── StoreBusy             the write lock did not come free in time
    ├── StoreFull             the disk is full
    ├── StoreReadOnly         the store can't be written
    ├── StoreDamaged          the database reports corruption or a failing disk
    ├── StoreUnreachable      the database can't be opened or the server can't be reached
    ├── UnsafeFolder          the store lies where no database can be kept safely
    ├── StoreTooNew           written by a newer version of this product
    ├── StoreOutdated         written by an older version, and this was not to bring it up to date
    ├── RestartNeeded         the store was migrated under a running process
    ├── DeadlinePassed        the call's time ran out before it was committed
    ├── FileUnavailable       a file that is named can't be read or written
    ├── ServerSilent          the entry of a host starts no server that answers
    └── EmbedderUnavailable   a vector was asked for and no model can give it
"""

from __future__ import annotations

from typing import ClassVar


class M3Error(Exception):
    """Root of all errors. `message` says what happened, `hint` what to do next."""

    code: ClassVar[str] = "internal"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class InvalidInput(M3Error):
    code = "invalid_input"
    exit_code = 2


class InvalidArgument(InvalidInput):
    code = "invalid_argument"


class UnknownTool(InvalidInput):
    code = "unknown_tool"


class InvalidContent(InvalidInput):
    code = "invalid_content"


class InvalidTime(InvalidInput):
    code = "invalid_time"


class InvalidMetadata(InvalidInput):
    code = "invalid_metadata"


class InvalidId(InvalidInput):
    code = "invalid_id"


class AmbiguousId(InvalidInput):
    code = "ambiguous_id"


class SecretRefused(InvalidInput):
    code = "secret_refused"


class DamagedExport(InvalidInput):
    code = "damaged_export"


class HostFileInvalid(InvalidInput):
    code = "host_file_invalid"


class InvalidSettings(InvalidInput):
    code = "invalid_settings"


class Refused(M3Error):
    code = "refused"
    exit_code = 3


class WiderIdentity(Refused):
    code = "wider_identity"


class NeedsOperator(Refused):
    code = "needs_operator"


class NeedsGrant(Refused):
    code = "needs_grant"


class SupersededValue(Refused):
    code = "superseded_value"


class Tombstoned(Refused):
    """`memory_id` is the memory whose value was rejected; empty for one that was erased."""

    code = "tombstoned"

    def __init__(self, message: str, hint: str = "", memory_id: str = "") -> None:
        super().__init__(message, hint)
        self.memory_id = memory_id


class DuplicateValue(Refused):
    code = "duplicate_value"


class PlanStale(Refused):
    code = "stale"


class UndoBlocked(Refused):
    code = "undo_blocked"


class StoreNotEmpty(Refused):
    code = "store_not_empty"


class ServerNameTaken(Refused):
    code = "server_name_taken"


class NotDispatchable(Refused):
    code = "not_dispatchable"


class AnswerTooLarge(Refused):
    code = "answer_too_large"


class ReadOnlyCall(Refused):
    code = "read_only_call"


class Missing(M3Error):
    code = "missing"
    exit_code = 4


class NotFound(Missing):
    code = "not_found"


class NotCurrent(Missing):
    code = "not_current"


class NoStore(Missing):
    code = "no_store"


class UnknownStore(Missing):
    code = "unknown_store"


class Unavailable(M3Error):
    code = "unavailable"
    exit_code = 5


class StoreBusy(Unavailable):
    code = "store_busy"


class StoreFull(Unavailable):
    code = "store_full"


class StoreReadOnly(Unavailable):
    code = "store_read_only"


class StoreDamaged(Unavailable):
    code = "store_damaged"


class StoreUnreachable(Unavailable):
    code = "store_unreachable"


class UnsafeFolder(Unavailable):
    code = "unsafe_folder"


class StoreTooNew(Unavailable):
    code = "store_too_new"


class StoreOutdated(Unavailable):
    code = "store_outdated"


class RestartNeeded(Unavailable):
    code = "restart_needed"


class DeadlinePassed(Unavailable):
    code = "deadline_passed"


class FileUnavailable(Unavailable):
    code = "file_unavailable"


class ServerSilent(Unavailable):
    code = "server_silent"


class EmbedderUnavailable(Unavailable):
    code = "embedder_unavailable"
