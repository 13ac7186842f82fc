"""`dataclass` as the standard library's, its methods written when they are first used.

The standard library writes and compiles the methods of each class while its module is imported: about 0.7 ms a class,
which for all that a start imports came to two fifths of it. Here a class has its fields and slots at once, and the
first call of one of the methods writes them all. To a type checker there is no difference.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Generic

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(cls: type | None = None, /, *, frozen: bool = False, slots: bool = False, eq: bool = True):
        """As dataclasses.dataclass with these options."""

        def made(cls: type) -> type:
            return _made(cls, frozen, slots, eq)

        return made if cls is None else made(cls)


__all__ = ["dataclass"]

_WRITTEN: Final = ("__init__", "__repr__", "__eq__", "__hash__")
_COMPARING: Final = ("__eq__", "__hash__")


def _made(cls: Any, frozen: bool, slots: bool, eq: bool) -> Any:
    cls.__doc__ = cls.__doc__ or cls.__name__  # or one would be made from the signature, which takes as long again
    source = dict(cls.__dict__)
    out: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots)(cls)
    waiting = [name for name in _WRITTEN if name not in source and (eq or name not in _COMPARING)]

    def write() -> None:
        """Put the methods that the standard library writes in the place of those that wait."""
        kept = ("__annotations__", "__module__", "__qualname__", "__doc__", *out.__dataclass_fields__)
        body = {name: source[name] for name in kept if name in source}
        bases = tuple(base for base in cls.__bases__ if base is not Generic)  # it has no fields, and no bare heirs
        pattern: Any = type(cls)(cls.__name__, bases, body)
        pattern = dataclasses.dataclass(frozen=frozen, eq=eq)(pattern)
        for name in waiting:
            setattr(out, name, pattern.__dict__[name])

    for name in waiting:
        setattr(out, name, _first(name, write))
    if frozen:
        out.__setattr__, out.__delattr__ = _set, _delete
        if slots:  # they are copied and unpickled by what else would be an assignment
            out.__getstate__, out.__setstate__ = _state, _restore
    return out


def _first(name: str, write: Callable[[], None]) -> Callable[..., Any]:
    """The method until it is called for the first time."""

    def first(self: object, *args: Any, **named: Any) -> Any:
        write()
        return getattr(type(self), name)(self, *args, **named)

    first.__name__ = name
    return first


def _set(self: object, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _delete(self: object, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[object]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _restore(self: Any, state: list[object]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
