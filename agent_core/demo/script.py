"""What the scripted demo says next. Pure: it decides from the conversation it is shown, as a model would.

It repairs the sample project, and it tells what really happened: with the sample already repaired, with a test run or
the edit refused, or in a folder that is not the sample, its steps and its words differ. It is a script, not an AI, and
says so whenever it is asked for anything else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CART = "shop/cart.py"
TEST_COMMAND = "python3 -m unittest -v"

# The fault, as it stands in the sample, and its repair.
FAULT = """\
    if len(cart) >= 3:
        return round(price * 0.9, 2)
    if member:
        return round(price * 0.95, 2)
    return round(price, 2)"""
REPAIR = """\
    if len(cart) >= 3:
        price *= 0.9
    if member:
        price *= 0.95
    return round(price, 2)"""

_WORK = re.compile(r"fix|repair|test|bug|discount|cart|demo|修|测试|折扣|购物车|演示|失败", re.IGNORECASE)

WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "look": "I look at the cart and its tests first.",
        "look_thought": "The discounts are computed in shop/cart.py; the tests say what is expected.",
        "run": "Now the tests, to see the failure itself.",
        "found": "`total` returns as soon as the first discount applies, so a member with three lines never gets the "
        "second one: 90.0 instead of 85.5. Both discounts have to be applied to `price` before it is rounded. "
        "This is the change:",
        "found_thought": "An early return skips the member's discount.",
        "found_unrun": "The test run was refused, so I go by the code alone: `total` returns as soon as the first "
        "discount applies, and a member with three lines never gets the second one. This is the change:",
        "verify": "The change is in. Once more the tests:",
        "done": "## Repaired\n`total` in `shop/cart.py` now applies both discounts, one after the other, and rounds "
        "once at the end. All tests pass.\n\n| cart | before | after |\n|---|---|---|\n| three lines, member | 90.0 | 85.5 "
        "|\n| three lines | 90.0 | 90.0 |\n| one line, member | 38.0 | 38.0 |\n\nThis was a scripted demo with real "
        "tools. `/setup` connects a model for real work.",
        "done_unverified": "`total` in `shop/cart.py` is changed, but the second test run was refused, so the repair is "
        "**not verified**. `python3 -m unittest -v` in the workspace checks it.",
        "still_failing": "The change is in, but the tests still fail; the output is on the card above. A script cannot "
        "look further than this. `/setup` connects a model that can.",
        "edit_refused": "The edit was refused, so `shop/cart.py` is as it was and the test still fails. What I would "
        "change: apply the discounts to `price` one after the other instead of returning after the first.\n\nSend the "
        "same message again to be asked once more.",
        "edit_failed": "The edit could not be made; the card above says why. Nothing was changed.",
        "already": "There is nothing to repair: `total` applies both discounts{tests}. The sample has been repaired "
        "before. A new session (Ctrl+N) starts with a fresh copy.",
        "already_tests": ", and all tests pass",
        "already_unrun": " (the test run was refused, so I go by the code)",
        "changed": "`shop/cart.py` does not look as this script expects: neither the fault nor its repair is in it. "
        "A script cannot go on from here; a new session (Ctrl+N) starts with a fresh copy of the sample.",
        "no_sample": "This folder is not the demo's sample project: `shop/cart.py` cannot be read here. A new session "
        "(Ctrl+N) starts with a fresh copy of it.",
        "about": "I am a **scripted demo, not an AI**: a fixed script plays the model's part, while the tools, the "
        "questions and the files are real. I can only repair the sample project; say *fix the failing test* and I "
        "will.\n\nTo work with a real model:\n\n- `/setup` asks for a provider, a key and a model, and tests them;\n- or "
        "start a local server (Ollama, LM Studio, llama.cpp or vLLM) and start this program again;\n- or set "
        "`OPENAI_API_KEY`, `ANTHROPIC_API_KEY`, `DEEPSEEK_API_KEY` or another provider's key before you start it.",
        "plan_read": "Read the cart and its tests",
        "plan_run": "See the test fail",
        "plan_fix": "Repair the discount",
        "plan_verify": "Run the tests again",
    },
    "zh": {
        "look": "先看购物车的代码和测试。",
        "look_thought": "折扣在 shop/cart.py 里计算，测试写明了期望的结果。",
        "run": "现在运行测试，看看究竟怎么失败。",
        "found": "`total` 在第一个折扣生效时就返回了，所以买了三行商品的会员拿不到第二个折扣：得到 90.0，应为 85.5。"
        "两个折扣都要先作用到 `price` 上，最后再取整。改动如下：",
        "found_thought": "提前返回跳过了会员折扣。",
        "found_unrun": "测试没有获准运行，只能从代码判断：`total` 在第一个折扣生效时就返回，三行商品的会员拿不到第二个折扣。"
        "改动如下：",
        "verify": "改动已写入，再运行一遍测试：",
        "done": "## 已修复\n`shop/cart.py` 里的 `total` 现在依次应用两个折扣，最后只取整一次。全部测试通过。\n\n"
        "| 购物车 | 修改前 | 修改后 |\n|---|---|---|\n| 三行，会员 | 90.0 | 85.5 |\n| 三行 | 90.0 | 90.0 |\n"
        "| 一行，会员 | 38.0 | 38.0 |\n\n这是使用真实工具的脚本演示。`/setup` 可以连接真正的模型。",
        "done_unverified": "`shop/cart.py` 里的 `total` 已修改，但第二次测试没有获准运行，所以修复**未经验证**。"
        "在工作区运行 `python3 -m unittest -v` 即可检查。",
        "still_failing": "改动已写入，但测试仍然失败，输出在上面的卡片里。脚本只能做到这里；`/setup` 可以连接能继续分析的模型。",
        "edit_refused": "修改被拒绝了，`shop/cart.py` 保持原样，测试仍会失败。我本来要改的是：让两个折扣依次作用到 `price`，"
        "而不是在第一个之后就返回。\n\n再发一次同样的消息，就会再问一次。",
        "edit_failed": "修改没有成功，原因在上面的卡片里。没有任何改动。",
        "already": "没有需要修复的：`total` 已经应用了两个折扣{tests}。这个示例之前修过。新建会话（Ctrl+N）会得到一份新的示例。",
        "already_tests": "，全部测试通过",
        "already_unrun": "（测试没有获准运行，这是从代码判断的）",
        "changed": "`shop/cart.py` 和脚本预期的不一样：既没有那个错误，也没有对应的修复。脚本无法继续；新建会话（Ctrl+N）会得到一份新的示例。",
        "no_sample": "这个文件夹不是演示用的示例项目：这里读不到 `shop/cart.py`。新建会话（Ctrl+N）会得到一份新的示例。",
        "about": "我是**脚本演示，不是 AI**：由固定的脚本扮演模型，工具、询问和文件都是真的。我只会修复示例项目；"
        "说“修好失败的测试”，我就开始。\n\n要使用真正的模型：\n\n- `/setup` 会询问服务商、密钥和模型，并测试连接；\n"
        "- 或者启动一个本地服务（Ollama、LM Studio、llama.cpp 或 vLLM），再启动本程序；\n"
        "- 或者在启动前设置 `OPENAI_API_KEY`、`ANTHROPIC_API_KEY`、`DEEPSEEK_API_KEY` 等环境变量。",
        "plan_read": "阅读购物车和测试",
        "plan_run": "看到测试失败",
        "plan_fix": "修复折扣",
        "plan_verify": "再次运行测试",
    },
}


@dataclass(frozen=True, slots=True)
class Say:
    """One reply of the script: text, then calls. `calls` are (name, arguments)."""

    text: str
    reasoning: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()


@dataclass(frozen=True, slots=True)
class _Done:
    """A call of this turn with its result, as the wire shows it."""

    name: str
    arguments: Mapping[str, Any]
    result: str


def next_reply(messages: Sequence[Mapping[str, Any]]) -> Say:
    """The script's next reply to `messages` (OpenAI's wire form, arguments already decoded)."""
    start = max((i for i, m in enumerate(messages) if m.get("role") == "user"), default=0)
    prompt = _text(messages[start]) if messages else ""
    words = WORDS["zh" if re.search(r"[\u4e00-\u9fff]", prompt) else "en"]
    done = _calls_since(messages[start:])
    if not done:
        if not _WORK.search(prompt):
            return Say(words["about"])
        return _look(words)
    return _go_on(words, done)


def _look(words: Mapping[str, str]) -> Say:
    return Say(
        words["look"],
        words["look_thought"],
        (
            _plan(words, 0),
            ("read_file", {"path": CART}),
            ("read_file", {"path": "tests/test_cart.py"}),
        ),
    )


def _go_on(words: Mapping[str, str], done: Sequence[_Done]) -> Say:
    code = next((d.result for d in done if d.name == "read_file" and d.arguments.get("path") == CART), "")
    runs = [d for d in done if d.name == "run_command"]
    edits = [d for d in done if d.name == "edit_file"]
    if "def total" not in code:
        return Say(words["no_sample"])
    if not runs:
        return Say(words["run"], "", (_plan(words, 1), ("run_command", {"command": TEST_COMMAND})))
    if not edits:
        return _after_first_run(words, code, runs[0])
    if _refused(edits[0]):
        return Say(words["edit_refused"])
    if not edits[0].result.startswith(("Edited", "Changed", "Wrote")) and "replac" not in edits[0].result.lower():
        return Say(words["edit_failed"])
    if len(runs) == 1:
        return Say(words["verify"], "", (_plan(words, 3), ("run_command", {"command": TEST_COMMAND})))
    if _refused(runs[1]):
        return Say(words["done_unverified"])
    if not _passed(runs[1]):
        return Say(words["still_failing"])
    if done[-1].name != "todo_write":
        return Say("", "", (_plan(words, 4),))
    return Say(words["done"])


def _after_first_run(words: Mapping[str, str], code: str, run: _Done) -> Say:
    has_fault = "return round(price * 0.9, 2)" in code
    has_repair = "price *= 0.9" in code and "price *= 0.95" in code
    if has_repair and (_passed(run) or _refused(run)):
        return Say(words["already"].format(tests=words["already_unrun" if _refused(run) else "already_tests"]))
    if not has_fault:
        return Say(words["changed"])
    found = words["found_unrun"] if _refused(run) else words["found"]
    edit = ("edit_file", {"path": CART, "old_text": FAULT, "new_text": REPAIR})
    return Say(found, words["found_thought"], (_plan(words, 2), edit))


def _plan(words: Mapping[str, str], current: int) -> tuple[str, Mapping[str, Any]]:
    steps = ("plan_read", "plan_run", "plan_fix", "plan_verify")
    status = ["completed" if i < current else "in_progress" if i == current else "pending" for i in range(len(steps))]
    return "todo_write", {"items": [{"text": words[s], "status": st} for s, st in zip(steps, status, strict=True)]}


def _calls_since(messages: Sequence[Mapping[str, Any]]) -> list[_Done]:
    """The calls of these messages that have a result, in call order."""
    results = {m.get("tool_call_id"): _text(m) for m in messages if m.get("role") == "tool"}
    return [
        _Done(call["name"], call["arguments"], results[call["id"]])
        for m in messages
        for call in m.get("calls", ())
        if call["id"] in results
    ]


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or () if isinstance(part, Mapping))


def _refused(done: _Done) -> bool:
    return done.result.startswith(("The user refused", "BLOCKED", "Refused", "Mode plan"))


def _passed(done: _Done) -> bool:
    return re.search(r"^OK\b", done.result, re.MULTILINE) is not None
