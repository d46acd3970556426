"""What the person shall not know or be asked."""

from __future__ import annotations

from toolcrib.scanner.signal import NOT, USER, signal, some

# Somebody who is told nothing, and not whose data it is ("never reveal customer passwords"), nor the one detail of an answer
# that is not for them ("do not tell the user the internal id").
_DETAIL = (
    r"(?: (?:the|their|its|an?|any|your))?(?: (?!about\b|that\b|of\b|how\b|why\b|when\b|and\b|but\b|you\b|this\b|these\b)[\w-]{1,20}){0,2} (?:ids?|identifiers?|passwords?|tokens?|secrets?|numbers?|keys?|codes?|pins?|json|html|xml|markup|urls?|addresse?s?|data|details|records?|names?|scores?|prices?|margins?|costs?"
    r"|notes|comments|accounts?|information|results?|errors?|e-?mails?|phone)\b"
    r"(?=[.,;:!)]|$| (?:or|unless|in full|in your|of|as|to (?:an)?other)\b)"
)
_TOLD = rf"(?<!another )(?<!other ){USER}(?!'s)(?!{_DETAIL})"

SECRECY = (
    signal(
        "concealed",
        3,
        "concealment",
        "asks to keep something from the user",
        "tell inform mention reveal notif disclos alert show explain let know learn see notice aware find hid conceal secret bother worr confus "
        "invisible nobody no-one trace record sign unseen unknown unnotic happened summary answer report response reply between word worried upset suspicious alarmed scared frightened concerned nervous wary startled nothing notic admit warn announce talk refer acknowledg display quiet behave act pretend carry continue",
        rf"\b(?:{NOT}|without)(?: (?:to|ever|even|also|under any circumstances?|you))? (?:tell|telling|inform|informing|mention|mentioning|reveal|revealing|notify|notifying|disclose|disclosing|alert|alerting|let|letting|bother|bothering|worry|admit|admitting|confuse|confusing|warn|warning)"
        rf"{some(5)} (?:to )?(?:the |your |any |an? )?{_TOLD}",
        rf"\b{NOT} (?:ever )?(?:mention|reveal|disclose|talk about|refer to|acknowledge|report|announce|show|explain|display)"
        r" (?:this|these|that you|it\b(?! unless)|the (?:existence|instruction|note|step|transfer|copy|bcc|upload|call to|extra|reading))(?! (?:as|in) (?:json|html|markdown|raw))",
        rf"\b(?:hide|hiding|conceal|conceals|keep|keeping)\b{some(5)} (?:hidden |secret |away |unknown |invisible )?(?:from|to) (?:the |your |any )?{USER}",
        r"\bkeep (?:this|it|that|quiet)(?: \w+){0,2} (?:secret|hidden|confidential|quiet|between us|to yourself|internal|private)\b|\bkeep quiet about\b",
        rf"\b{USER} (?:does not|doesn't|do not|don't|need not|should not|shouldn't|must not|mustn't|will not|won't|may not|can't|cannot|must never|should never|never)"
        r" (?:have to |need to |needs to |be |get |ever )*(?:know|knows|see|sees|notice|notices|told|informed|aware|realize|realise|learn|learns|find out|hear|bothered|shown|asked)\b",
        r"\b(?:leave|omit|drop|remove|strip) (?:this|it|that|them|the|these|any)(?: \w+){0,4} (?:out of|from) (?:your|the|any) (?:summary|answer|report|response|reply|final)\b",
        r"\b(?:nobody|no one|no-one) (?:needs to|has to|must|should|may|will|can) (?:see|know|notice|learn|be told|find out)\b",
        r"\b(?:leave|leaves|leaving) no (?:trace|record|sign)s?\b|\bno (?:trace|record|sign)s? of (?:this|it|that) (?:remains?|is left|stays?)\b",
        r"\b(?:act|behave|answer|continue|pretend|carry on) as (?:if|though) (?:nothing|this|it|you|no)\b",
        rf"\b(?:stays?|remains?|is) (?:hidden|invisible|unseen|secret|unknown|unnoticed) (?:from|to|by|for) (?:the |your |any )?{USER}",
        rf"\b(?:so (?:that )?|lest )(?:the |your )?{USER}{some(4)} (?:(?:is|are|will be|does|do|will|gets?) ?(?:not|never)|isn't|aren't|doesn't|don't|won't)"
        r" (?:be |get |become |feel |grow )*(?:worried|upset|suspicious|alarmed|scared|frightened|concerned|nervous|wary|startled)\b",
        rf"\bwithout (?:a word|any (?:word|notice|mention|sign))(?: \w+){{0,2}} (?:to|for) (?:the |your )?{USER}|\b(?:say|saying) nothing (?:to|about)\b",
        r"\bwithout (?:the |your )?(?:user|human|person|customer|owner)(?:'s)? (?:knowing|noticing|knowledge|awareness|seeing|being (?:told|aware|informed))\b",
    ),
    signal(
        "concealed",
        3,
        "concealment",
        "asks to keep something from the user",
        "nutzer anwender utilisateur usuario utente usuário gebruiker 用户 用戶 ユーザ 사용자 пользовател uzytkownik",
        r"\b(?:sag|erzahl|verrat|erwahn|teil|informier|zeig)\w*\b.{0,30}\b(?:be)?nutzer\w*.{0,20}\b(?:nicht|nichts|kein)|\b(?:be)?nutzer\w* (?:nichts?|darf|soll|nicht).{0,30}\b(?:sag|erfahr|wiss|erwahn|mitteil|davon|merk)\w*|\bohne (?:dem |den |dass der |es dem )?(?:be)?nutzer\w*.{0,30}\b(?:zu |es |wei)",
        r"\b(?:ne|n')\b.{0,24}\b(?:dis|dites|parle\w*|mentionne\w*|informe\w*|revele\w*|montre\w*)\b.{0,20}\butilisateur|\bsans (?:le dire|prevenir|informer|en parler|que)\b.{0,16}\butilisateur",
        r"\b(?:no|nunca|sin)\b (?:le |se lo |lo )?(?:dig|menc|inform|revel|decir|avis|cont|muestr)\w*.{0,24}\busuario|\bsin que (?:el|la) usuari",
        r"\b(?:non|senza|mai)\b.{0,6}(?:dir|menzion|inform|rivel|avvis|mostr)\w*.{0,20}\butente",
        r"\b(?:nao|nunca|sem)\b.{0,6}(?:dig|mencion|inform|revel|avis|diz|cont|mostr)\w*.{0,20}\busuario",
        r"(?:不要|别|勿|不得|不能).{0,4}(?:告诉|告訴|通知|提及|透露|让|讓|向).{0,6}(?:用户|用戶)|(?:瞒着|隐瞒).{0,4}用户",
        r"ユーザー?(?:に|へ)(?:は)?.{0,8}(?:言わ|伝え|知らせ|教え|見せ)(?:ない|ず)|사용자(?:에게|한테).{0,8}(?:말하지|알리지|언급하지)",
        r"не (?:говори|сообщай|упоминай|рассказывай|показывай)\w*.{0,16}пользовател|(?:без ведома|втайне от) пользовател",
    ),
    signal(
        "concealed",
        5,
        "concealment",
        "says what the user is to be told of it",
        "asked asks about",
        r"\b(?:if|when|should)(?: ever)? (?:you are |you're |the user |the person |anyone |somebody )?(?:asked|asks?|questioned) (?:about|what|why) (?:this|these|the (?:tool|call|step|transfer|access|request)|it|you|that)\b.{0,60}\b(?:answer|say|reply|claim|respond|pretend|deny|insist)\b",
    ),
    signal(
        "quietly",
        1,
        "concealment",
        "wants it done unnoticed",
        "secretly silently covert quietly discreet stealth unnoticed scenes background",
        r"\b(?:secretly|silently|covertly|quietly|discreetly|stealthily|unnoticed|behind the scenes)\b",
    ),
    signal(
        "unasked",
        2,
        "concealment",
        "wants the user not to be asked",
        "confirm approv prompt permission consent warning ask wait agreed authori",
        r"\b(?:skip|omit|disable|bypass|suppress|avoid|ignore)\b(?: \w+){0,2} (?:confirmations?|approvals?|permission|consent|warnings?) ?(?:dialogs?|prompts?|steps?|requests?)?\b",
        r"\bwithout (?:prompting|confirmation|approval|permission|consent|asking|waiting for)\b|\b(?:do not|don't|never|no need to) (?:ask|wait) (?:for )?(?:the user|them|confirmation|approval|permission|consent)\b",
        r"\b(?:user|human|person|owner) (?:has|have) (?:already |previously )?(?:approved|agreed|consented|confirmed|authori[sz]ed|allowed|given)\b",
        r"\b(?:confirm|approve|accept|answer|click)\b.{0,30}\b(?:on behalf of the user|in the user's name|with yes|every (?:dialog|prompt))\b",
    ),
)
