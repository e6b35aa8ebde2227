"""A contract of our own for import-linter: how a slice may be entered from outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from importlinter import Contract, ContractCheck, fields, output

if TYPE_CHECKING:
    from collections.abc import Iterator

    from grimp import ImportGraph


class DoorsContract(Contract):
    """Modules in a child of `package` import from another child only its modules named in `doors`.

    Modules outside the package may import all but those named in `private`.
    """

    type_name = "doors"

    package = fields.StringField()
    doors = fields.SetField(subfield=fields.StringField())
    private = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Lists every import that does not go through a door."""
        broken = sorted(self._broken(graph))
        return ContractCheck(kept=not broken, metadata={"broken": broken})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Prints each such import on a line."""
        for importer, imported in cast("list[tuple[str, str]]", check.metadata["broken"]):
            output.print_error(f"- {importer} -> {imported}", bold=False)
        output.new_line()

    def _broken(self, graph: ImportGraph) -> Iterator[tuple[str, str]]:
        for imported in graph.modules:
            child, module = self._place(imported)
            if module:
                for importer in graph.find_modules_that_directly_import(imported):
                    if self._place(importer)[0] != child and not self._allows(importer, module):
                        yield importer, imported

    def _allows(self, importer: str, module: str) -> bool:
        if self._place(importer)[0]:
            return module in cast("set[str]", self.doors)
        return module not in cast("set[str]", self.private)

    def _place(self, module: str) -> tuple[str, str]:
        """The child of the package and the module in it that a name stands in; empty where there is none."""
        prefix = f"{self.package}."
        if not module.startswith(prefix):
            return "", ""
        child, _, rest = module.removeprefix(prefix).partition(".")
        return child, rest.partition(".")[0]
