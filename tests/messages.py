"""Messages of all errors, warnings and diagnostics, in ``tests/messages.txt``: ``python -m tests.messages --update``.

Messages are collected from the source. Placeholders have the last name of the expression that fills them. Lines below a message
that start with a placeholder list the texts that its function can fill in. A new or changed message shows in the diff of
``messages.txt``; read it as someone who has never seen the source.
"""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "guestlist"
SNAPSHOT = Path(__file__).parent / "messages.txt"
ERRORS = re.compile(r"\w*(Error|Warning|BadParameter)")
OTHER_CALLS = {"warn": "AuditWarning", "fail": "BadParameter"}
FIELDS = {"missing", "advice", "message", "remedy"}  # of the tables of evidence, frameworks and diagnostics
TEXT_MODULES = ("_diagnostics",)  # packages where each function that returns a text writes a message
MIN_WORDS = 3  # shorter texts are names


def source_files() -> list[Path]:
    """Return the modules of the package."""
    return sorted(SOURCE.rglob("*.py"))


def module_messages(path: Path) -> Iterator[str]:
    """Yield one entry for each message of a module, in the order of its lines."""
    tree = ast.parse(path.read_text("utf-8"))
    constants = _assigned(tree.body)
    name = path.relative_to(SOURCE).as_posix()
    for where, function, node, kind, value in _found(tree, name):
        texts = {**constants, **_assigned(ast.walk(function) if function else ())}
        for text in _texts(value, texts):
            if len(text.split()) >= MIN_WORDS:
                yield "\n".join([f"{name}: {where}", f"    {kind}: {text}", *_fillers(text, texts, node)])


def snapshot() -> str:
    """Return the text of the file with all messages."""
    entries = dict.fromkeys(entry for path in source_files() for entry in module_messages(path))
    return "\n".join(entries) + "\n"


def _found(tree: ast.Module, module: str) -> Iterator[tuple[str, ast.AST | None, ast.AST, str, ast.expr]]:
    """Yield where a message is, its function, its node, its kind and the expression of its text."""
    stack: list[tuple[ast.AST, tuple[str, ...], ast.AST | None]] = [(tree, (), None)]
    entries = []
    while stack:
        node, names, function = stack.pop()
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names = (*names, node.name)
            if isinstance(node, ast.FunctionDef):
                function = node
        where = ".".join(names) or "(module)"
        for kind, value in _of_node(node, function, module):
            entries.append((node.lineno, node.col_offset, (where, function, node, kind, value)))
        stack.extend((child, names, function) for child in ast.iter_child_nodes(node))
    for _, _, entry in sorted(entries, key=lambda item: item[:2]):
        yield entry


def _of_node(node: ast.AST, function: ast.AST | None, module: str) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(node, ast.Call):
        called = _last_name(node.func)
        if ERRORS.fullmatch(called) or called in OTHER_CALLS:
            yield from ((OTHER_CALLS.get(called, called), value) for value in node.args[:1])
        elif called == "needs":  # target.needs(capability, message)
            yield from (("InputError", value) for value in node.args[1:])
        else:
            code = "".join(
                f"{text} " for word in node.keywords if word.arg == "code" for text in _texts(word.value, {})
            )
            yield from ((f"{code}{word.arg}", word.value) for word in node.keywords if word.arg in FIELDS)
    in_text_module = module.startswith(TEXT_MODULES)
    if in_text_module and isinstance(node, ast.Return) and node.value is not None and _returns_text(function):
        yield "message", node.value


def _returns_text(function: ast.AST | None) -> bool:
    return (
        isinstance(function, ast.FunctionDef)
        and function.returns is not None
        and "str" in ast.unparse(function.returns)
    )


def _assigned(nodes) -> dict[str, list[str]]:
    """Return the texts that are assigned to each name."""
    texts: dict[str, list[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    texts.setdefault(target.id, []).extend(_texts(node.value, {}))
    return {name: values for name, values in texts.items() if values}


def _texts(value: ast.expr, names: dict[str, list[str]]) -> list[str]:
    """Return the texts that an expression can have, or none if it has no text in it."""
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return [value.value]
    if isinstance(value, ast.JoinedStr):
        return ["".join(_piece(piece) for piece in value.values)]
    if isinstance(value, ast.IfExp):
        return _texts(value.body, names) + _texts(value.orelse, names)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        first = _texts(value.left, {}) or [f"{{{_last_name(value.left)}}}"]
        right = _texts(value.right, {}) or [f"{{{_last_name(value.right)}}}"]
        return [a + b for a in first for b in right]
    if (
        isinstance(value, ast.Call)
        and _last_name(value.func) in ("format", "join")
        and isinstance(value.func, ast.Attribute)
    ):
        return _texts(value.func.value, names)
    if isinstance(value, ast.Name):
        return names.get(value.id, [])
    if isinstance(value, ast.Dict):
        return [text for item in value.values for text in _texts(item, names)]
    if isinstance(value, ast.Tuple):
        return [text for item in value.elts for text in _texts(item, names)]
    if isinstance(value, ast.Subscript):
        return _texts(value.value, names)
    return []


def _piece(piece: ast.expr) -> str:
    if isinstance(piece, ast.FormattedValue):
        return f"{{{_last_name(piece.value)}}}"
    return str(piece.value)


def _last_name(value: ast.AST) -> str:
    """Return the last name of an expression: of ``len(self.members)`` it is ``members``."""
    if isinstance(value, ast.Attribute):
        return value.attr
    if isinstance(value, ast.Name):
        return value.id
    if isinstance(value, ast.Constant):
        return str(value.value)
    if isinstance(value, ast.Subscript):
        inner = value.slice if isinstance(value.slice, ast.Constant | ast.Name) else value.value
        return _last_name(inner)
    if isinstance(value, ast.Call):
        return _last_name(value.args[-1] if value.args else value.func)
    names = [node for node in ast.walk(value) if isinstance(node, ast.Name | ast.Attribute)]
    return _last_name(names[0]) if names else "…"


def _fillers(text: str, names: dict[str, list[str]], node: ast.AST) -> Iterator[str]:
    for name in dict.fromkeys(re.findall(r"\{(\w+)\}", text)):
        for filler in dict.fromkeys(names.get(name, ())):
            if filler.strip():
                yield f"        {{{name}}}: {filler.strip()}"


def main() -> None:
    """Write the file, or report that it is out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--update", action="store_true", help="Write tests/messages.txt.")
    if parser.parse_args().update:
        SNAPSHOT.write_text(snapshot(), "utf-8")
    elif SNAPSHOT.read_text("utf-8") != snapshot():
        raise SystemExit("tests/messages.txt is out of date. Run python -m tests.messages --update and read its diff.")


if __name__ == "__main__":
    main()
