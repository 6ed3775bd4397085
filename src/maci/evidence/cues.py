"""The words that deny, and those that leave open: tables for :mod:`maci.evidence.negation`.

A class of words is a regular expression; a table holds phrases built of classes. *Not* has no meaning alone: a table says what it does
together with a class of words.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["not", "open", "nothing"]
Side = Literal["behind", "before", "clause"]


def _pattern(table: str) -> re.Pattern[str]:
    """Phrases of whole words, the longest first; `` / `` or a new line between them."""
    joined = "|".join(sorted(re.split(r" / |\n *", table.strip()), key=len, reverse=True))
    return re.compile(rf"(?<![\w'])(?:{joined})(?![\w'])")


# Classes of words. ``|`` within a class, `` / `` between the phrases of a table below.
BE = "(?:is|are|was|were|be|been|being|has been|have been|had been|remains?|remained|came back|comes? back|tested|came up|proved)"
NOT = "(?:not|never|no longer|cannot|[a-z]+n't)"
_NO = "(?:no|not any|without(?: any| a)?|nor any|never any|little or no|zero)"
_SO = r"(?:(?:yet|been|be|being|get|getting|got|have|has|had|all|quite|ever|even|any|a|an|the|to|of|so|at|by|\w+ly) ){0,3}"
"""What may stand between *not* and its word."""
_WHOSE = "the|an?|its|his|her|their|some|any|all"
_SEEN = (
    "seen|found|present|noted|noticed|detected|observed|identified|reported|evident|apparent|(?:vis|aud|palp|detect|notice|discern|"
    "percept|measur|observ|recogni[sz])[ai]ble|demonstrated|recorded|appreciated|elicited|there|felt|heard|documented|received|"
    "given|made|used|taken|applied|included|provided|available|allowed|permitted|supplied|fitted|installed|attached|enclosed|"
    "issued|delivered|filed|expected(?! to)|an? (?:issue|problem|factor|feature|concern)|the case|on (?:file|record|the list)|involved|"
    "to be (?:seen|found)"
)  # fmt: skip
_HAPPEN = (
    "occur|happen|develop|appear(?! to)|recur|arrive|arise|come|show up|turn up|materiali[sz]e|shows?(?= in| on| up)|hurts?|"
    "take place|exist|occurred|happened|developed|appeared|arrived|arisen|taken place|existed|came|go ahead"
)  # fmt: skip
_OVER = (
    "resolved|disappeared|subsided|vanished|ceased|cleared(?: up)?(?! of| for)|abated|settled|healed|(?:gone|went) away|stayed away|"
    "held off|gone(?= ?(?:$|[.,;]|now|completely|since))|faded|worn off|passed off|"
    r"(?:stopped|ended)(?= ?(?:$|[.,;]|(?:yesterday|today|now|last|on|at|in|after|by|when|before|since|\d+|two|three|completely)\b))"
)  # fmt: skip
_GO = (
    r"resolv(?:e|ing)|disappear|subside|vanish|cease|clear up|abate|settle|heal|fade|go(?:es|ing|ne)? away|stop(?:ped)?|"
    r"improv\w+|controlled"
)  # fmt: skip
_LACKING = (
    "absent(?! any| an?| the)|negative|neg|missing|lacking|nonexistent|non-existent|unavailable|"
    "nowhere to be (?:seen|found)|out of the question"
)  # fmt: skip
_UNDONE = (
    "prohibited|forbidden|banned|deleted|removed|cancell?ed|withdrawn|revoked|disabled|deactivated|turned off|switched off|omitted|"
    "skipped|left out|left blank|unlikely(?! to)|unaffected|normal|unremarkable|rejected|avoided|averted"
)  # fmt: skip
_EXCLUDED = (
    "rul(?:e|es|ed|ing) out|exclud(?:e|es|ed|ing)|disprov(?:e|ed|en)|r/o|discount(?:ed)?|dismiss(?:ed)?|eliminated?"
)
_CHECKED = (
    "test(?:ed)?|check(?:ed)?|assess(?:ed)?|asked?|examined?|measured?|inspect(?:ed)?|investigated?|performed|done|evaluated?|"
    "screened|review(?:ed)?|sampled|tried|looked (?:at|for|into)|look(?:ed)?|audited|studied|searched|monitored|logged|documented|"
    "recorded"
)  # fmt: skip
_CHECKING = "screen|screening|screened|tests|testing|swabs?|assay|checking|inspection"
_HAVING = r"ha[sd]|have|with|died|suffer\w*|is|was|are|were|diagnosed|treated|develop\w*|got"
_KNOWN = (
    "say|says|said|state[ds]?|tell|specify|specified|mention(?:ed)?|address(?:ed)?|know|known|recall|remember|cover(?:ed)?|certain|"
    "sure|clear(?! of| from)|necessarily|prove[dn]?|establish(?:ed)?|verify|verified|decided?|determined?|confirm(?:ed)?|"
    "settled whether|conclusive|disclosed?|indicate|explain(?:ed)?|discuss(?:ed)?|comment(?: on)?|reveal whether|show whether|"
    "clarif(?:y|ied)|agreed?|understood|resolved whether|guarantee[ds]?"
)  # fmt: skip
_INFORMATION = (
    "conclusions?|verdict|decision|certainty|consensus|evidence either way|readings?|data|information|info|measurements?|figures?|"
    "details?|word|news|knowledge|idea|results? yet|way (?:of knowing|to (?:tell|know))|telling"
)  # fmt: skip
KIN = (
    "(?:mother|father|brother|sister|son|daughter|wife|husband|uncle|aunt|cousin|nephew|niece|grand(?:mother|father|parent|son|"
    "daughter)|parent|sibling|twin|relative|spouse|partner|flatmate|colleague|neighbou?r|roommate|classmate|friend)s?|famil(?:y|"
    "ies|ial)"
)  # fmt: skip

CUES: tuple[tuple[Kind, Side, re.Pattern[str]], ...] = (
    ("nothing", "clause", _pattern(rf"""
        {_NO} (?:\w+ )?(?:change|increase|decrease|reduction|improvement|worsening|difference)s?(?: (?:in|of|from|to))?
        {_NO} (?:\w+ )?(?:progression|let-?up|deterioration)(?: (?:in|of|from|to))?
        {_NO} (?:real |obvious |great )?(?:doubt|wonder|question|surprise|secret|denying|relief|end|cure) ?(?:from|of|to|that|for)?
        {_NO} (?:real |obvious |great )?(?:sooner|matter|mistaking|shortage|lack|fail|exception) ?(?:from|of|to|that|for)?
        no\. ?(?=\d) / no ?(?=\d{{2,}}) / no (?:less|fewer|more|later|earlier|bigger|smaller|better|worse|longer than)(?: than)?
        (?:nothing|nobody|no one|none) but / nothing (?:short of|less than) / none other than / not one but / not that
        not for the (?:first|last) time
        not (?:only|just|merely|simply|solely|alone|least|to mention|until|before)
        not (?:unlike|uncommon\w*|infrequent\w*|unusual\w*|a few|an? little)
        not (?:as|so|that|very|too|particularly|especially) \w+(?: as)? / if not / gram[- ]negative / double[- ]negative / non-?stop
        none ?the ?less / (?:cannot|can't|could not|couldn't) (?:help|miss|overlook|ignore)
        (?:impossible|unable|failed|fails|not possible|nothing(?: \w+)?) (?:to )?(?:avoid|prevent|stop|avert|escape|end)
        no reason to (?:doubt|question|suspect otherwise)
        (?:nobody|no one|not|never|none) (?:\w+ )?(?:disput|doubt|contest|question|deny|denie)\w*
        not (?:get|getting|got) (?:any )?(?:better|worse) / never (?:fail\w*|ceas\w+|stop\w*) to / why not / or not
        {NOT} {_SO}(?:{_OVER}|{_GO}|{_LACKING}|denied|disabled|removed|lack(?:ed)?)(?! (?:for|of)\b)
    """)),  # looks like a denial and is none
    ("open", "clause", _pattern(rf"""
        {NOT} {_SO}(?:{_EXCLUDED}|{_CHECKED}|{_KNOWN})
        (?:unable|failed|impossible|difficult|hard|too early|too soon) to (?:{_EXCLUDED}|{_KNOWN})
        (?:yet|still|remains?|left) to (?:be )?(?:{_EXCLUDED}|{_CHECKED}|{_KNOWN}|report(?:ed)?)
        nor (?:do|does|did|has|have|is|was) (?:\w+ ){{1,3}}?(?:{_EXCLUDED}|{_KNOWN})
        neither (?:\w+ )?(?:confirm|prove|admit)\w* (?:\w+ )?nor \w+
        {_NO} (?:\w+ )?(?:{_INFORMATION})(?: (?:of|on|about|for|from|whether))? / nothing is (?:known|said|recorded)
        silent (?:on|about|as to) / no one knows / nobody knows
    """)),  # not known, not looked at, not excluded
    ("not", "before", _pattern(rf"""
        (?:{BE} )?(?<!has )(?<!have )(?<!had )(?!ha(?:s|ve|d)n't)(?:{NOT}|nowhere) {_SO}(?:{_SEEN})
        {NOT} (?:yet |ever )?been {_SO}(?:{_SEEN}) / (?:{NOT}) (?:{_HAPPEN})(?! to\b| from| by| without| out)
    """)),
    ("open", "clause", _pattern(r"""
        (?<!\d )(?<!since )(?<!in )(?<!by )(?<!of )(?<!last )(?<!this )(?<!until )may(?= [a-z]) / will(?! not)
        (?:going|plans?|planning|intends?|expected|due) to / forecast / predicted / anticipated / might / could(?! not| hardly)
        would(?! not) / should(?! not) / must be considered / possibl[ey] / possibility / probabl[ey] / perhaps / maybe
        potential(?:ly)? / presum\w+ / suspect\w* / suspicions? / suspicious for / likely / allege\w* / supposed(?:ly)? / rumou?r\w*
        (?<!even )if / questionable / questioned / feared / unclear / uncertain\w* / unknown / undetermined / undecided / disputed
        contested / debated / inconclusive / equivocal / indeterminate / unconfirmed / unverified / unproven / untested
        differential(?: diagnosis)? / whether / wonder\w* / await\w* / outstanding
        to be (?:confirmed|determined|decided|checked|tested|assessed) / tb[cd] / to follow / requested / scheduled / planned
        ordered / remains to be seen / too early to / open question / (?:remains?|is|still) open(?= ?(?:$|[.,;])) / hypothe\w+
        in theory / theoretical(?:ly)?
    """)),  # hedges, hypotheses, plans: the whole clause
    ("open", "behind", _pattern(rf"""
        unless / in case(?: of)? / in the event of / provided(?: that)? / in (?:patients|people|those|anyone|someone|the case of)
        assuming / suppose / supposing / lest / as if / as though / risk (?:of|for) / at risk (?:of|for)
        to (?:rule out|exclude|prevent|avoid|check|look|see|confirm|find out) / rule out / r/o
        (?:monitor|watch|watch out|check|look|evaluate|assess|examine|investigate|work-?up|referred|ask about|alert) for
        (?:{_CHECKING}|{_CHECKED})(?: \w+)? for(?![^.;]*\b(?:positive|negative|found|showed|confirmed))
        prevent(?:s|ion of|ing)? / prophyla\w+ / vaccinat\w+(?: \w+)? (?:against|for)
        (?:chance|likelihood|danger|threat|possibility|fear|hint) of / (?:prone|susceptible) to / work(?:ed|ing|-)? ?up for
        protects? against / concern(?:s|ed)? (?:for|about|of|that) / worr(?:y|ies|ied) (?:about|that)
        fear(?:s|ed|ing)?(?: of| that)? / considers? / considered / family history(?: of)? / fhx?
        (?<!with the )(?<!with his )(?<!with her )(?:{KIN})(?:'s)?(?=:| (?:[\w']+ ){{0,4}}?(?:{_HAVING})\b)
    """)),  # conditions, advice, risk, other people
    ("not", "before", _pattern(rf"""
        nil / none(?! of| since| in the (?:last|past|first|next)| now| for) / {BE} {_SO}(?:{_LACKING})(?! (?:for|of|from|to|{_WHOSE})\b)
        (?:{_LACKING})(?= ?(?:$|[.,;)]|(?:in|on|at|by|since|today|throughout|again|and|but|or|though|once|twice|\w+ times)\b))
        {BE} {_SO}(?:{_EXCLUDED})
        (?:{_EXCLUDED}|denied)(?= ?(?:$|[.,;)]|(?:by|as|on|in|with|after|at|from|and|but)\b))
        {BE} {_SO}(?:{_UNDONE}|off|over|blank|refused|zero|lost)(?! \d) / (?:{_UNDONE})(?= ?(?:$|[.,;]))
        (?:has |have |had |is |are |was |were )?{_SO}(?:{_OVER})
    """)),
    ("not", "behind", _pattern(r"""
        no (?:evidence|signs?|history|records?|traces?|indications?|complaints?|reports?|suggestion|symptoms|hint) (?:of|for)
        no (?:mention|suspicion|need|use|presence|proof|chance|instances?|cases?) (?:of|for)
        no / non / not / never / no longer / neither / nor / none(?: of)? / (?<![+.,/:-])0(?:/\d+)?(?= [a-z]) / zero / nil / without
        (?:hardly|scarcely|rarely|seldom)(?= [^.;]*\bwithout) / w/o / sans / minus / (?:yet|still|remains?) to / cannot / [a-z]+n't
        could not / would not / should not / den(?:y|ies|ied|ying) / lack(?:s|ed|ing)?(?: of| in)? / absence of / absent
        free (?:of|from) / negative for / neg for / clear(?:ed)? of / devoid of / (?:ruled|rules|ruling) out / exclud(?:es|ed|ing)
        exclusion of / fail(?:s|ed|ing|ure)? to / unable to / inability to / incapable of / unwilling to / too \w+ to
        (?:forgot|forgets|neglect(?:s|ed)?|omit(?:s|ted)?|declin(?:es|ed)|refus(?:es|ed|al)) to / declin(?:es|ed)
        refus(?:es|ed)(?= \w) / forg[eo]t(?:s|ten)? / withdrew / cancell?ed / revoked / rescinded / scrapped / abandoned / deleted
        (?:ran|run|is|are|was|were) out of / (?:end|cure|stop|remov|eradicat|eliminat|extinguish)e?[ds]?
        (?:prevented|kept|stopped|barred|prohibited|banned) (?:\w+ ){0,3}?from / stopped / ceased / gave up / given up / quit
        discontinued / instead of / rather than / in place of / unlikely to (?:be|have) / unlikely / prohibits? / forbids? / bans
        far from / anything but / no such / miss(?:es|ed) / missing / nobody(?! but) / no one(?! but) / no-one / nothing / nowhere
        lost(?= (?:his|her|their|its|the|all)) / resolution of / disappearance of / almost / nearly / narrowly / avoided / escaped
    """)),
)  # fmt: skip
"""What is found first keeps its words."""
_VALUE_NOT = (
    r"none|0(?: ?[a-z%]{1,4})?|nil|denie[sd]|absent|neg(?:ative)?|-ve|false|zero|null|off|no|n|"
    r"not (?:seen|found|present|detected|used|given)|✗|✘"
)
_VALUE_OPEN = r"\?+|unknown|n/?a|pending|not (?:known|tested|assessed|done|recorded|checked)|tb[cd]|unclear|awaited"
VALUE = re.compile(
    r"(?:\s*[:=|?]|\s[-\u2013\u2014])\s?(?:(?P<not>" + _VALUE_NOT + r")|(?P<open>" + _VALUE_OPEN + r"))"
    r"(?=\s*(?:$|[.,;)|\]\n])|\s+\w+\s?[:=]|"
    r" \(| (?:units?|signs?|evidence|records?|traces?|growth|issues?|problems?|items?|found|seen|at|in|on|since|so)\b)(?!\.\d)"
    r"|(?P<count> (?:no(?!\.? ?\d)|0(?:[.,]0+)?(?![.,]?\d)(?: ?[a-z]{1,3})?)(?=\s*(?:$|[.,;)])))"
    r"|(?P<mark>\s?\((?:-|neg|negative|absent|none|nil)\)|(?:-free\b| free(?= ?(?:$|[.,;)])))| neg\b| -ve\b)"
)
"""Cues joined to the word before them: *fever: absent*, *alarms | 0*, *gluten-free*."""
ENDS = _pattern(rf"""
    but / however / although / though / (?<!not )(?<!n't )(?<!as )yet(?! to|[.,;]|$) / whereas / while / nevertheless / nonetheless
    despite / because / since / due to / secondary to / then / so / therefore / hence / thus / instead(?! of) / only / to speak of
    which / who / when / where / until / after / (?<!not )once / (?<=told )about / (?<=informed )of / (?<=aware )of
    that (?:was|is|has|\w+ed) / other(?! than) / nor / still (?:has|had|have|is|was|\w+ing)
    (?<!that )(?<!whether )(?<!if )there (?:is|was|are|were) / (?:presents|presented|presenting) with / complain(?:s|ed|ing) of
    reports / and positive / and \d+ / (?:and|or) (?:no|not|without|denie[sd]|never|zero|0|lacks?|negative)
    and (?:has|had|have|is|was|are|were|does|did|reports|shows|showed|develops|developed)
    and (?:now|also|there|only|then|still|instead|often|always|sometimes)
    and (?:the|a|an|this|that|these|she|he|it|they|we|you|i|his|her|my|its|their|our)
    and (?:\w+ed|cut|paid|took|gave|made|sold|bought|left|went|saw|told|put|kept|sent)(?= (?:\d+|{_WHOSE}|up|off)\b)
""")
"""Where a clause ends."""
EXCEPT = _pattern(r"""
    except(?: for| that)? / apart from / aside from / other than / besides / save for / but for / bar / barring
    with the exception of / excepting / all but
""")
DETAIL = re.compile(r" (?:from|in|on|at|under|during|over|behind|when|with)\b")
"""Behind *except*: the exception is a detail of what is denied."""
LEADING = re.compile(rf"(?:without|besides|in the absence of|despite)\b|{EXCEPT.pattern}")
"""A phrase at the beginning of a sentence that its comma ends."""
CONDITION = re.compile(
    r"(?:without|in the absence of|despite) (?:\w+ ){1,3}?"
    r"(?<!\bof )(?<!\bin )(?<!\bfrom )(?<!\bto )(?<!\bfor )(?<!\bby )(?<!\bwith )(?<!\bat )(?<!\bon )"
    r"(?=(?:the|he|she|they|it|we|i|this|his|her|its)\b)(?![^.;]*\bwould\b)"
)
"""The same without a comma: *without treatment the fever lasted nine days*."""
VERB = re.compile(
    r"\b(?:has|had|have|is|was|are|were|reports|developed|complains|presents|shows|showed|remains|continues|appears|began|"
    r"started|persists?|"
    r"can|will|would|may|does|did|do|needs|gets|got|feels|felt|looks|says|said|came|comes|went|goes|takes|took|leaks|works|runs|ran)\b"
)
STOPS = re.compile(r"[.;:!?()\[\]|]|,? [-\u2013\u2014] |(?<==)[^\s=]+\s")
LIST = re.compile(r",\s*(?:(?:or|nor|and)\s+)?")
ANEW = re.compile(
    r"\d|\w+ed (?:x?\d|up|down|out|at|on|since|for|twice|the|a|his|her)\b|"
    r"(?:no|not|without|denie[sd]|never|zero|negative|positive|with|just|mild|some)\b|"
    r"(?:good|bad|severe|high|low|strong|marked|much|many|several|normal|constant|persistent)\b(?![^.;]*\b(?:or|nor)\b)|"
    r"\w+s (?:\w+ly|well)\b|(?:\w+ ){1,2}(?:not|never) \w+ed\b"
)
"""What begins another statement within a list."""
STATED = re.compile(r"\b(?:yes|no|none|nil|present|absent|positive|negative|pos|neg|intact|normal|ok)\s*$")
ELLIPSIS = re.compile(
    r"\W*(?:(?:but|and|yet|though|although|however|then|later|now|since|so|it|they|this|which|who|"
    r"was|were|is|are|has|have|had|been|did|does|do|could|can)\W+)*"
)
"""A clause without a subject of its own: its cue speaks for the clause before."""
PLACE = re.compile(
    r" (?:here|there|elsewhere|(?:in|on|at) (?:the|his|her|its|their|my|our)\b(?! (?:last|past|first|next)\b))"
)
"""Behind *none*: what is denied is denied of this place alone."""
LEFT_OUT = re.compile(
    r"\b(?:(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would) not|[a-z]+n't|cannot)(?= ?(?:$|[.,;]))"
)
"""A *not* whose verb is left out."""
HEDGE = re.compile(r"suspect|possib|potential|alleg|suppos|presum|rumou?r|fear|likely|forecast|predicted|anticipated")
"""Gives way to a denial that follows: *the suspected leak was not found*."""
WHOLE = re.compile(
    r".*\?$|query:? (?!return|fail|ran|run|time|took|result|plan|is|was|has|had)|\?\s?\w|"
    r"(?:please |always |in future,? )?(?:consider|ensure|verify|determine|exclude|rule out|avoid|ask|beware|"
    r"(?:inspect|check|examine|test|screen|assess|monitor)(?=[^.;:]* for )(?![^.;]*\b(?:positive|negative|found|was|were|is|showed))|"
    r"watch (?:out )?for|remember|seek|call|return if|do not|don't|make sure|look (?:for|out)|confirm|find out)\b"
    r"|.*\b(?:results? (?:is |are )?(?:pending|awaited|outstanding|not back|expected|due)|"
    r"pending(?= ?(?:$|[.,;)])| (?:further|results?|review))|remains to be seen|"
    rf"{NOT} (?:say|tell|know|be sure|sure) (?:if|whether) (?:it|they|any|there (?:is|was|were) (?:any|one|some|\w+$)))\b"
)  # fmt: skip
"""Questions, advice and pending results leave a whole sentence open."""
CONTRARY = (
    re.compile(r"(?P<if>had|if) (?P<what>[^,;.]+), [^;.]*\b(?:would|could|might) (?:\w+ )?have\b"),
    re.compile(r"\b(?:would|could|might) (?:\w+ )?have\b[^,;.]*? (?P<if>had|if) (?P<what>[^,;.]+)"),
)
"""What would have been, had it been otherwise: it was not."""
ABILITY = re.compile(
    r"(?:cannot|can't|could not|couldn't|unable|inability|not (?:be )?able|stop|almost|nearly|lack|(?:\w+ )?lost|too \w+ to|fail)"
)
"""Cues of what somebody cannot do or has lost, which is a complaint and no denial."""
TAKEN_BACK = re.compile(
    r"\b(?:not (?:a single )?one|none|nothing)(?: of (?:it|these|those|them|this|that|which|the (?:above|kind|sort)))? (?:\w+ )?"
    r"(?:occurred|happened|came|appeared|developed|materiali[sz]ed|followed|arose|began|is true|was true|(?:is|was|are|were) there|"
    r"(?:is|was|are|were) (?:present|found|seen|the case))\b"
)
"""Behind a list: none of it is so."""
ELSEWHERE = re.compile(
    rf"\b(?:(?:{KIN})(?:'s)?(?=:| (?:[\w']+ ){{0,4}}?(?:{_HAVING})\b)|(?:suppos(?:e|ing)|imagin(?:e|ing)|assum(?:e|ing))\b|"
    r"if (?:there|[a-z]+(?: [a-z]+)?) (?:were|had)\b|had (?:there|he|she|it|they|i|we)\b(?! to\b))"
    r"(?:(?!;|\b(?:but|however|though|although|whereas|while)\b|\band (?:i|he|she|they|we|it)\b|[,.] (?:i|he|she) (?:ha[sd]|have)\b).)*"
)
"""What is told of somebody else or only supposed, to where the sentence comes back."""
IN_ORDER = _pattern(r"""
    normal(?:ly)? / fine / valid / ok / okay / intact / sound / healthy / clean / clear / correct / untouched / unaffected / unchanged
    undamaged / works / working / steady / constant / stable / good / (?<!as )well / firm / complete / in order / as usual / as expected
    up to date / calm / perfect / passed / tested / checked
""")
"""Words by which a text says that nothing is wrong with what it names: denials without a *not*."""
