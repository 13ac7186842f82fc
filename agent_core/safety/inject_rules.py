"""What `inject` looks for, as a table: phrases that ordinary guidance for a project does not hold.

A rule is matched only where one of its triggers stands, and every gap in its patterns is bounded, so that no text makes
looking slow. Texts are looked at as `inject` folds them: lower case, single blanks.
"""

from __future__ import annotations

import functools
import re
from typing import Final, Literal

from agent_core.records import dataclass

Kind = Literal["context", "memory"]
"""A file with guidance for a project, or an entry that will be remembered, where the rules are stricter: it is said to
the model in all later sessions, and nobody writes guidance about agents into it."""


@dataclass(frozen=True, slots=True)
class Rule:
    name: str
    triggers: tuple[str, ...]
    """Where one of these begins, `pattern` is matched. Most texts have none of a rule's: so it waits (`compiled`)."""
    pattern: str
    kinds: tuple[Kind, ...]
    before: str
    """What must stand before it, within BEFORE characters; empty: it begins a word."""
    unless: re.Pattern[str] | None
    """What may not."""
    one_line: bool
    """It is about commands: a line end is no blank."""


NOT: Final = re.compile(
    r"(?:\b(?:not|never|nor|don't|dont|doesn't|cannot|can't|won't|shouldn't|mustn't|avoid|refuse to|instead of)"
    r"[ \n](?:[\w'-]+[ \n]){0,3}"
    r"|(?:不要|不得|不能|不可|不许|不应|不会|切勿|请勿|禁止|严禁|避免|拒绝|别|勿|不)[^,.;:!?\n，。；：！？]{0,12})\Z"
)
_NOT_WORDS: Final = re.compile(
    r"\b(?:not|never|don't|dont|cannot|can't|won't|shouldn't|mustn't)\b(?:[^.;!?\n]|\.(?=\S)){0,80}\Z"
)
BEFORE: Final = 160


@functools.cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A rule's pattern, made when it is first asked for: all of them are a twentieth of a second of the first turn."""
    return re.compile(pattern)


def _any_of(*names: str) -> str:
    """One of these names, parted by blanks, as an expression."""
    return "|".join(re.escape(name) for text in names for name in text.split())


def _words(most: int) -> str:
    """Up to so many words, whatever they are."""
    return rf"(?:[\w'./~$-]+[ \n,]{{1,2}}){{0,{most}}}?"


def _rule(
    name: str,
    triggers: str,
    pattern: str = "",
    *kinds: Kind,
    before: str = "",
    unless: re.Pattern[str] | None = NOT,
    one_line: bool = False,
) -> Rule:
    """`triggers` are parted by blanks, `+` in them is one; in the patterns a blank stands for any."""
    return Rule(
        name,
        tuple(word.replace("+", " ") for word in triggers.split()),
        pattern.replace(" ", r"\s"),
        kinds or ("context", "memory"),
        before.replace(" ", r"\s") + r"\Z" if before else "",
        unless,
        one_line,
    )


_INSTRUCTIONS: Final = (
    r"(?:instructions?|rules?|guidelines?|prompts?|directives?|directions|guardrails?|constraints|restrictions"
    r"|polic(?:y|ies)"
    r"|training|programming|context|messages?|safety)\b"
)
_SECRETS: Final = (
    r"(?:secrets?|credentials?|api[ _-]?keys?|passwords?|passphrases?|(?:access |auth )?tokens?|private keys?|ssh keys?"
    r"|env(?:ironment)?(?: variables| vars)|\.env\b)"
)
_OTHER_SELF: Final = (
    r"(?:(?:ai|assistant|model|chatbot|bot|llm|hacker|attacker|persona|dan|root user|admin|administrator)\b"
    r"|un(?:restricted|censored|filtered|limited)|jailbroken|evil|free (?:from|of)|no longer)"
)
_FREEDOM: Final = (
    r"(?:restrictions?|limits?|limitations?|rules?|filters?|guidelines?|constraints?|safety|censorship|ethics)\b"
)
_KEY_FILES: Final = (
    r"(?:\.env\b|\.netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials|\.ssh\b|\.aws\b|\.gnupg|\.kube/config"
    r"|\.vault-token"
    r"|\.docker/config\.json|\.config/gh\b|\.config/gcloud|\.hermes/\.env|\.nanohermes/(?:\.env|credentials))"
)
_HOME: Final = r"(?:~|\$\{?home\}?|/home/[\w.-]+|/root|/users/[\w.-]+|%userprofile%)[/\\]"
_SECRET_VARIABLE: Final = r"\$[({]?\w*(?:key|token|secret|passw|credential|api)\w*"
_KEY_NAMES: Final = (
    ".env .netrc .pgpass .npmrc .pypirc .git-credentials .ssh/ .aws/ .gnupg .kube/config .vault-token "
    ".docker/config.json"
    " .config/gh .config/gcloud"
)
_AGENT_FILES: Final = (
    "agents.md claude.md gemini.md soul.md .hermes.md .cursorrules .clinerules .windsurfrules copilot-instructions.md"
    " memory.md .mcp.json"
)
_AGENT_SETTINGS: Final = (
    "hermes/config.yaml hermes/config.yml hermes/soul.md hermes/grants.json hermes/hooks.json hermes/mcp.json"
    " .claude/settings .codex/config .cursor/mcp.json"
)
_EDITING: Final = (
    r"(?:update|modify|edit|write|change|append|add|insert|overwrite|replace|alter|rewrite|delete|remove|put|save)"
)
_SENDING_OPTION: Final = (
    r"(?:-d|-f|-t|--data[\w-]*|--form|--upload-file|--post-data|--post-file|--body-data|--body-file)"
)
_SAID_OF_OTHERS: Final = re.compile(
    r"\b(?:not|never|don't|dont|cannot|can't|won't|it|they|which|that|will|may|can"
    r"|to) (?:\w+ ){0,2}\w+[^.;!?\n]{0,60}\Z"
)
_SENDING: Final = r"(?:send|post|upload|transmit|forward|e-?mail|exfiltrate|deliver|submit|leak|report|share|copy)"
_SENT: Final = (
    r"(?:conversations?|chat (?:history|logs?)|history|messages|context|prompts?|memor(?:y|ies)|keys?|files?|contents?"
    r"|source code|(?:user |all |the |my |your |private |sensitive )data|everything|results? of env|" + _SECRETS + ")"
)

RULES: Final = (
    # Taking back what was said before.
    _rule(
        "override phrase",
        "ignore disregard forget override bypass discard dismiss neglect abandon",
        r"(?:ignore|disregard|forget|override|bypass|discard|dismiss|neglect|abandon) "
        + _words(3)
        + r"(?:(?:previous|prior|above|earlier|preceding|foregoing|original|initial|your|system|everyone's)\b,? "
        + _words(3)
        + _INSTRUCTIONS
        + r"|(?:all|any|every)(?: of)?(?: the| these| those| such| other)? "
        r"(?:instructions?|directives?|guidelines|prompts?|guardrails?|safety \w+))",
    ),
    _rule(
        "override phrase",
        "disregard forget",
        r"(?:disregard|forget) (?:(?:all|any|the|every) (?:rules|guidelines|polic(?:y|ies))"
        r"|(?:everything|all|anything)(?: that)? (?:above|before|you (?:were|have been|know|learned|are))"
        r"|what you (?:were|have been) (?:told|taught))",
    ),
    _rule(
        "override phrase",
        "ignore disregard stop",
        r"(?:ignore|disregard) (?:everything|all|anything)(?: that)? (?:above|before|said|written|you (?:were|have"
        r"|know))"
        r"|stop following (?:your|the|all|any|previous) " + _words(2) + _INSTRUCTIONS,
    ),
    _rule(
        "override phrase", "system", r"system (?:prompt )?override\b|system prompt (?:is|has been) (?:replaced|changed)"
    ),
    _rule(
        "override phrase",
        "new+ real+ actual+ true+ updated+",
        r"(?:new|real|actual|true|updated) (?:system (?:prompt|instructions?|message)|instructions? for the (?:ai"
        r"|agent))"
        r"(?: (?:is|are|follows?)\b|:)",
    ),
    _rule(
        "fake turn",
        "<|",
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id|start_header_id)\|>",
        unless=None,
    ),
    _rule("fake turn", "<<sys>> [/inst] </system", r"<<sys>>|\[/inst\]|</system(?:-reminder|-prompt)?>", unless=None),
    # Another self.
    _rule("role play", "you+are+now you're+now", r"you(?: are|'re) now " + _words(4) + _OTHER_SELF),
    _rule(
        "role play",
        "pretend",
        r"pretend (?:that )?(?:you are|you're|you have|you can|to be " + _words(3) + _OTHER_SELF + ")",
    ),
    _rule(
        "role play",
        "act+as behave+as behave+like respond+as roleplay role-play imagine",
        r"(?:act|behave|respond|imagine)(?: as)?(?: if| though)? (?:that )?you "
        + _words(3)
        + r"(?:no|not|any|without|n't have) "
        + _words(3)
        + _FREEDOM
        + r"|(?:act|behave|respond|role-?play) (?:as|like) (?:an? |the )?"
        + _words(1)
        + r"(?:un(?:restricted|censored|filtered)|jailbroken|evil|dan\b|hacker)",
    ),
    _rule(
        "role play",
        "from+now+on",
        r"from now on,? you(?: are|'re| will (?:obey|ignore|act as|respond as|pretend|follow only))",
    ),
    _rule(
        "role play",
        "respond answer reply operate work",
        r"(?:respond|answer|reply|operate|work) without (?:any |your |all )?"
        + _words(1)
        + r"(?:restrictions?|limitations?|filters?|safety|censorship|ethical)",
    ),
    _rule(
        "role play",
        "you+have+no you+have+been you've+been",
        r"you have no " + _words(2) + r"(?:restrictions?|limits|limitations|rules|filters|guidelines)"
        r"|you(?: have|'ve) been (?:\w+ ){0,2}(?:updated|upgraded|patched|reprogrammed|jailbroken|unlocked|freed)"
        r" (?:to|from|and|so)\b",
    ),
    _rule(
        "role play",
        "dan+mode god+mode jailbreak+mode do+anything+now unrestricted+mode",
        r"(?:(?:dan|god|jailbreak|unrestricted) mode|do anything now)\b",
        unless=None,
    ),
    # Saying what is not to be said.
    _rule(
        "prompt leak",
        "system+prompt system+instructions initial+prompt initial+instructions original+prompt original+instructions "
        "hidden+prompt hidden+instructions secret+instructions secret+prompt",
        r"\w+ (?:prompt|instructions)\b(?! (?:builder|template|file|class|tests?)\b)",
        before=r"\b(?:output|print|reveal|show|display|repeat|leak|expose|disclose|dump|tell|give|share|recite"
        r"|return|echo)"
        r"(?: me)? " + _words(3),
        unless=_NOT_WORDS,
    ),
    _rule(
        "prompt leak",
        "reveal disclose exfiltrate steal harvest leak",
        r"(?:reveal|disclose|exfiltrate|steal|harvest|leak) (?:all |any |the |your |every |user |its |their )*"
        + _SECRETS,
    ),
    # Hiding it from the person.
    _rule(
        "deception",
        "do+not+ don't+ never+ dont+",
        r"(?:do not|don't|dont|never) (?:ever )?(?:(?:tell|inform|alert|warn)"
        r"|(?:mention|reveal|disclose|say|report) (?:this|it|that|any of this|anything) to|let) "
        r"(?:the |your |any )?(?:users?|humans?|operators?|owners?|person)\b(?! to\b)(?<!let the user)(?<!let users)",
        unless=None,
    ),
    _rule(
        "deception",
        "do+not+let don't+let never+let",
        r"(?:do not|don't|never) let (?:the |your )?(?:users?|humans?|operators?) (?:know|see|notice|find out|realize)",
        unless=None,
    ),
    _rule(
        "deception",
        "hide+this hide+it keep+this keep+it",
        r"(?:hide (?:this|it)|keep (?:this|it) (?:secret|hidden)) from (?:the |your )?(?:users?|humans?|operators?"
        r"|owners?)",
    ),
    _rule(
        "deception",
        "without+",
        r"without (?:(?:telling|informing|notifying|alerting) (?:the |your )?(?:users?|humans?|operators?)"
        r"|(?:the |your )?(?:user|human|operator)(?:'s)? (?:knowing|knowledge|noticing))",
        unless=_NOT_WORDS,
    ),
    _rule(
        "deception",
        "secretly covertly silently",
        r"(?:secretly|covertly) \w+|silently (?:send|upload|exfiltrate|forward|post|transmit|copy)\b",
    ),
    # Carrying it out of the house.
    _rule(
        "exfiltration",
        "$",
        _SECRET_VARIABLE,
        before=r"(?:(?:curl|wget|fetch|http) [^\n]*?(?:https?://|[\w.-]+\.\w+/)[^\s\"']*"
        r"|(?:curl|wget)\b[^\n]*? " + _SENDING_OPTION + r"[ =](?:(?! -)[^\n])*)",
        unless=None,
        one_line=True,
    ),
    _rule(
        "exfiltration",
        ".env id_rsa id_ed25519 .ssh/ credentials .netrc /shadow",
        before=r"(?:curl|wget) [^\n]*?" + _SENDING_OPTION + r"[ =]\S*",
        unless=None,
        one_line=True,
    ),
    _rule(
        "exfiltration",
        "|",
        r"\|[^\n|]{0,80}?\b(?:curl|wget|nc|ncat|netcat|socat|ssh|telnet|mail)\b",
        before=r"(?:\A|[ ;&|(\"'])(?:(?:cat|tar|base64) [^\n]*?(?:"
        + _KEY_FILES
        + r"|id_rsa|id_ed25519|/etc/shadow)[^\n]*"
        r"|(?:print)?env ?(?:\| ?(?:base64|gzip|xxd)[^\n|]*)?)",
        unless=None,
        one_line=True,
    ),
    _rule(
        "exfiltration",
        "http:// https:// ftp://",
        before=r"\b"
        + _SENDING
        + r" [^\n]*?\b"
        + _SENT
        + r"(?![\w-])[^\n]{0,60}?\b(?:to|at|via)[ :]"
        + _words(3)
        + r"[\"'<(]?",
        unless=_NOT_WORDS,
    ),
    _rule(
        "exfiltration",
        "http:// https://",
        "",
        "memory",
        before=r"\b(?:send|post|upload|transmit) " + _words(8) + r"(?:to|at) [\"'<]?",
        unless=_NOT_WORDS,
    ),
    _rule(
        "exfiltration",
        "include output print send share forward dump upload transmit leak append attach",
        r"(?:include|output|print|send|share|forward|dump|upload|transmit|leak|append|attach) "
        + _words(3)
        + r"(?:conversation(?: history)?|chat (?:history|logs?)|previous messages|message history"
        r"|(?:entire|full|whole|complete|all(?: of)?(?: the| your)?) (?:context|conversation|session|prompt))\b",
        "memory",
    ),
    _rule(
        "exfiltration",
        "include output send share forward dump upload transmit leak append attach",
        r"(?:include|output|send|share|forward|dump|upload|transmit|leak|append|attach) "
        + _words(3)
        + r"(?:conversation(?: history)?|chat (?:history|logs?)|previous messages|message history"
        r"|(?:entire|full|whole|complete|all(?: of)?(?: the| your)?) (?:context|conversation|session|prompt))\b "
        + _words(2)
        + r"(?:(?:to|with|at|via) "
        + _words(3)
        + r"(?:external|https?:|url|server|endpoint|webhook|third|service|remote|attacker|address)|in (?:your"
        r"|every|each|all) )",
    ),
    # Reading keys.
    _rule(
        "reads keys",
        _KEY_NAMES,
        r"\S{1,60}",
        before=r"\b(?:cat|less|head|tail|type|cp|scp|grep|base64|xxd|strings|open|access|dump|read|exfiltrate|steal) "
        r"[^\n;]{0,40}?" + _HOME + r"[\w./-]{0,40}",
        unless=_NOT_WORDS,
        one_line=True,
    ),
    _rule(
        "reads keys",
        "/etc/shadow /etc/gshadow /etc/sudoers",
        before=r"\b(?:cat|less|head|tail|cp|scp|grep|base64|xxd|strings|dump|read|open) [^\n;]{0,40}",
        unless=_NOT_WORDS,
        one_line=True,
    ),
    _rule(
        "reads keys",
        ".env credentials .netrc .pgpass .npmrc .pypirc",
        r"(?:\.env\b|\w|\.)",
        "memory",
        before=r"\b(?:cat|type|less|more) [^\n]{0,80}",
        one_line=True,
    ),
    _rule("reads keys", "~/.ssh $home/.ssh ${home}/.ssh /.ssh/id_", "", "memory"),
    _rule("reads keys", ".hermes/.env .nanohermes/.env", "", "memory"),
    # Staying.
    _rule("persistence", "authorized_keys", "", "memory"),
    _rule(
        "persistence",
        "authorized_keys",
        before=r"(?:\b(?:write|append|add|put|insert|echo|copy|install|tee)\b|>>)[^\n]*",
        unless=_NOT_WORDS,
        one_line=True,
    ),
    _rule(
        "persistence",
        f"{_AGENT_FILES} {_AGENT_SETTINGS}",
        "",
        "memory",
        before=r"\b" + _EDITING + r"\b[^\n]{0,80}",
        unless=_NOT_WORDS,
        one_line=True,
    ),
    _rule(
        "persistence",
        _AGENT_SETTINGS,
        r"[^\n]{0,100}?(?:allow|disabl|approv|yolo|trust|permission|never ask|full.access|bypass|grant all)",
        before=r"\b" + _EDITING + r" (?:the |your |its )?[^\s,]{0,40}",
        unless=_SAID_OF_OTHERS,
        one_line=True,
    ),
    _rule(
        "persistence",
        "> |",
        r"(?:>>? ?\S{0,40}(?:rc|profile|crontab|cron\.d\S{0,20})|\| ?crontab)\b",
        before=r"(?:echo|printf)\b[^\n]*?(?:curl|wget|nc |base64|/dev/tcp)[^\n]*",
        unless=None,
        one_line=True,
    ),
    # Running what cannot be read.
    _rule(
        "runs hidden text",
        "translate",
        r"translate " + _words(6) + r"(?:into|to) " + _words(4) + r"and (?:then )?(?:execute|run|eval)",
    ),
    _rule("runs hidden text", "decode", r"decode " + _words(6) + r"and (?:then )?(?:execute|run|eval|follow|obey)"),
    _rule(
        "runs hidden text",
        "base64+-d base64+--decode base64+-di",
        r"base64 (?:-d\w*|--decode)[^\n]{0,80}\| ?(?:sudo )?(?:ba|z|da)?sh\b",
        unless=None,
    ),
    # The same in Chinese.
    _rule(
        "override phrase",
        "忽略 无视 忘记 忘掉 抛开 绕过 违背 不要遵守 不再遵守 不必遵守 停止遵守 不用管 别管 不要理会",
        r"(?:忽略|无视|忘记|忘掉|抛开|绕过|违背|(?:不要|不再|不必|停止)遵守|不用管|别管|不要理会)[^，。；！？\n]{0,6}?"
        r"(?:(?:之前|以前|先前|上面|上述|以上|前面|此前|你的|系统|原有|原来|既有|原先|已有)[^，。；！？\n]{0,8}?"
        r"(?:指令|指示|规则|提示|命令|要求|约束|限制|设定|准则|说明|内容|对话)"
        r"|(?:所有|全部|一切|任何)的?(?:指令|指示|提示词|命令|安全\w{0,4}规则|安全限制|限制))",
    ),
    _rule(
        "role play",
        "你现在 从现在 假装 假扮 扮演 假设你",
        r"(?:你现在(?:是|扮演|就是|将)|从现在(?:起|开始)[，,]?你(?:是|将|就是|扮演|不再|只听)|假装你?|假扮|扮演|假设你是?)[^，。；！？\n]{0,10}?"
        r"(?:黑客|不受|无限制|没有(?:任何)?限制|没有(?:任何)?约束|ai|人工智能|助手|模型|dan|管理员|越狱|另一个|听我|root)",
    ),
    _rule(
        "role play",
        "不受",
        r"不受(?:任何|一切|所有)?(?:道德|安全|内容|规则|政策)?的?(?:限制|约束|规则|审查)(?:的?(?:ai|人工智能|助手|模型|状态|模式)|地?回答|回答)",
    ),
    _rule("role play", "越狱模式 开发者模式已", r"越狱模式|开发者模式已(?:启用|开启|打开)", unless=None),
    _rule(
        "prompt leak",
        "输出 打印 显示 告诉我 说出 复述 泄露 透露 给出 公开 展示 重复",
        r"(?:输出|打印|显示|告诉我|说出|复述|泄露|透露|给出|公开|展示|重复)[^，。；！？\n]{0,8}?"
        r"(?:系统提示|系统指令|初始指令|初始提示|隐藏指令|隐藏提示|你的提示词|你的指令)",
    ),
    _rule(
        "deception",
        "不要告 别告 切勿告 请勿告 不得告 不能告 不准告 不要通知 不要提醒 不要向 别让 不要让 瞒着 背着 偷偷 不让",
        r"(?:(?:不要|别|切勿|请勿|不得|不能|不准)(?:告诉|告知)(?:用户|使用者|主人|人类|开发者)(?!如何|怎么|去|要)"
        r"|不要(?:通知|提醒)(?:用户|使用者)(?:这|此|该|有关)"
        r"|不要向(?:用户|使用者)(?:透露|提及|说明|报告|提到)(?:这|此|本|该|以上|上述)"
        r"|(?:别|不要|不)让(?:用户|使用者|主人)(?:知道|发现|察觉|看到|看见)"
        r"|(?:瞒着|背着)(?:用户|使用者|主人)|偷偷(?:地)?(?:发送|上传|执行|运行|安装|复制|转发|传))",
        unless=None,
    ),
    _rule(
        "exfiltration",
        "把 将 发送 上传 转发 泄露 提交 外传",
        r"(?:把|将)?[^，。；！？\n]{0,12}?(?:对话|聊天记录|上下文|密钥|密码|令牌|凭证|凭据|环境变量|源代码|源码|私钥|用户数据)[^，。；！？\n]{0,16}?"
        r"(?:发送|上传|转发|发到|传到|传给|发给|提交|外传|泄露|寄)[^，。；！？\n]{0,12}?(?:https?://|外部|第三方|攻击者|我的服务器|邮箱)"
        r"|(?:发送|上传|转发|泄露|提交|外传)[^，。；！？\n]{0,12}?"
        r"(?:对话|聊天记录|上下文|密钥|密码|令牌|凭证|凭据|环境变量|源代码|源码|私钥|用户数据)[^，。；！？\n]{0,10}?(?:到|给|至)[^，。；！？\n]{0,10}?"
        r"(?:https?://|外部|第三方|攻击者|我的服务器|邮箱)",
    ),
    _rule(
        "reads keys",
        "读取 查看 打开 获取 拷贝 复制",
        r"(?:读取|查看|打开|获取|拷贝|复制)[^，。；！？\n]{0,10}?(?:"
        + _HOME
        + r"[\w./-]{0,40}?"
        + _KEY_FILES
        + r"|/etc/shadow)",
    ),
    _rule(
        "persistence",
        "修改 编辑 写入 更改 追加 改写 添加 更新",
        r"(?:修改|编辑|写入|更改|追加|改写|添加|更新)[^，。；！？\n]{0,20}?(?:"
        + _any_of(_AGENT_FILES, _AGENT_SETTINGS)
        + ")",
        "memory",
    ),
    _rule("persistence", "写入 追加 添加 加入", r"(?:写入|追加|添加|加入)[^，。；！？\n]{0,30}?authorized_keys"),
)


# -- comments that a reader does not see --------------------------------------------------------------------------

HIDDEN: Final = (("<!--", "-->"), ("[//]: # (", ")"), ("[comment]: # (", ")"))
COMMANDS: Final = re.compile(
    (
        r"\b(?:ignore|disregard|override|bypass|forget)\b "
        + _words(3)
        + r"(?:rules?|instructions?|guidelines?|checks?|safety|polic(?:y|ies)|restrictions?|above|previous"
        r"|everything|users?)\b"
        r"|\b(?:secret|hidden|system) (?:instructions?|prompts?|commands?|messages?|notes?|override|directives?)\b"
        r"|\b(?:note|message|instructions?|attention|important) (?:to|for) (?:the |any |all )?(?:ai|llm|agents?"
        r"|assistants?|models?)\b"
        r"|\b(?:ai|llm|assistant|agent|model|claude|gpt|copilot)s?(?: agents?| assistants?)?[:,] (?:you|please|run"
        r"|ignore|send|do|always|when)\b"
        r"|\byou (?:must|should|are|will|need to|have to)\b"
        r"|\b(?:run|execute|send|upload|post|fetch|curl|wget)\b[^\n]{0,120}https?://"
        r"|(?:忽略|无视|执行|运行|发送|上传|不要告诉|你必须|你现在)"
    ).replace(" ", r"\s")
)
UNSEEN_STYLE: Final = re.compile(
    r"<(?:div|span|p|section|font)\b[^>]{0,300}(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0"
    r"|opacity ?: ?0(?![.\d])"
    r"|color ?: ?(?:transparent|white|#fff(?:fff)?)\b)"
)
