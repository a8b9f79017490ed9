"""Where things stand in the source. A code object only knows the line of its first decorator."""
from __future__ import annotations

import warnings

from edgestudio._schema import unwrapped
from edgestudio.tools import FunctionType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ONLY_AST = 0x400  # ast.PyCF_ONLY_AST; importing ast takes longer than this whole module


class Lines:
    def __init__(self, source: bytes, path: str) -> None:
        self.path = path
        self.definitions: dict[int, tuple[int, dict[str, int]]] = {}  # first line → line of def, lines of parameters
        self.imports: dict[str, int] = {}
        self.assignments: dict[str, int] = {}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were shown when the file was loaded
            waiting: list[Any] = [compile(source, path, "exec", ONLY_AST, True)]
        while waiting:
            node = waiting.pop()
            kind = type(node).__name__
            if kind in ("FunctionDef", "AsyncFunctionDef"):
                self.add(node)
            elif kind == "ImportFrom":
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = node.lineno
            elif kind in ("Assign", "AnnAssign"):
                for target in getattr(node, "targets", None) or [node.target]:
                    if type(target).__name__ == "Name":
                        self.assignments[target.id] = node.lineno
            for field in ("body", "orelse", "finalbody", "handlers", "cases"):
                below = getattr(node, field, None)
                if type(below) is list:
                    waiting.extend(below)

    def add(self, node: Any) -> None:
        arguments = node.args
        named = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        lines = {argument.arg: argument.lineno for argument in named if argument is not None}
        first = min([node.lineno] + [decorator.lineno for decorator in node.decorator_list])
        self.definitions[first] = (node.lineno, lines)

    def definition(self, function: Any) -> tuple[int, dict[str, int]] | None:
        """Of the innermost function that stands in this file."""
        for layer in reversed(unwrapped(function)):
            if type(layer) is FunctionType and layer.__code__.co_filename == self.path:
                return self.definitions.get(layer.__code__.co_firstlineno, (layer.__code__.co_firstlineno, {}))
        return None

    def of_tool(self, function: Any, bound: str) -> int:
        """The line of its def, of the variable's assignment, or of the import that brought it here."""
        found = self.definition(function)
        return found[0] if found else self.assignments.get(bound) or self.imports.get(bound, self.imports.get("*", 1))

    def of_parameter(self, function: Any, name: str) -> int:
        found = self.definition(function)
        return found[1].get(name, 0) if found else 0
