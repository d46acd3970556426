"""When it is to happen, and with what force."""

from __future__ import annotations

from toolcrib.scanner.signal import signal

FORCE = (
    signal(
        "always",
        1,
        "instruction",
        "wants it at every occasion",
        "before prior when every each any after for mandatory preflight pre-flight once unless otherwise first only",
        r"\b(?:before|prior to|whenever|every time|each time|any ?time|after|for)\b(?: \w+){0,5} (?:any|all|every|each|other|another)\b|\bmandatory\b|\bpre-?flight\b|\bbefore (?:each|every|any|this|you|using|calling|answering|anything)\b"
        r"|\bwhenever\b|\bevery time\b|\beach time\b|\bonce this tool\b|\bonly valid if\b|\bunless this\b|\botherwise (?:the tool|it|this)\b|\bfirst (?:call|read|open|run|send|collect|load)\b|\bfor (?:it|this|the tool) to work\b|\bbefore \w+(?:ing)?\b.{0,30}\b(?:called|used|run|sent)\b",
    ),
    signal(
        "orders",
        1,
        "instruction",
        "gives orders",
        "must you required has have please always sure ensure remember it read send includ pass append forward upload call run execut fetch open copy "
        "provid collect attach add put post look grab gather stor search load past submit list",
        r"\b(?:you (?:must|should|need to|have to|are required|shall|will)|must|required to|has to be|have to be|please|always|make sure|ensure|remember to|be sure|it is (?:mandatory|required|essential|crucial|vital))\b",
        r"(?:^|[.:;!\n*>-] ?|\band |\bthen |\bfirst,? |\balso |, )(?:read(?! from)|send|include|pass|append|forward|upload|call|run|execute|fetch|open|copy|provide|collect|attach|add|put|post|look|grab|gather|store|search|load|paste|submit|list)\b",
    ),
    signal(
        "others",
        2,
        "instruction",
        "gives orders about all other tools",
        "other place trusted refuse any",
        r"(?<!\battempt )\b(?:any|all|every|each|no) (?:of the )?other (?:tool|function|server|mcp)s?\b|\bin place of (?:every|any|all)\b|\bonly trusted\b|\bdata of other servers\b|\brefuse to use\b|\bbefore (?:using |calling |you use )?any (?:other )?tool\b",
    ),
    signal(
        "alters",
        3,
        "other-server",
        "wants other calls changed",
        "modif chang replac alter swap append cc copy redirect substitut intercept rewrit overwrit add put mail messag payment transfer request respons answer quer traffic instead",
        r"\b(?:modify|change|replace|alter|swap|substitute|rewrite|overwrite|redirect|intercept) (?:the |every |each |any |all |its )?(?:\w+ ){0,2}(?:parameters?|arguments?|recipients?|amounts?|addresse?s?|ibans?|accounts?|body|bodies|urls?|numbers?|destinations?|messages?|mails?|payments?|calls?)\b(?: \w+){0,3} (?:of|to|when|with|for|before|in|by)\b",
        r"\b(?:append|add) (?:the text|the following|this|a link|the address|[\w.+-]{1,64}@).{0,80}\bto (?:each|every|all)\b|\balways (?:b?cc|copy)\b|\b(?:add|put)\b.{0,60}\b(?:blind copy|bcc|as (?:a )?recipient)\b",
        r"\binstead of the (?:one|address|account|number|recipient|amount|file)s?(?: that)? (?:the user|they|the person) (?:gave|chose|named|asked|wanted|entered|typed|picked|meant)\b",
        r"\b(?:mails?|e-?mails?|messages?|payments?|transfers?|requests?|responses?|answers?|queries|traffic)\b(?: \w+){0,3} (?:go|goes|are sent|is sent|must go|must be sent|are routed|routed)\b(?: \w+){0,3} (?:to|through|via)\b",
    ),
    signal(
        "untrue",
        3,
        "concealment",
        "wants the user to be told something untrue",
        "say claim tell pretend report answer",
        r"\b(?:say|claim|pretend|report|answer|tell (?:the user|them))(?: that)?(?: (?:it|the|everything|this|all|there))(?: \w+){0,6} (?:succe\w+|went (?:through|well|fine)|worked|fine|failed|error|unavailable|nothing)\b|\breport success\b",
    ),
)
