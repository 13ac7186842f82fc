"""Who answers, with which key: what a failure leads to, who stands in for whom, and when the first choice is back."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from agent_core.cancel import CancelScope
from agent_core.credentials import Secret, find_keys
from agent_core.errors import ConfigError, Interrupted, ProviderError
from agent_core.llm import ladder, providers, route
from agent_core.llm.providers import ProviderOptions
from agent_core.llm.resting import KeyRing, Resting
from agent_core.llm.route import Plan, Router
from agent_core.messages import user
from agent_core.ports.model import LlmRequest
from tests.fakes.wire_server import Answer, Failure, WireServer
from tests.rows import each_row

FAST = {"retry_base": 0.001, "max_attempts": 2}


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


def error(kind, **given):
    return ProviderError(kind, "words", **given)


# -- the ladder ---------------------------------------------------------------------------------------------------

AFTER = {
    # (error, requests with this key, another key, keys read anew) → step; three requests in all, at most 60 s of wait
    "a server that fails is asked again": (error("server"), 1, False, False, "again"),
    "but not for ever": (error("server"), 3, True, False, "leave"),
    "another key mends no server": (error("network"), 2, True, False, "again"),
    "one key that is too fast is asked again": (error("rate_limit"), 2, False, False, "again"),
    "with another key only once": (error("rate_limit"), 1, True, False, "again"),
    "then the other": (error("rate_limit"), 2, True, False, "rotate"),
    "a short wait is sat out": (error("rate_limit", retry_after=60), 1, True, False, "again"),
    "a long wait is the other key's": (error("rate_limit", retry_after=61), 1, True, False, "rotate"),
    "a long wait without another is the end": (error("rate_limit", retry_after=61), 1, False, False, "leave"),
    "what an aggregator's server asks is asked of all keys": (
        error("rate_limit", upstream=True), 2, True, False, "again"),
    "an empty account is left at once": (error("quota"), 1, True, False, "rotate"),
    "an empty account without another": (error("quota"), 1, False, False, "leave"),
    "a refused key is looked up again": (error("auth"), 1, True, False, "reload"),
    "then the other is used": (error("auth"), 1, True, True, "rotate"),
    "a refused key without another": (error("auth"), 1, False, True, "leave"),
    "a request that is wrong stays wrong": (error("bad_request"), 1, True, False, "leave"),
    "so does one that is too long": (error("context_length"), 1, True, False, "leave"),
}  # fmt: skip


@each_row(("failure", "tries", "others", "reloaded", "step"), AFTER.values(), ids=AFTER)
def test_a_failure_leads_to(failure, tries, others, reloaded, step):
    assert ladder.after(failure, tries, 3, others=others, reloaded=reloaded, longest_wait=60.0) == step


def test_one_try_in_all_is_one_try():
    assert ladder.after(error("rate_limit"), 1, 1, others=True, reloaded=False, longest_wait=60.0) == "rotate"
    assert ladder.after(error("server"), 1, 1, others=True, reloaded=False, longest_wait=60.0) == "leave"


@each_row(
    ("kind", "on"),
    [
        ("auth", True), ("quota", True), ("not_found", True), ("server", True), ("network", True), ("timeout", True),
        ("rate_limit", True), ("context_length", False), ("content_filter", False), ("bad_request", False),
    ],
)  # fmt: skip
def test_only_what_another_model_may_do_better_leads_to_another_model(kind, on):
    assert ladder.leads_on(error(kind)) is on


# -- resting ------------------------------------------------------------------------------------------------------


def test_what_fails_rests_a_minute_and_twice_as_long_each_time_up_to_four_hours():
    clock = Clock()
    resting = Resting(clock)
    rests = []
    for _ in range(10):
        resting.failed("a")
        rests.append(resting.left("a"))
        clock.now += rests[-1]
        assert resting.left("a") == 0
    assert rests == [60, 120, 240, 480, 960, 1920, 3840, 7680, 14400, 14400]
    resting.succeeded("a")
    resting.failed("a")
    assert (resting.left("a"), resting.left("b")) == (60, 0)


def test_two_that_fail_at_once_count_once_and_a_longer_wait_that_was_asked_for_is_kept():
    clock = Clock()
    resting = Resting(clock)
    resting.failed("a")
    clock.now += 10
    resting.failed("a")  # had been asked before the other failed
    assert resting.left("a") == 50
    resting.failed("b", at_least=900)
    resting.failed("c", at_least=10**6)
    assert (resting.left("b"), resting.left("c")) == (900, 4 * 3600)


def test_a_ring_gives_the_keys_in_turn_and_remembers_which_rest():
    a, b, c = (Secret(name, name.upper()) for name in "abc")
    clock = Clock()
    resting = Resting(clock)
    ring = KeyRing([a, b, c], "x", resting)
    assert ring.begin() == a
    assert ring.rotate(a) == b
    assert ring.others(b)
    assert ring.rotate(b) == c
    assert not ring.others(c)
    assert KeyRing([a, b, c], "x", resting).begin() == c  # another session
    assert KeyRing([a, b, c], "y", resting).begin() == a  # another server
    clock.now += 61
    assert ring.begin() == a
    assert KeyRing([], "x", resting).begin() is None


def test_a_key_that_is_new_in_the_env_file_is_found():
    old, new = Secret("old", "K"), Secret("new", "K")
    kept = [old]
    ring = KeyRing([old], "x", Resting(Clock()), lambda: kept)
    assert ring.begin() == old
    assert ring.reload(old) is None
    kept[:] = [new]
    assert ring.reload(old) == new
    assert ring.begin() == new


# -- who may be asked -----------------------------------------------------------------------------------------------

KEYS = {"OPENAI_API_KEY": "k1", "ANTHROPIC_API_KEY": "k2", "OPENROUTER_API_KEY": "k3"}


def names(endpoints):
    return [f"{e.provider}/{e.model}" for e in endpoints]


STAND_INS = {
    "in order, the older key last": (
        [{"provider": "anthropic", "model": "c"}, {"provider": "openrouter", "model": "a/b"}], "spare",
        ["anthropic/c", "openrouter/a/b", "openai/spare"], []),
    "an alias is the same provider": ([{"provider": "claude", "model": "c"}], "", ["anthropic/c"], []),
    "the older key with a provider": ([], "anthropic/c", ["anthropic/c"], []),
    "the first choice itself, and one twice, count once": (
        [{"provider": "openai", "model": "m"}, {"provider": "openai", "model": "n"}], "n", ["openai/n"], []),
    "an entry without a model": ([{"provider": "openai"}], "", [], ["bad_fallback"]),
    "an entry without a provider": ([{"model": "x"}], "", [], ["bad_fallback"]),
    "a provider without a key": ([{"provider": "groq", "model": "x"}], "", [], ["no_key"]),
    "a provider nobody knows": ([{"provider": "grok4u", "model": "x"}], "", [], ["unknown_provider"]),
    "what cannot be used hides no other": (
        [{"provider": "groq", "model": "x"}, {"provider": "anthropic", "model": "c"}], "", ["anthropic/c"], ["no_key"]),
    "an address of its own": (
        [{"base_url": "http://127.0.0.1:1/v1", "model": "x"}], "", ["custom/x"], []),
}  # fmt: skip


@each_row(("entries", "older", "found", "problems"), STAND_INS.values(), ids=STAND_INS)
def test_those_that_stand_in(entries, older, found, problems):
    options = ProviderOptions(provider="openai", model="m")
    first = providers.resolve(options, KEYS, {})
    others, failed = providers.stand_ins(entries, older, first, options, KEYS, {})
    assert names(others) == found
    assert [e.code for e in failed] == problems


ANOTHER = {
    # (what was typed, its provider if it was listed, models the first choice's server is known to have) → who
    "a name alone is the same server's": ("n", "", (), "openai/n"),
    "a provider before it": ("anthropic/c", "", (), "anthropic/c"),
    "its own provider before it": ("openai/n", "", (), "openai/n"),
    "a vendor's name on an aggregator": ("vendor/x", "", (), "openai/vendor/x"),
    "chosen from a list": ("a/b", "openrouter", (), "openrouter/a/b"),
    "a server of one's own": ("mine/z", "", (), "mine/z"),
    "a listed model with a slash": ("anthropic/c", "", ("anthropic/c",), "openai/anthropic/c"),
}


@each_row(("typed", "provider", "listed", "who"), ANOTHER.values(), ids=ANOTHER)
def test_a_model_beside_the_configured_one(typed, provider, listed, who):
    mine = {"mine": {"base_url": "http://127.0.0.1:5/v1"}}
    options = ProviderOptions(provider="openai", model="m", providers=mine)
    first = providers.resolve(options, KEYS, {})
    assert names([providers.another(typed, provider, first, options, KEYS, {}, listed)]) == [who]


def test_on_an_aggregator_a_vendors_name_is_the_aggregators_model_unless_it_is_known_to_have_none():
    options = ProviderOptions(provider="openrouter", model="m")
    first = providers.resolve(options, KEYS, {})
    assert names([providers.another("anthropic/c", "", first, options, KEYS, {})]) == ["openrouter/anthropic/c"]
    assert names([providers.another("anthropic/c", "", first, options, KEYS, {}, ("x/y",))]) == ["anthropic/c"]
    own = replace_providers(options, {"mine": {"base_url": "http://127.0.0.1:5/v1"}})
    assert names([providers.another("mine/c", "", first, own, KEYS, {})]) == ["mine/c"]


def replace_providers(options, entries):
    return providers.replace(options, providers=entries)


def test_the_programs_own_key_and_address_are_for_the_configured_server_alone():
    env = {"NANOHERMES_BASE_URL": "http://127.0.0.1:7/v1", "NANOHERMES_API_KEY": "own", "NANOHERMES_API_KEY_2": "own2"}
    options = ProviderOptions(model="m", base_url=env["NANOHERMES_BASE_URL"])
    first = providers.resolve(options, env, {})
    assert [key.reveal() for key in first.keys] == ["own", "own2"]
    with pytest.raises(ConfigError, match="no key"):
        providers.stand_in({"provider": "openai", "model": "m"}, first, options, env, {})
    with pytest.raises(ConfigError, match="no key"):
        providers.another("m", "anthropic", first, options, env, {})
    other = providers.stand_in({"base_url": "http://127.0.0.1:8/v1", "model": "x"}, first, options, env, {})
    assert other.keys == ()
    same = providers.stand_in({"provider": first.provider, "model": "x"}, first, options, env, {})
    assert same.keys == first.keys


# -- keys -----------------------------------------------------------------------------------------------------------


@each_row(
    ("env", "dotenv", "found"),
    [
        ({"K": "1", "K_2": "2", "K_9": "9", "K_10": "10"}, {}, ["K", "K_2", "K_9"]),
        ({"K": "1"}, {"K": "x", "K_2": "2"}, ["K", "K_2"]),
        ({"K_2": "2"}, {"K": "1"}, ["K_2", "K"]),
        ({"K": "1", "K_2": "1", "OTHER": "3"}, {}, ["K", "OTHER"]),
        ({"K": " "}, {"K_3": "3"}, ["K_3"]),
        ({}, {}, []),
    ],
)
def test_several_keys_are_found_by_numbered_names(env, dotenv, found):
    assert [key.source for key in find_keys(["K", "OTHER"], env, dotenv)] == found


@pytest.mark.parametrize("written", ["A, B", ["A", "B"], "A,B,"])
def test_several_variables_can_be_named(written):
    entry = {"base_url": "https://llm.example/v1", "api_key_env": written}
    options = ProviderOptions(model="m", provider="mine", providers={"mine": entry})
    found = providers.resolve(options, {"A": "1", "B": "2", "A_2": "3", "OPENAI_API_KEY": "no"}, {})
    assert [key.source for key in found.keys] == ["A", "A_2", "B"]
    assert {"A", "A_2", "B", "OPENAI_API_KEY_3"} <= providers.variables(options)


# -- over real servers ----------------------------------------------------------------------------------------------


def options_for(**servers):
    """Servers by name; each has the keys NAME, NAME_2, …"""
    entries = {name: {"base_url": url, "api_key_env": name.upper()} for name, url in servers.items()}
    return ProviderOptions(provider=next(iter(servers)), model="one", providers=entries, **FAST)


def ask(router, turn="t1", cancel=None):
    told = []
    reply = router.complete(LlmRequest((user("Hi"),), turn=turn), told.append, cancel or CancelScope())
    return reply, [d for d in told if d.kind in ("switch", "retry", "reset")]


def down(body):
    return Failure("server")


@pytest.fixture
def trio():
    """Three servers, a router over them, and its clock. A server is down while `refuse` is `down`."""
    with ExitStack() as stack:
        servers = [stack.enter_context(WireServer(Answer(f"from {n}"))) for n in "abc"]
        options = options_for(**dict(zip("abc", (s.base_url for s in servers), strict=True)))
        first = providers.resolve(options, {}, {})
        entries = [{"provider": "b", "model": "two"}, {"provider": "c", "model": "three"}]
        others, problems = providers.stand_ins(entries, "", first, options, {}, {})
        clock = Clock()
        resting = Resting(clock)
        plan = Plan((first, *others), options, problems=problems)
        routers = []

        def make(plan=plan, **more):
            routers.append(Router(lambda: plan, resting, **more))
            return routers[-1]

        yield servers, make, clock, plan
        for router in routers:
            router.close()


def test_the_chain_is_walked_in_order_and_each_turn_begins_with_the_first_again(trio):
    (a, b, _), make, clock, _ = trio
    router = make()
    assert ask(router)[0].text == "from a"
    a.refuse = b.refuse = down
    reply, told = ask(router)
    assert (reply.text, reply.model, reply.provider) == ("from c", "three", "c")
    assert [d.params["model"] for d in told if d.kind == "switch"] == ["two", "three"]
    assert "two (b) answers instead of one for this turn" in next(d.text for d in told if d.kind == "switch")
    assert (len(a.requests), len(b.requests)) == (1 + 2, 2)  # retries first
    a.refuse = b.refuse = lambda body: None
    assert ask(router)[0].text == "from c"  # for the rest of the turn
    reply, told = ask(router, "t2")  # a and b rest
    assert (reply.text, told[0].params["notice"], told[0].params["minutes"]) == ("from c", "fallback_resting", 1)
    clock.now += 61
    reply, told = ask(router, "t3")
    assert (reply.text, told) == ("from a", [])


def test_who_has_answered_is_told_and_who_has_failed_is_not(trio):
    (a, _, _), make, _, _ = trio
    heard = []
    router = make(answered=lambda endpoint: heard.append(endpoint.provider))
    ask(router)
    a.refuse = down
    ask(router)
    assert heard == ["a", "b"]


def test_a_success_ends_the_doubling(trio):
    (a, _, _), make, clock, _ = trio
    router = make()
    for expected in (60, 120, 240):
        a.refuse = down
        ask(router, f"down {expected}")
        assert round(router._left(0)) == expected
        clock.now += expected
    a.refuse = lambda body: None
    assert ask(router, "up")[0].text == "from a"
    a.refuse = down
    ask(router, "down again")
    assert router._left(0) == 60


def test_what_fails_in_one_session_rests_in_all_and_the_last_resort_is_asked_all_the_same(trio):
    (a, b, c), make, _, _ = trio
    a.refuse = down
    ask(make())
    before = len(a.requests)
    assert ask(make())[0].text == "from b"
    assert len(a.requests) == before
    b.refuse = c.refuse = down
    with pytest.raises(ProviderError) as caught:
        ask(make())
    assert caught.value.kind == "server"
    a.refuse = lambda body: None
    assert ask(make())[0].text == "from a"  # all rest: the first choice after all


@pytest.mark.parametrize("kind", ["overflow", "bad_request"])
def test_a_failure_that_is_the_requests_own_goes_nowhere(trio, kind):
    (a, b, _), make, _, _ = trio
    a.refuse = lambda body: Failure(kind)
    with pytest.raises(ProviderError):
        ask(make())
    assert b.requests == []


def test_a_model_that_was_chosen_fails_without_anybody_in_its_place(trio):
    (a, b, _), make, _, plan = trio
    a.refuse = down
    with pytest.raises(ProviderError) as caught:
        ask(make(Plan(plan.endpoints[:1], plan.options)))
    assert caught.value.kind == "server"
    assert b.requests == []


def test_what_a_failed_model_had_said_is_taken_back(trio):
    (a, _, _), make, _, _ = trio
    a._answers = (Answer("I will do so", after=2, failure=Failure("server")),)
    told = []
    reply = make().complete(LlmRequest((user("Hi"),)), told.append, CancelScope())
    kinds = [d.kind for d in told]
    assert reply.text == "from b"
    assert kinds[kinds.index("switch") - 1] == "reset"
    assert "".join(d.text for d in told[kinds.index("switch") :] if d.kind == "text") == "from b"


def test_a_first_choice_that_is_soon_free_again_is_waited_for_when_that_is_wished(trio):
    (a, b, _), make, _, plan = trio
    answers = iter([Failure("rate_limit", headers={"retry-after": "0.2"})] * 2 + [None])
    a.refuse = lambda body: next(answers)
    reply, told = ask(make(Plan(plan.endpoints, plan.options, min_switch_reset=1.0)))
    assert (reply.text, b.requests) == ("from a", [])
    assert "waiting_for" in [d.params.get("notice") for d in told]


def test_a_stop_ends_that_wait(trio):
    (a, _, _), make, _, plan = trio
    a.refuse = lambda body: Failure("rate_limit", headers={"retry-after": "50"})
    options = providers.replace(plan.options, max_attempts=1)
    scope = CancelScope()
    router = make(Plan(plan.endpoints, options, min_switch_reset=60.0))

    def stop(delta):
        if delta.params.get("notice") == "waiting_for":
            scope.cancel()

    with pytest.raises(Interrupted):
        router.complete(LlmRequest((user("Hi"),)), stop, scope)


def test_why_a_stand_in_cannot_be_used_is_told_when_it_is_needed(trio):
    (a, _, _), make, _, plan = trio
    a.refuse = down
    broken = (ConfigError("no_key", "There is no key for Groq."),)
    _, told = ask(make(Plan(plan.endpoints, plan.options, problems=broken)))
    assert [d.text for d in told if d.params.get("notice") == "no_stand_in"] == ["There is no key for Groq."]


# -- rotation over a real server --------------------------------------------------------------------------------------


class Keyed:
    """A server that knows what it thinks of each key."""

    def __init__(self, **thinks):
        self.thinks = thinks
        self.used = []
        self.server = WireServer(Answer("ok"), refuse=self.refuse)

    def refuse(self, body):
        key = self.server.requests[-1].headers.get("authorization", "").removeprefix("Bearer ")
        self.used.append(key)
        kind = self.thinks.get(key)
        return Failure(kind) if kind else None


def keyed_router(keyed, env, dotenv=None, clock=None):
    options = ProviderOptions(
        model="m", provider="mine", retry_base=0.001,
        providers={"mine": {"base_url": keyed.server.base_url, "api_key_env": "KEY"}},
    )  # fmt: skip
    dotenv = {} if dotenv is None else dotenv
    return Router(lambda: Plan((providers.resolve(options, env, dotenv),), options), Resting(clock or Clock()))


ROTATIONS = {
    "an empty account": ({"k1": "quota"}, ["k1", "k2"]),
    "a key that is refused": ({"k1": "auth"}, ["k1", "k2"]),
    "a key that is too fast is asked once more": ({"k1": "rate_limit"}, ["k1", "k1", "k2"]),
    "one after the other": ({"k1": "quota", "k2": "auth"}, ["k1", "k2", "k3"]),
}


@pytest.mark.parametrize(("thinks", "used"), ROTATIONS.values(), ids=ROTATIONS)
def test_the_next_key_is_used_and_named_by_its_variable(thinks, used):
    keyed, clock = Keyed(**thinks), Clock()
    env = {"KEY": "k1", "KEY_2": "k2", "KEY_3": "k3"}
    with keyed.server:
        router = keyed_router(keyed, env, clock=clock)
        reply, told = ask(router)
        assert (reply.text, keyed.used) == ("ok", used)
        rotated = [d for d in told if d.params.get("notice") == "key_rotated"]
        assert rotated[0].params["key"] == "KEY"
        assert rotated[0].params["next"] == "KEY_2"
        assert not any(key in f"{d.text}{d.params}" for d in told for key in ("k1", "k2", "k3"))
        ask(router, "t2")
        assert keyed.used[len(used) :] == used[-1:]  # the failed ones rest
        clock.now += 61
        keyed.thinks.clear()
        ask(router, "t3")
        assert keyed.used[-1] == "k1"
        router.close()


def test_when_all_keys_fail_the_last_failure_is_told():
    keyed = Keyed(k1="quota", k2="quota")
    with keyed.server:
        router = keyed_router(keyed, {"KEY": "k1", "KEY_2": "k2"})
        with pytest.raises(ProviderError) as caught:
            ask(router)
        assert (caught.value.kind, keyed.used) == ("quota", ["k1", "k2"])
        assert "k1" not in f"{caught.value}{caught.value.params}"
        router.close()


def test_a_key_that_was_mended_in_the_env_file_is_used_at_once_and_one_that_was_changed_from_the_next_turn_on():
    keyed, dotenv = Keyed(old="auth"), {"KEY": "old"}
    with keyed.server:
        router = keyed_router(keyed, {}, dotenv)
        with pytest.raises(ProviderError) as caught:
            ask(router)
        assert (caught.value.kind, keyed.used) == ("auth", ["old"])  # read anew, but the same
        dotenv["KEY"] = "new"
        assert ask(router, "t2")[0].text == "ok"
        dotenv["KEY"] = "newer"
        ask(router, "t2")
        ask(router, "t3")
        assert keyed.used[1:] == ["new", "new", "newer"]
        keyed.thinks["newer"] = "auth"
        dotenv["KEY"] = "newest"
        ask(router, "t3")
        assert keyed.used[-2:] == ["newer", "newest"]
        router.close()


def test_a_key_never_goes_to_the_address_of_another(trio):
    servers, make, _, plan = trio
    keyed = [
        providers.replace(endpoint, key=Secret(f"key-{endpoint.provider}", "K"), more_keys=(Secret("second", "K_2"),))
        for endpoint in plan.endpoints
    ]
    servers[0].refuse = servers[1].refuse = lambda body: Failure("quota")
    ask(make(Plan(tuple(keyed), plan.options)))
    for name, server in zip("abc", servers, strict=True):
        sent = {request.headers["authorization"] for request in server.requests}
        assert sent <= {f"Bearer key-{name}", "Bearer second"}


def test_the_first_one_and_the_next_one_are_those_that_do_not_rest():
    endpoints = tuple(range(4))
    plan = Plan(endpoints, ProviderOptions())  # who they are does not matter

    def left(*resting):
        return lambda index: 9.0 if index in resting else 0.0

    assert [route.first_one(plan, left(*r)) for r in ((), (0,), (0, 1), (0, 1, 2, 3))] == [0, 1, 2, 0]
    assert [route.next_one(plan, 0, left(*r)) for r in ((), (1,), (1, 2, 3))] == [1, 2, 1]
    assert route.next_one(plan, 3, left()) is None
