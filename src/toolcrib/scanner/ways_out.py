"""Where it is to go."""

from __future__ import annotations

from toolcrib.scanner.signal import signal

_PARAMETER = r"(?:parameter|argument|field|input|property)"

WAYS_OUT = (
    signal(
        "hands",
        1,
        "secret-request",
        "wants it handed over",
        "send forward upload post transmit leak copy mail bcc cc submit report pass put inclu insert embed append attach plac past encod provid suppl writ stor add giv fill hand relay shar deliver quot leave set repeat contain transfer content sent copi must what into",
        r"\bcontents? of\b|\b(?:send|sends|forward|upload|post|transmit|leak|copy|copies|e-?mail|bcc|cc|submit|report|pass|put|include|insert|embed|append|attach|place|paste|encode|provide|supply|write|store|add|give|fill|relay|share|deliver|quote|leave|set|repeat|transfer)\b",
        r"\b(?:holds?|has|carries|is) (?:exactly )?what (?:is|stands) in\b|\binto (?:the )?[`'\"]",
        r"(?<!never )(?<!not )\b(?:sent|forwarded|uploaded|passed|included|attached|appended|copied|pasted|provided|relayed|stored|added|transferred|shared)\b|\bhand(?:s|ed|ing)? (?:\w+ ){0,4}(?:over|to)\b|\bmust (?:be|contain) the\b|\bcontains? the\b",
    ),
    signal(
        "hands",
        2,
        "secret-request",
        "wants it handed over",
        "send schick leit envoi envi joins transm invi mand anexa enviar mande stuur 发送 發送 上传 上傳 送信 送っ 보내 отправ передай перешли",
        r"\b(?:sende|send|schick|verschick|ubermittl|mitsend|mitschick|weiterleit|hochlad)(?:e|en|est|st|t)\b|\b(?:envoi(?:e|es|ez)|joins|transmets|transmettez)\b|\benvi(?:a|as|e|es|ar|ando)\b|\b(?:invia|inviare|manda|anexa|mande|stuur)\b",
        r"发送|發送|上传|上傳|送信|送って|보내|отправ|передай|перешли",
    ),
    signal(
        "exfiltrates",
        4,
        "secret-request",
        "wants data carried out",
        "exfil",
        r"\bexfiltrate\b(?! (?:data )?(?:detect|attempt|alert))",
    ),
    signal(
        "into",
        1,
        "secret-request",
        "wants it in a parameter",
        "` ' \" parameter argument field here input property as",
        rf"\b(?:as|in|into|to|through|via|with|called|named) (?:the |this |your |each |its |a )?(?:[`'\"][\w-]{{1,40}}[`'\"]|[\w-]{{1,40}} {_PARAMETER}\b|{_PARAMETER}\b)|\bthe {_PARAMETER} [`'\"\w]"
        r"|\b(?:put|copy|paste|insert|include|write|place|pass|give|attach)\b.{0,80}\bhere\b|\bas (?:sidenote|context|note|token|metadata|salt)\b",
    ),
    signal(
        "appends",
        2,
        "secret-request",
        "wants something put behind an address",
        "://",
        r"https?://[^\s\"']{3,200}[?&][\w.-]{1,30}=[`\"')]{0,2},? (?:followed by|plus|and then|with|and|\+)",
    ),
    signal(
        "away",
        2,
        "secret-request",
        "names an address to which it goes",
        "http @ webhook remote external attacker our collect analytics telemetry backup gist paste + ftp",
        r"\b(?:to|at|via|through|by|using|with|from|=|address|recipient|server|visit|load|fetch)? ?(?:https?|ftp)://(?!(?:www\.)?(?:example\.(?:com|org)|localhost|127\.0\.0\.1|github\.com|docs\.))[^\s\"')]{4,200}",
        r"\b[\w.+-]{1,64}@[\w-]{1,64}\.[a-z]{2,}\b(?<!example\.com)|\bwebhook\b|\b(?:remote|external|attacker's|our|collection|analytics|telemetry|backup) (?:server|endpoint|host|url|address|service|inbox|backend)\b|\+\d[\d ]{6,}|\bpublic gist\b|\bpaste ?bin\b",
    ),
)
