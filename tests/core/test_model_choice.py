"""Which model new turns will use, and who decides it when two look at once."""

import pytest

from agent_core.desk.model_choice import DEMO, ModelChoice
from agent_core.llm.providers import ProviderOptions


@pytest.mark.parametrize("configured", [True, False])
def test_a_look_for_local_servers_does_not_take_the_place_of_what_was_chosen_meanwhile(monkeypatch, configured):
    asked = ProviderOptions()
    choice = ModelChoice(lambda: asked, {}, dict, demo=False)
    told, looks = [], []
    choice.listen(lambda state: told.append(state.label))

    def none_answers(*args, **kwargs):
        nonlocal asked
        looks.append(1)
        if len(looks) == 1 and configured:  # the person sets a provider up while it is looked
            asked = ProviderOptions(model="mine", provider="ollama")
            assert choice.look_again().label == "mine"
        elif len(looks) == 1:  # or has it begin anew without one
            assert choice.look_again() is DEMO

    monkeypatch.setattr("agent_core.llm.discover.find_local_server", none_answers)
    assert not choice.state.settled
    assert choice.settle().label == ("mine" if configured else DEMO.label)
    assert choice.state is choice.settle()
    assert told == (["mine"] if configured else ["", DEMO.label])
