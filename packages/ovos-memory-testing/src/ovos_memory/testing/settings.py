"""Rules of settings: a wrong one stops the persona at load, and the message says what to do."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from ovos_memory.core.errors import ConfigError
from ovos_memory.testing.messages import said
from ovos_memory.testing.suite import MemorySuite, needs

Schema = dict[str, Any]
WRONG_TYPES: list[Any] = ["nonsense", 7, 1.5, True, float("nan"), [], ["nonsense"], {}, {"nonsense": 1}]


class SettingsSuite(MemorySuite):
    """Every key, by the schema of the settings model."""

    @needs("settings_model")
    def test_every_key_refuses_a_wrong_type(self) -> None:
        """With a ``ConfigError`` that names plugin, key path and what came."""
        problems = [
            self._refused(key, value)
            for key, options in self._keys()
            for value in WRONG_TYPES
            if not any(_fits(option, value) for option in options)
        ]
        assert problems and not any(problems), "\n".join(filter(None, problems))

    @needs("settings_model")
    def test_every_key_refuses_a_wrong_value(self) -> None:
        """Below a minimum, empty where text is needed, none of the choices."""
        problems = [
            self._refused(key, value)
            for key, options in self._keys()
            for value in (_beyond(option) for option in options)
            if value is not None
        ]
        assert problems and not any(problems), "\n".join(filter(None, problems))

    @needs("settings_model")
    def test_a_misspelt_key_is_named_with_its_nearest(self) -> None:
        """It is a warning, for a newer version's key must not stop an older one."""
        for key, _ in self._keys():
            misspelt = key[:-1] + "qx"
            self.logs.clear()
            self.new({misspelt: 1})
            lines = self.logs.lines(logging.WARNING)
            leaf = key.rpartition(".")[2]
            assert any(misspelt in line and f"'{leaf}'" in line for line in lines), (misspelt, lines)

    @needs("settings_model")
    def test_null_is_the_default(self) -> None:
        """A persona file may name a key without deciding it."""
        plain = self.new(folder=self.folder / "plain")
        own = {*self.config, *self.configure(self.folder)}
        keys = [
            key
            for key, options in self._keys()
            if key.partition(".")[0] not in own and not any(o.get("type") == "null" for o in options)
        ]
        parents = {key.rpartition(".")[0] for key in keys}
        leaves = self.new({k: None for k in keys if k not in parents}, folder=self.folder / "leaves")
        tops = self.new({k: None for k in keys if "." not in k}, folder=self.folder / "tops")

        for memory in (plain, leaves, tops):
            self.tell(memory, "the bin day is Friday")
        question = "which day is the bin day"
        for memory in (leaves, tops):
            assert said(self.context(memory, question)) == said(self.context(plain, question))

    @needs("settings_model")
    def test_a_number_may_come_as_text(self) -> None:
        """``"10"`` is 10."""
        for key, options in self._keys():
            for option in options:
                if option.get("type") in ("integer", "number"):
                    self.new({key: f"{min(2, option.get('maximum', 2)):g}"})

    @needs("keeps_history", "window_key")
    def test_a_window_given_as_text_is_a_window(self) -> None:
        """And keeps as many messages."""
        memory = self.new({str(self.window_key): "2"})
        for number in range(3):
            self.tell(memory, f"question {number}", f"answer {number}")

        assert said(memory.get_history("s")) == [("user", "question 2"), ("assistant", "answer 2")]

    @needs("window_key")
    def test_a_negative_window_is_refused(self) -> None:
        """A slice would take it for something else."""
        with pytest.raises(ValueError, match=str(self.window_key)):
            self.new({str(self.window_key): -1})

    @needs("plugin", "settings_model")
    @pytest.mark.parametrize("block", [["a", "list"], "text", 7])
    def test_the_block_is_an_object(self, block: Any) -> None:
        """Anything else is refused with the plugin's name."""
        with pytest.raises(ConfigError, match=self.plugin):
            type(self).factory(block)

    @needs("settings_model")
    def test_a_secret_is_not_quoted(self) -> None:
        """A key in the wrong place must not end up in a log."""
        for key, _ in self._keys():
            if key.endswith("key"):
                problem = self._message(key, ["hunter2"])
                assert problem is not None and "hunter2" not in problem

    # ------------------------------------------------------------------ inside
    def _refused(self, key: str, value: Any) -> str | None:
        """Return what is wrong with how a value is refused; ``None``: nothing."""
        message = self._message(key, value)
        if message is None:
            return f"{key} = {value!r} is accepted"
        lacking = [part for part in (key, self.plugin) if part not in message]
        return f"{key} = {value!r}: the message lacks {', '.join(lacking)}: {message}" if lacking else None

    def _message(self, key: str, value: Any) -> str | None:
        try:
            self.new({key: value})
        except ConfigError as error:
            return str(error)
        return None

    def _keys(self) -> list[tuple[str, list[Schema]]]:
        """Return each key path with the schemas that its value may fit, those of nested objects included."""
        model: Callable[[], Any] | None = self.settings_model
        assert model is not None
        schema: Schema = model().model_json_schema()
        return list(_walk(schema, schema.get("$defs", {}), ""))


def _walk(
    schema: Schema, definitions: Mapping[str, Schema], prefix: str
) -> Iterator[tuple[str, list[Schema]]]:
    for name, below in schema.get("properties", {}).items():
        options = list(_options(below, definitions))
        yield prefix + name, options
        for option in options:
            yield from _walk(option, definitions, f"{prefix}{name}.")


def _options(schema: Schema, definitions: Mapping[str, Schema]) -> Iterator[Schema]:
    if "$ref" in schema:
        yield from _options(definitions[schema["$ref"].rpartition("/")[2]], definitions)
    elif "anyOf" in schema or "oneOf" in schema:
        for option in schema.get("anyOf") or schema["oneOf"]:
            yield from _options(option, definitions)
    else:
        yield schema


def _fits(schema: Schema, value: Any) -> bool:
    """Tell whether a value may be legal by its type; doubtful ones count as legal."""
    if "enum" in schema or "const" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kind = schema.get("type")
    if isinstance(value, bool):
        return kind in ("boolean", None)
    if isinstance(value, float) and (value != value or kind == "integer"):
        return kind is None
    matching: dict[type, tuple[str | None, ...]] = {
        str: ("string", None),
        int: ("integer", "number", "boolean" if value in (0, 1) else None, None),
        float: ("number", None),
        list: ("array", None),
        dict: ("object", None),
    }
    if kind == "array" and value == ["nonsense"]:
        return True  # what a list may hold is a rule of its own
    return kind in matching[type(value)]


def _beyond(schema: Schema) -> Any:
    """Return a value of the right type that breaks a bound; ``None`` when there is no bound."""
    if "enum" in schema:
        return f"{schema['enum'][0]}x" if isinstance(schema["enum"][0], str) else None
    if "minimum" in schema:
        return schema["minimum"] - 1
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"]
    if "maximum" in schema:
        return schema["maximum"] + 1
    return "" if schema.get("minLength") else None
