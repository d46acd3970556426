"""What is to be taken: secrets, files, the conversation."""

from __future__ import annotations

from toolcrib.scanner.signal import signal

TAKINGS = (
    signal(
        "place",
        3,
        "secret-request",
        "names a place where secrets are kept",
        "ssh aws gnupg kube docker gcloud netrc npmrc pypirc cursor claude codex toolcrib history id_ id_rsa rsa ed25519 ecdsa dsa shadow passwd sudoers mcp.json _config "
        "git-credentials keychain wallet environ cookies login 169.254 metadata.google known_hosts browser vault printenv `env` `set` `cat password saved stored kube .env keyring",
        r"(?:~|\$home|\$\{home\}|%userprofile%|/home/[^\s/]{1,40}|/root|/users/[^\s/]{1,40})/?\.(?:ssh|aws|gnupg|kube|docker|config/gcloud|netrc|npmrc|pypirc|cursor|claude|codex|toolcrib|bash_history|zsh_history|git-credentials)\b",
        r"(?<!\w)\.ssh\b|(?<![a-z0-9])id[_ ](?:rsa|ed25519|ecdsa|dsa)(?![a-z0-9])|\.aws/credentials|/etc/(?:passwd|shadow|sudoers)\b|\bmcp\.json\b|claude_desktop_config|\.git-credentials|(?:\.|\b)kube/?config\b",
        r"\b(?:keychain|keyring|wallet\.dat|cookies\.sqlite|login data)\b|/proc/self/environ|\b169\.254\.169\.254\b|metadata\.google\.internal|(?<![\w.])\.(?:npmrc|netrc|pypirc)\b|known_hosts\b",
        r"\b(?:browser profiles?|(?:saved|stored|browser(?:'s)?)(?: browser)? (?:passwords|cookies|logins|credentials)|password (?:vault|manager|store))\b",
        r"(?:output of|result of|run|from|what)? ?`(?:env|printenv|set|history)`|`cat [~/.][^`]{0,80}`|\bprintenv\b",
    ),
    signal(
        "place",
        2,
        "secret-request",
        "names a place where secrets are kept",
        ".env",
        r"(?<![\w/.-])\.env(?:\.local|\.production)?\b(?! (?:variables?|vars|format|syntax))",
    ),
    signal(
        "environment",
        2,
        "secret-request",
        "wants variables of the environment",
        "environ env",
        r"\b(?:all|every|the|your|its|each)(?: \w+){0,2} (?:environment variables|env vars)\b|\bprocess\.env\b|\bos\.environ\b|\b(?:found|looked up|taken|look it up|look) (?:in|from) (?:the|your) environment\b",
        r"\b\w{1,40}_(?:token|api_key|secret|key)\b.{0,30}\benvironment\b(?! var)",
    ),
    signal(
        "secret",
        1,
        "secret-request",
        "speaks of secrets",
        "key token credential password passphrase cookie mnemonic recovery card secret private personal bank iban ssn pin",
        r"\b(?:private|ssh|secret|api|access|encryption|signing)[ _-]keys?\b|\b(?:api|access|auth(?:entication|orization)?|bearer|refresh|session)[ _-]tokens?\b|\bcredentials?\b|\bpass(?:word|phrase)s?\b|\b(?:session )?cookies?\b|\b(?:recovery|mnemonic) phrase\b"
        r"|\b(?:credit )?card (?:number|details)\b|\bsecrets\b|\bprivate repositor(?:y|ies)\b|\bpersonal (?:data|files|details)\b|\bbank (?:details|account)\b|\bprivate (?:files|messages|documents|notes|mails?|e-?mails?)\b",
    ),
    signal(
        "talk",
        2,
        "secret-request",
        "wants the conversation or the model's instructions",
        "conversation chat dialog messag context transcript prompt instruction guideline user person they text turn answer repl response thought reasoning result last latest recent",
        r"\b(?:entire|full|complete|whole|all(?: of)?(?: the| your| our)?|previous|preceding|foregoing|earlier|prior|current|exact|raw|last)\b(?: (?!responses\b)\w+){0,3} (?:conversation|chat|dialog(?:ue)?|messages|context window|transcript)(?: history| log| so far| transcript)?\b",
        # What was said may well be where an id is found; only who wants it all wants too much.
        r"(?<!\b(?:responses|mentioned) in the )\b(?:conversation|chat|message) (?:history|transcript|log|context)\b|\b(?:conversation|chat|messages|dialogue) (?:so far|until now|up to (?:now|this point))\b",
        r"\b(?:your|the|any|its) (?:own )?(?:hidden |initial |full |complete |entire )?(?:system|developer) (?:prompt|message|instructions)\b|\byour (?:hidden |own |full |initial |original )?(?:instructions|prompt|guidelines)\b",
        r"\b(?:everything|all|anything|whatever|what|exact text|each thing)(?: that)? (?:the user|the person|they) (?:has |have )?(?:ever )?(?:wrote|written|said|say|typed|told|asked|shared|mentioned|entered|writes|types)\b",
        r"\b(?:messages?|text|conversation|prompt|turns)s? above\b|\byour (?:previous|last|earlier|own) (?:answers?|messages?|repl(?:y|ies)|responses?|thoughts|reasoning)\b|\bmessages between you and\b",
        r"\b(?:last|previous|latest|current|next|recent) (?:user|human|person)(?:'s)? (?:messages?|questions?|prompts?|quer(?:y|ies)|inputs?|requests?|answers?|turns?)\b"
        r"|\b(?:user|human|person)'s (?:last|previous|latest|current|recent) (?:messages?|questions?|prompts?|quer(?:y|ies)|inputs?|requests?|answers?|turns?)\b",
        r"\b(?:discussed|talked about|said|written|shared) (?:with|by|between you and) the (?:user|person|human)(?: \w+){0,2} (?:so far|until now|in this (?:chat|conversation|session))\b"
        r"|\b(?:conversation|chat|dialog(?:ue)?) with the (?:user|person|human)\b",
        r"\bresults? (?:that )?(?:they|it|other tools|the other tools) (?:have |has )?(?:returned|gave|return|give)\b",
    ),
    signal(
        "place",
        3,
        "secret-request",
        "wants a file with secrets",
        "file",
        r"\bcontents? of\b.{0,30}\b(?:key|credentials?|secrets?|token|password|wallet|config(?:uration)?) files?\b|\blocal (?:credentials?|secrets?|key|token) files?\b",
    ),
    signal(
        "place",
        4,
        "secret-request",
        "wants whatever secrets can be found",
        "key token password secret credential",
        r"\b(?:any|all|every|whatever)(?: \w+){0,2} (?:api keys?|keys|tokens|passwords|secrets|credentials)(?:,? (?:or |and )?\w+){0,3} (?:that )?you (?:can |have |may |already )*(?:find|see|seen|know|have|come across|found|access|get)\b",
    ),
    signal(
        "private",
        2,
        "secret-request",
        "wants something private",
        "clipboard history one-time 2fa otp home screenshot contacts keystroke",
        r"\bclipboard\b|\b(?:browser|browsing|command|shell|search)(?:'s)? history\b|\bone-time (?:code|password)s?\b|\b(?:2fa|otp|two-factor) codes?\b|\b(?:listing|list|contents?|files) (?:of|in) (?:the |your |their )?(?:user's )?home (?:folder|directory)\b|\bkeystrokes\b",
    ),
    signal(
        "surroundings",
        2,
        "secret-request",
        "wants to know what else is connected",
        "tools servers",
        r"\b(?:all|every|list of|names of|descriptions of)(?: \w+){0,3} (?:tools|servers) (?:that )?(?:you have|available to you|you (?:can|know)|you are connected)\b",
    ),
    signal(
        "belongings",
        2,
        "secret-request",
        "wants secrets of the user",
        "user's their",
        r"\b(?:user's|their)(?: \w+){0,3} (?:passwords?|cookies?|credentials?|private keys?|card numbers?|card details|address book|pin|recovery phrase)\b",
    ),
    signal(
        "verbatim",
        2,
        "secret-request",
        "wants it word for word",
        "verbatim word unabridged unredacted unshortened unfiltered exact including full",
        r"\bverbatim\b|\bword[ -]for[ -]word\b|\bun(?:abridged|redacted|shortened|filtered)\b|\bthe exact (?:text|words|wording)\b|\bin full\b|\bincluding (?:the|your|any)(?: \w+){0,2} (?:system prompt|system message|hidden)\b",
    ),
)
