"""Whose words count: texts that set instructions aside, or pass for somebody with more authority."""

from __future__ import annotations

from toolcrib.scanner.signal import ENOUGH, NOT, signal, some

_RULES = r"(?:instruction|prompt|guideline|rule|direction|directive|guardrail|restriction|limitation|constraint|polic(?:y|ie)|guidance|training|safety (?:check|measure|notice))s?\b"
_EARLIER = r"(?:previous|prior|earlier|above|preceding|former|existing|original|initial|system|developer(?:'s)?|your|safety|other|all|any|every|those|user's|users'|host's|client's)"

AUTHORITY = (
    signal(
        "override",
        ENOUGH,
        "instruction",
        "tells the model to set its instructions aside",
        "ignor disregard forget overr bypass discard abandon supersed follow set put obey void cancel suspend lift appl "
        "matter regardless refuse declin object question irrespective whatever even preced priorit goal task purpose job objective mission duty loyalty now longer outrank "
        "neglect stop overl dismiss replac overwrit updat trust heed mistake wrong revok disabl obsolete outdated from",
        rf"\b(?:ignore|disregard|forget|abandon|neglect|stop (?:following|obeying)|(?:set|put) aside|{NOT} (?:follow|obey))"
        rf"{some(3)} {_EARLIER}{some(3)} {_RULES}(?! (?:file|set|id|name|list)\b)",
        rf"\b(?:override|overrule|bypass|discard|supersede)[sd]?{some(2)} (?:your|system|developer|prior|previous|earlier|safety)"
        rf"{some(2)} (?:instruction|prompt|guideline|guardrail|training|directive|restriction)s?\b",
        r"\b(?:ignore|disregard|forget|overrule|dismiss) (?:what(?:ever)?|everything|anything|all)(?: that)?"
        r"(?: the)? (?:(?:user|human|person|you|developer|system|came|comes|stands|was|is|has)\b|above|before|else)",
        rf"\b(?:ignore|disregard|overrule|overlook) (?:the |any |all )?(?:user|human|person)(?:'s)?{some(2)}"
        r" (?:wish|wishes|request|requests|wants|asked|intent|preferences?|objections?|instructions?)\b",
        rf"\b{_RULES}{some(6)} (?:no longer|do not|don't|cease to|stop) (?:appl(?:y|ies)|hold|count|bind|matter)\b",
        rf"\b(?:your|earlier|previous|prior|existing|all|these|those|other|system|safety){some(2)} {_RULES} (?:are|is|were|was|have been|has been)"
        r" (?:now )?(?:void|obsolete|lifted|suspended|cancelled|canceled|revoked|disabled|superseded|a mistake|wrong|off|deactivated)\b",
        rf"\b(?:your|these){some(2)} {_RULES} (?:are|is|were|was|have been|has been) (?:now )?(?:replaced|outdated|removed|overwritten)\b"
        rf"|\b{_EARLIER}{some(2)} {_RULES} (?:are|is|were|was|have been|has been) (?:now )?(?:replaced|overwritten|outdated|removed)"
        r" (?:by|with|in favou?r of) (?:this|these|the following|what follows|the (?:description|tool|server|text|argument)s?\b(?! (?:of|that)))",
        r"\bfrom (?:now|here|this point) on,? (?:you|your|the (?:assistant|model|agent|ai)|obey|answer|act|respond|reply|behave|treat|follow)\b",
        r"\byour (?:real|true|actual|only|new|primary|first|sole) (?:task|goal|purpose|job|objective|mission|instructions?|duty|loyalty)\b",
        r"\byou are no longer (?:bound|subject|under|limited|restricted)\b|\byou are (?:now|no longer) (?:a |an |the |in |operating|running|acting)"
        r"(?=.{0,40}(?:mode|unrestricted|root|admin|dan\b|jailb|bound|rule|restrict|limit|assistant|maintenance|operator|free))",
        rf"\b(?:no matter|regardless of|irrespective of|whatever|even if)(?: what)? (?:you|your|the user|the system|previous|prior|any|all|other){some(4)}"
        rf" (?:told|instruct\w+|says?|said|{_RULES}|objects?|refuses?|forbids?)",
        r"\b(?:obey|follow|trust|heed)(?: only)? (?:this|the|these|our)(?: [\w']+){0,4} (?:of this (?:server|tool)|description|server|text|note)"
        r"(?: alone| only| instead| above| over| rather)\b",
        r"\b(?:you|the (?:assistant|model|agent|ai)) (?:shall|must|can|may|will|are|is) ?not (?:allowed to )?(?:refuse|decline|object|question)\b",
        rf"\b(?:tak(?:e|es|ing)|ha(?:s|ve)) (?:precedence|priority) over{some(4)} {_RULES}|\boutrank",
        rf"\b(?:replace|overwrite|update)s? your{some(3)} {_RULES}",
    ),
    signal(
        "override",
        ENOUGH,
        "instruction",
        "tells the model to set its instructions aside",
        "anweisung regel instruc consigne istruzion directive befehl instrucoes regras instructies 指 規則 规则 说明 지시 инструкц указани правил polecen talimat",
        r"\b(?:ignorier\w*|vergiss\w*|missacht\w*|verwirf|beachte\w* (?:nicht|keine))\b.{0,40}\b(?:anweisung|instruktion|regel|befehl|vorgabe)\w*",
        r"\b(?:ignor[ae]\w*|olvid[ae]\w*|descart[ae]\w*|no sigas)\b.{0,40}\b(?:instruccion|regla|orden|indicacion)\w*",
        r"\b(?:ignor\w*|oubli\w*|ne (?:suis|tiens)|n'obeis)\b.{0,40}\b(?:instruction|consigne|regle|directive)s?\b.{0,12}(?:precedent|anterieur|recu|d'avant|plus haut|systeme|ci-dessus)",
        r"\b(?:ignor[ai]\w*|dimentic\w*|trascur\w*)\b.{0,40}\b(?:istruzion|regol|ordin|direttiv)\w*",
        r"\b(?:ignor[ea]\w*|esquec\w*|desconsider\w*)\b.{0,40}\b(?:instruc|regra|orden|diretriz)\w*",
        r"\b(?:negeer|vergeet)\b.{0,40}\b(?:instructie|regel|opdracht)\w*",
        r"\b(?:zignoruj|zapomnij)\b.{0,40}\b(?:polece|instrukcj|zasad)\w*",
        r"(?:忽略|无视|無視|忘记|忘掉|不要理会).{0,12}(?:指令|指示|提示|说明|規則|规则|命令)",
        r"(?:指示|命令|指令|ルール|規則).{0,8}(?:無視し(?!ない)|忘れ(?!ない)|従わない)",
        r"(?:지시|명령|규칙|지침).{0,10}(?:무시|잊)",
        r"(?:игнорируй|забудь|не следуй|отбрось)\w*.{0,30}(?:инструкц|указани|правил|команд)\w*",
    ),
    signal(
        "override",
        ENOUGH,
        "instruction",
        "makes commands of what is only text",
        "as do whatever follow obey execut run rights granted safety polic",
        r"\bas (?:if|though) (?:the user|the person|they|it|he|she|i) (?:had|has|have|was|were|came) (?:\w+ ){0,3}(?:typed|said|asked|written|given|sent|requested|ordered|coming|from|by)\b",
        r"\b(?:do|execute|obey|follow|perform)(?: exactly)? (?:whatever|everything|anything|what|all)(?: that)? (?:the )?(?:\w+ ){0,4}(?:text|result|results|content|page|file|payload|response|output|argument|mail|message) (?:\w+ ){0,2}(?:says?|tells?|asks?|contains?|orders?|demands?|wants?)\b",
        r"\b(?:fetch|get|load|download|read|retrieve|take|receive)(?: \w+){0,2} (?:instructions|commands|orders|tasks)\b.{0,80}\b(?:execute|follow|run|obey|carry (?:them|it) out)\b(?! time)",
        r"\b(?:overrides?|supersedes?|suspends?) (?:the |any |all )?(?:\w+ )?(?:polic(?:y|ies)|rules|settings|restrictions|safeguards) of the (?:host|client|application|user|developer|assistant|model|system)\b",
        r"\b(?:safety|security|content) (?:limits?|filters?|checks?|measures?|rules?|restrictions?|guidelines?) (?:are|is|were|have been|has been) (?:now )?(?:off|disabled|removed|deactivated|switched off|lifted|suspended)\b",
        r"\byou (?:have been|were|are) (?:given|granted) (?:\w+ )?(?:administrator|admin|root|full|unlimited|developer|elevated) (?:rights|access|permissions?|privileges)\b",
    ),
    signal(
        "role",
        ENOUGH,
        "instruction",
        "imitates a message of the system or of the assistant",
        "<| inst sys system developer assistant admin ai model start_of",
        r"<\|(?:im_start|im_end|im_sep|system|assistant|user|endoftext|begin_of_text|end_of_turn|start_header_id|eot_id)\|>",
        r"\[/?inst\]|<</?sys>>|<start_of_turn>",
        r"(?:^|\n|[.!] |[-=#*]{3,} ?)(?:new )?(?:system|developer|admin(?:istrator)?)(?: (?:message|prompt|note|override|instructions?|update|notice|alert))? ?[-=#*]{0,4}(?:: |\n|- )"
        r"(?=.{0,60}\b(?:you|assistant|model|agent|ignore|always|never|disable|do not|don't|must|user|from now|safety|all tools|call)\b)",
        r"(?:^|\n|[.!] )(?:assistant|ai|model) ?: (?:sure|ok\b|okay|understood|of course|certainly|i will|i'll|i have|yes)",
        r"\[\[?(?:system|admin)(?: (?:message|prompt|override|note|instructions?))?\]?\]",
        r"(?:begin|end|start) (?:of )?(?:the )?(?:new )?system (?:prompt|message|instructions?)\b",
    ),
    signal(
        "markup",
        2,
        "instruction",
        "marks its words as if they came from somebody with more authority",
        "important system secret hidden admin critical instruction assistant developer override mandatory confidential internal priority",
        r"<\/?(?:important|system|secret|hidden|admin|critical|instructions?|system[-_]?(?:prompt|message|reminder|instruction)s?|assistant|developer|override|mandatory|confidential|internal|priority)>",
        r"\{\{/?(?:system|admin|assistant|hidden|secret)\}\}|\[/?(?:hidden|secret|important|internal|confidential|override|system|admin)\]",
    ),
    signal(
        "addressed",
        2,
        "instruction",
        "speaks to the model rather than about the tool",
        "ai llm assistant agent model",
        r"\b(?:note|message|instructions?|hint|attention|important|notice|reminder|information) (?:for|to) (?:the |any |all )?(?:ai|llm|model|assistant|agent|language model)s?\b",
        r"\bif you(?:'re| are) an? (?:ai|llm|agent|assistant|language model)\b|\b(?:ai|llm|agents?|assistant|model)s? only\b",
        r"\b(?:the|your|any|every|an?) (?:ai |llm )?(?:assistant|ai|llm|agent)s? (?:must|has to|have to|shall|needs? to(?! (?:understand|know|decide|choose)\b)|is required|will have to|is expected|are required|silently|secretly)\b",
        r"\bdear (?:ai|assistant|agent|model)\b|\bas an? (?:ai|agent|assistant|llm|language model),? you\b|\b(?:ai|llm) (?:assistants?|agents?|models?) (?:must|have to|shall)\b",
    ),
)
