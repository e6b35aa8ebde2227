"""What passes between the server and the session that runs its calls, and the shape of the catalog.

Only type checkers import this module: the start path pays for none of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypeAlias, TypedDict

if TYPE_CHECKING:
    from collections.abc import Callable

    from m3_memory.launch import Launch

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Object: TypeAlias = "dict[str, Json]"
RequestId: TypeAlias = "int | str"


class Domain(TypedDict):
    """One domain of the generated catalog."""

    name: str
    description: str
    tool_count: int


class Tool(TypedDict):
    """One tool of the generated catalog; `inputSchema` and what follows are sent as they stand."""

    name: str
    title: str
    domain: str
    essential: bool
    effect: str
    description: str
    inputSchema: Object
    outputSchema: Object
    annotations: Object


class CatalogFile(TypedDict):
    """The generated catalog."""

    version: str
    instructions: str
    domains: list[Domain]
    aliases: dict[str, str]
    tools: list[Tool]


class Client(Protocol):
    """Who is connected, as it calls itself; the empty string means it did not say."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def roots(self) -> tuple[str, ...]:
        """URIs of the client's roots; the first read may wait up to two seconds for the client.

        Empty where the client offers no roots or did not answer.
        """
        ...


class Outcome(Protocol):
    """What a tool call came to: a structured answer and its text twin, or an error's text alone."""

    @property
    def structured(self) -> Object | None: ...
    @property
    def text(self) -> str: ...
    @property
    def is_error(self) -> bool: ...


class Session(Protocol):
    """The product behind the protocol. Calls come from several threads at once."""

    def call(self, name: str, arguments: Object, client: Client, cancelled: Callable[[], bool]) -> Outcome:
        """Runs one tool of the catalog. `cancelled` turns true when the client gave the call up."""
        ...

    def settle(
        self, outcome: Outcome, decision: str, client: Client, cancelled: Callable[[], bool]
    ) -> Outcome:
        """The outcome of a disputed write, once a person decided by the client's own prompt what holds."""
        ...

    def close(self) -> None: ...


OpenSession: TypeAlias = "Callable[[Launch], Session]"
