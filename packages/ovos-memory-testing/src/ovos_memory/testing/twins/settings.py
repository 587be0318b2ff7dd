"""Twins that take wrong settings for right ones, or the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ovos_utils.log import LOG

from ovos_memory.core.errors import ConfigError
from ovos_memory.testing.reference import ReferenceMemory
from ovos_memory.testing.settings import SettingsSuite
from ovos_memory.testing.twins.catalogue import twin


class _Reading(ReferenceMemory):
    """Does something to the configuration first."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(self._read(dict(config or {})) if isinstance(config, (dict, type(None))) else config)

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@twin(SettingsSuite, "every_key_refuses_a_wrong_type")
class TakesAnyType(_Reading):
    """Uses a default where it cannot read a value."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        context = config.get("context")
        return config if context is None or isinstance(context, dict) else {**config, "context": {}}


@twin(SettingsSuite, "every_key_refuses_a_wrong_type")
class TakesTrueForOne(_Reading):
    """Lets Python count booleans."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        is_flag = isinstance(config.get("max_history"), bool)
        return {**config, "max_history": int(config["max_history"])} if is_flag else config


@twin(SettingsSuite, "every_key_refuses_a_wrong_type", "every_key_refuses_a_wrong_value")
class RefusesWithoutSayingWhat(_Reading):
    """Raises, and names no key."""

    def __init__(self, config: Any = None) -> None:
        try:
            super().__init__(config)
        except ConfigError as error:
            if not isinstance(config, dict) or "max_history" in config:
                raise
            raise ConfigError("ovos-memory-plugin-reference: invalid configuration") from error

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        return config


@twin(SettingsSuite, "every_key_refuses_a_wrong_value")
class TakesAnyValue(_Reading):
    """Falls back where a choice is unknown."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        return {**config, "scope": "global"} if config.get("scope") == "globalx" else config


@twin(SettingsSuite, "a_misspelt_key_is_named_with_its_nearest")
class IgnoresStrangers(_Reading):
    """Drops keys that it does not know."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in config.items() if not key.endswith("qx")}


@twin(SettingsSuite, "a_misspelt_key_is_named_with_its_nearest")
class OnlySaysUnknown(_Reading):
    """Leaves it to the reader to find the right name."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        for key in config:
            if key.endswith("qx"):
                LOG.warning("ovos-memory-plugin-reference: unknown key %s", key)
        return {key: value for key, value in config.items() if not key.endswith("qx")}


@twin(SettingsSuite, "null_is_the_default")
class TakesNullForNothing(_Reading):
    """Uses ``null`` as it is."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        is_null = "max_history" in config and config["max_history"] is None
        return {**config, "max_history": 1} if is_null else config


@twin(SettingsSuite, "a_number_may_come_as_text", "a_window_given_as_text_is_a_window")
class ReadsNumbersStrictly(_Reading):
    """Refuses a number that came as text."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        if config.get("max_history") == "2":
            raise ConfigError("ovos-memory-plugin-reference: max_history must be a whole number, got text")
        return config


@twin(SettingsSuite, "a_window_given_as_text_is_a_window")
class MisreadsTexts(_Reading):
    """Accepts a text and does not use it."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        return {**config, "max_history": 10} if config.get("max_history") == "2" else config


@twin(SettingsSuite, "a_negative_window_is_refused", "every_key_refuses_a_wrong_value")
class TakesNegativeForZero(_Reading):
    """Thinks that it knows what was meant."""

    def _read(self, config: dict[str, Any]) -> dict[str, Any]:
        return {**config, "max_history": 0} if config.get("max_history") == -1 else config


@twin(SettingsSuite, "the_block_is_an_object")
class TakesAnyBlock(ReferenceMemory):
    """Ignores a block that is none."""

    def __init__(self, config: Any = None) -> None:
        super().__init__(config if isinstance(config, Mapping) else {})


def with_a_key() -> Any:
    """Return settings with a secret."""
    from ovos_memory.testing.reference_settings import ReferenceSettings

    class WithAKey(ReferenceSettings):
        """The reference memory's, and a key."""

        api_key: str = ""

    return WithAKey


@twin(SettingsSuite, "a_secret_is_not_quoted", settings_model=staticmethod(with_a_key))
class QuotesItsKey(ReferenceMemory):
    """Shows what came, whatever it is."""

    def __init__(self, config: Any = None) -> None:
        value = config.get("api_key", "") if isinstance(config, Mapping) else ""
        if not isinstance(value, (str, type(None))):
            raise ConfigError(f"ovos-memory-plugin-reference: api_key must be text, got {value!r}")
        own = {k: v for k, v in config.items() if k != "api_key"} if isinstance(config, Mapping) else config
        super().__init__(own)
        if isinstance(config, Mapping) and "api_keqx" in config:
            LOG.warning("ovos-memory-plugin-reference: unknown key 'api_keqx'; did you mean 'api_key'?")
