"""What is made when it is first asked for, and once, whoever asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class made_once(Generic[T]):  # in small letters as functools.cached_property, which has no lock since Python 3.12
    """A property whose function is called once for each object, also by several threads at the same time.

    The others wait for who was first. One that raises has made nothing: it is called again. What was made stands in the
    object's `__dict__` under the property's name, and is read there without a lock.
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        self._name = make.__name__
        self._lock = threading.RLock()
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: type) -> made_once[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> made_once[T] | T:
        if instance is None:
            return self
        made = instance.__dict__
        with self._lock:
            if self._name not in made:
                made[self._name] = self._make(instance)
            found: T = made[self._name]
            return found
