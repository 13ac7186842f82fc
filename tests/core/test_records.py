"""A record is what the standard library's dataclass would be, whichever of its methods is called first."""

import copy
import dataclasses
import pickle
from typing import Generic, TypeVar

import pytest

from agent_core.records import dataclass
from tests.rows import each_row

T = TypeVar("T")


def made(decorate):
    """One of each kind of class, new: nothing of it has been called."""

    @decorate(frozen=True, slots=True)
    class Plain:
        name: str
        parts: tuple[int, ...] = ()

    @decorate(frozen=True, slots=True)
    class Held(Generic[T]):
        item: T

    @decorate(frozen=True, slots=True)
    class Filled:
        name: str
        more: list[int] = dataclasses.field(default_factory=list, compare=False)

    @decorate(slots=True)
    class Changing:
        count: int = 0

    return {"plain": (Plain, ("a", (1,))), "generic": (Held, (3,)), "filled": (Filled, ("a", [2])),
            "changing": (Changing, (4,))}  # fmt: skip


def hashed(one):
    try:
        return hash(one)
    except TypeError as error:
        return str(error)


CALLS = {
    "it is made": lambda cls, given: dataclasses.astuple(cls(*given)),
    "by name": lambda cls, given: dataclasses.astuple(cls(**dict(zip(cls.__dataclass_fields__, given, strict=True)))),
    "it is shown": lambda cls, given: repr(cls(*given)).rpartition(".")[2],
    "it is compared": lambda cls, given: (cls(*given) == cls(*given), cls(*given) == given),
    "it is hashed": lambda cls, given: hashed(cls(*given)),
    "it is copied": lambda cls, given: dataclasses.astuple(copy.copy(cls(*given))),
    "it is replaced": lambda cls, given: dataclasses.astuple(dataclasses.replace(cls(*given))),
}


@each_row("kind", ["plain", "generic", "filled", "changing"])
@each_row("call", CALLS.values(), ids=CALLS)
def test_each_method_does_what_the_standard_library_s_does(kind, call):
    ours, theirs = (call(*made(decorate)[kind]) for decorate in (dataclass, dataclasses.dataclass))
    assert ours == theirs


@pytest.mark.parametrize("kind", ["plain", "generic", "filled"])
def test_what_is_frozen_takes_no_value(kind):
    cls, given = made(dataclass)[kind]
    one = cls(*given)
    name = next(iter(cls.__dataclass_fields__))
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(one, name, 1)
    with pytest.raises(dataclasses.FrozenInstanceError):
        delattr(one, name)


@dataclass(frozen=True, slots=True)
class Sent:
    name: str
    parts: tuple[int, ...] = ()


def test_it_goes_through_a_pickle():
    assert pickle.loads(pickle.dumps(Sent("a", (1, 2)))) == Sent("a", (1, 2))
