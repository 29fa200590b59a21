"""Slots as strings, for command lines, tables and file names: ``"randomized(max_position=2048)|rope(base=5e5)"``."""

import ast
import dataclasses
import inspect
import re
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from posenc_jax.encodings.interface.base import PositionalEncoding
from posenc_jax.encodings.interface.slots import Slot, is_pattern
from posenc_jax.encodings.interface.value import Value, field_types
from posenc_jax.refusals import did_you_mean

Values = tuple[type[Value], ...]
# The class of a name in a Python file; ValueError where there is none.
Own = Callable[[str, str], type]

MOST_CHARACTERS = 10_000
MOST_ELEMENTS = 500
# Bounds of a string: of its length, of the elements in all its layers, and of calls, brackets and signs in each.
MOST_NESTING = 20


def syntax_tree(text: str, path: str = "<text>", mode: str = "exec") -> Any:
    """`ast.parse`, without what Python warns of meanwhile, as of 0x1for: a refusal says it, or the file's import."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text, path, mode)


def parse(text: str, known: Mapping[str, type[PositionalEncoding]], values: Values, own: Own | None = None) -> Slot:
    """See `posenc_jax.encodings.parse`. ``values``: the classes that a field takes whose annotation names a base class
    of theirs.
    """
    if not text.strip():
        return ()
    reading = _Reading(
        values,
        own,
        "encoding",
        "calls joined by | in a layer and by / between layers, as in "
        "'randomized(max_position=2048)|rope(base=5e5)' or 'rope/rope/nope'",
    )
    tree = reading.tree(text)
    allowed = _Allowed("encoding", _by_word(known), (PositionalEncoding,))
    groups: list[list[PositionalEncoding]] = [[]]
    for operator, leaf in _leaves(tree, text):
        _check_size(_depth(leaf), MOST_NESTING, "levels of nesting", text)
        if isinstance(operator, ast.Div):
            groups.append([])
        if not (isinstance(leaf, ast.Name) and leaf.id.lower() == "nope"):
            groups[-1].append(reading.call(leaf, allowed))
    slots = tuple(tuple(group) for group in groups)
    return slots if len(slots) > 1 else slots[0]


def parse_values(
    text: str, what: str, known: Mapping[str, type[Value]], base: type[Value], own: Own | None = None
) -> tuple[Any, ...]:
    """Values of one kind, in the language of `parse`: calls joined by ``|``.

    Args:
      what: the kind, for messages ("task").
      known: its classes by word.
      base: what a class of a file must be.

    Raises:
      ValueError: as `parse`.
    """
    reading = _Reading((), own, what, f"a call such as {next(iter(known), 'mine.py:Name')}(field=...)")
    tree = reading.tree(text)
    found = []
    for operator, leaf in _leaves(tree, text):
        _check_size(_depth(leaf), MOST_NESTING, "levels of nesting", text)
        if isinstance(operator, ast.Div):
            raise ValueError(f"cannot read the {what} {_short(text)}: / stands between layers of encodings only")
        found.append(reading.call(leaf, _Allowed(what, _by_word(known), (base,))))
    return tuple(found)


def spec(slot: Slot | Value) -> str:
    """The shortest string with ``parse(spec(slot)) == slot``: only fields that differ from their defaults.

    An encoding gives the string of the slot that holds it alone; floats are written by ``repr``. (A pattern of one
    group reads back as that group.)

    >>> from posenc_jax.encodings import parse
    >>> spec(parse("rope(layout='interleaved', base=5e5) | nope"))
    'rope(base=500000.0)'
    """
    if isinstance(slot, Value):
        return _literal(slot)
    if is_pattern(slot):
        return "/".join(spec(group) for group in slot)
    return "|".join(spec(element) for element in slot) or "nope"


def _literal(value: Any) -> str:
    if isinstance(value, Value):
        changed = []
        for field in dataclasses.fields(value):  # type: ignore[arg-type]
            current = getattr(value, field.name)
            if current != field.default:
                changed.append(f"{field.name}={_literal(current)}")
        return word_of(type(value)) + (f"({', '.join(changed)})" if changed else "")
    if isinstance(value, tuple):
        return "(" + "".join(_literal(v) + ", " for v in value).removesuffix(" " if len(value) == 1 else ", ") + ")"
    return repr(value)


def word_of(cls: type) -> Any:
    """The word that strings have for a class: its ``name``, or its own in lower case."""
    return getattr(cls, "name", cls.__name__.lower())


def _by_word(classes: Mapping[str, type[Value]]) -> dict[str, type[Value]]:
    """Classes by their word and, as people write them, by their own name in lower case."""
    return {cls.__name__.lower(): cls for cls in classes.values()} | dict(classes)


def _leaves(node: ast.expr, text: str) -> Iterator[tuple[ast.operator | None, ast.expr]]:
    """The elements from left to right, each with the operator before it (in Python / binds closer than |, here not)."""
    before: ast.operator | None = None
    todo: list[tuple[ast.operator | None, ast.expr]] = [(None, node)]
    while todo:
        operator, node = todo.pop()
        before = operator or before  # of a group in brackets it stands before the first element
        if not isinstance(node, ast.BinOp):
            yield before, node
            before = None
            continue
        if not isinstance(node.op, ast.BitOr | ast.Div):
            raise ValueError(
                f"cannot read the encoding {_short(text)}: join the elements of a layer by | and layers by /"
            )
        todo += [(node.op, node.right), (None, node.left)]


def _depth(node: ast.AST) -> int:
    deepest, level = 0, [node]
    while level:
        deepest, level = deepest + 1, [inner for outer in level for inner in ast.iter_child_nodes(outer)]
    return deepest


def _check_size(size: int, most: int, of_what: str, text: str) -> None:
    if size > most:
        count = f"has {size:,}" if of_what != "levels of nesting" else "has more"
        raise ValueError(f"the encoding {_short(text)} {count} {of_what}, and {most:,} are allowed: write it shorter")


def _short(text: str) -> str:
    return repr(text) if len(text) <= 200 else f"{text[:60]!r}...{text[-20:]!r}"


def _source(node: ast.expr) -> str:
    return _short(ast.unparse(node))


@dataclasses.dataclass(frozen=True)
class _Allowed:
    """The classes that are valid for a field: by word, and from files those with one of these ``bases``."""

    what: str
    words: dict[str, type[Value]]
    bases: tuple[type, ...]


@dataclasses.dataclass(frozen=True)
class _Reading:
    """Settings for parsing one string: classes of fields, the reader of files, and words for messages."""

    values: Values
    own: Own | None
    what: str
    form: str

    def tree(self, text: str) -> ast.expr:
        """The syntax tree, in which ``FILE.py:Class`` is a name."""
        _check_size(len(text), MOST_CHARACTERS, "characters", text)
        plain, files = _without_files(text.strip())
        _check_size(plain.count("|") + plain.count("/") + 1, MOST_ELEMENTS, "elements", text)
        try:
            tree = syntax_tree(plain, mode="eval").body
        except (SyntaxError, ValueError) as error:
            why = f"{error.msg} at character {error.offset}" if isinstance(error, SyntaxError) else error
            if _BLANK_IN_PATH.search(text):
                form = "a path with blanks in quotes, as in 'my folder/mine.py':Mine"
            else:
                form = self.form
            raise ValueError(f"cannot read the {self.what} {_short(text)} ({why}): write {form}") from None
        except (MemoryError, RecursionError):  # what Python's parser says of deep nesting
            _check_size(MOST_CHARACTERS, MOST_NESTING, "levels of nesting", text)
            raise
        for node in ast.walk(tree) if files else ():
            if isinstance(node, ast.Name):
                node.id = files.get(node.id, node.id)  # so messages show it as it was written
        return tree

    def call(self, node: ast.expr, allowed: _Allowed) -> Any:
        """The value of a call, or of a bare name."""
        function, args, keywords = (
            (node.func, node.args, node.keywords) if isinstance(node, ast.Call) else (node, [], [])
        )
        if not isinstance(function, ast.Name):
            text = _source(node)
            way = "name its class, as in mine.py:Mine" if text.endswith(".py'") else ""
            way = way or "write a name with arguments, as in rope(base=5e5)"
            raise ValueError(f"{text} is not {_a(allowed.what)}: {way}")
        cls = self._class(function.id, allowed)
        fields = [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]
        if len(args) > len(fields):
            ways = _listed(fields, "none")
            raise ValueError(f"{_source(node)} has {len(args)} arguments, but {cls.__name__} has {ways}")
        named = list(zip(fields, args)) + [(keyword.arg, keyword.value) for keyword in keywords]
        given: dict[str, Any] = {}
        for field, value in named:
            if field not in fields:
                hint = _nearest(field or "**", fields)
                raise ValueError(
                    f"{cls.__name__} has no field {field or '**'!r}{hint} (it has {_listed(fields, 'none')})"
                )
            if field in given:
                raise ValueError(f"{_source(node)} gives the field {field!r} twice: leave one out")
            bases = tuple(_bases_in(field_types(cls)[field]))  # type: ignore[arg-type]
            inner = [c for base in bases for c in ([v for v in self.values if issubclass(v, base)] or [base])]
            name = f"{cls.__name__}.{field}"
            words = _by_word({word_of(c): c for c in inner})
            given[field] = self._argument(value, _Allowed(f"value of {name}", words, bases), name)
        missing = [f.name for f in dataclasses.fields(cls) if _required(f) and f.name not in given]  # type: ignore[arg-type]
        if missing:
            example = ", ".join(f"{field}=..." for field in missing)
            word = function.id if _IN_FILE.fullmatch(function.id) else word_of(cls)
            raise ValueError(f"{cls.__name__} needs {_listed(missing, 'nothing')}: write {word}({example})")
        return cls(**given)

    def _class(self, word: str, allowed: _Allowed) -> type[Value]:
        if found := _IN_FILE.fullmatch(word):
            if self.own is None:
                raise ValueError(
                    f"{word} names a class in a file, and only commands read files: import the class, and use it itself"
                )
            cls = self.own(found["quoted"] or found["path"], found["name"])
            if not (isinstance(cls, type) and issubclass(cls, allowed.bases)):
                bases = " or ".join(base.__name__ for base in allowed.bases)
                takes = f"a frozen dataclass with the base class {bases}" if bases else "no calls"
                raise ValueError(f"{word} is no {allowed.what}: it takes {takes}")
            if "__dataclass_params__" not in vars(cls) or not cls.__dataclass_params__.frozen:  # type: ignore[attr-defined]
                raise ValueError(f"{word} is no frozen dataclass: write @dataclasses.dataclass(frozen=True) above it")
            if inspect.isabstract(cls):
                lacking = ", ".join(sorted(cls.__abstractmethods__))  # type: ignore[attr-defined]
                raise ValueError(f"{word} is abstract, it lacks {lacking}: write that, or name a class that has it")
            return cls  # type: ignore[return-value]
        if word.lower() in allowed.words:
            return allowed.words[word.lower()]
        hint = _nearest(word.lower(), allowed.words)
        words = list(dict.fromkeys(word_of(cls) for cls in allowed.words.values()))
        ways = f"it takes {_listed(words, 'no calls')}"
        if allowed.what == self.what:
            ways = "`posenc list` shows all" if words else "name a class of a file, as in mine.py:Mine"
        raise ValueError(f"unknown {allowed.what} {_short(word)}{hint} ({ways})")

    def _argument(self, node: ast.expr, allowed: _Allowed, name: str) -> Any:
        """A literal, a tuple, or the call of a value that the field's annotation allows."""
        if isinstance(node, ast.Tuple | ast.List):
            return tuple(self._argument(element, allowed, name) for element in node.elts)
        is_value = isinstance(node, ast.Name) and (node.id.lower() in allowed.words or _IN_FILE.fullmatch(node.id))
        if isinstance(node, ast.Call) or is_value:
            return self.call(node, allowed)
        try:
            return ast.literal_eval(node)
        except ValueError:
            text = ast.unparse(node)
            hint = f"; write {text!r} if a string is meant" if isinstance(node, ast.Name) else ""
            raise ValueError(
                f"{name} = {text} must be a literal: a number, string, bool, None or tuple{hint}"
            ) from None


# ``FILE.py:Class``. The path has no blank, or stands in quotes; it begins after a blank or a sign other than /.
_IN_FILE = re.compile(
    r"""(?:(?P<quote>['"])(?P<quoted>[^'"]*\.py)(?P=quote) | (?P<path>[^\s|(),=:'"]*\.py)) : (?P<name>[^\W\d]\w*)""",
    re.VERBOSE,
)
_BLANK_IN_PATH = re.compile(r"""[^\s|(),=:'"]\s+[^|(),=:'"]*\.py:""")
_STRING = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""")


def _without_files(text: str) -> tuple[str, dict[str, str]]:
    """The text with a Python name of the same length for each ``FILE.py:Class``, and what these stand for."""
    files: dict[str, str] = {}
    parts, offset = [], 0
    while offset < len(text):
        found = _IN_FILE.match(text, offset)
        if found:
            name = f"_{len(files)}".ljust(len(found[0]), "_")
            while name in text:
                name += "_"
            files[name] = found[0]
            parts.append(name)
            if text.startswith("/", found.end()):  # after a class it stands between layers, and begins no path
                parts.append("/")
                offset = found.end() + 1
                continue
        else:
            # A string, or a character that no path has, or all up to where the next path can begin.
            found = _STRING.match(text, offset) or _REST.match(text, offset)
            assert found is not None
            parts.append(found[0])
        offset = found.end()
    return "".join(parts), files


_REST = re.compile(r"""[\s|(),=:'"]|[^\s|(),=:'"]+""")


def _required(field: dataclasses.Field) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _bases_in(annotation: Any) -> Iterator[type[Value]]:
    """The value classes that an annotation names, at any depth."""
    if isinstance(annotation, type) and issubclass(annotation, Value):
        yield annotation
    for member in typing.get_args(annotation):
        yield from _bases_in(member)


def _a(noun: str) -> str:
    return f"{'an' if noun[0] in 'aeiou' else 'a'} {noun}"


def _nearest(word: str, words: Iterable[str]) -> str:
    hint = did_you_mean(word, words)
    return hint and f": {hint}"


def _listed(words: list[str], none: str) -> str:
    return ", ".join(words) or none
