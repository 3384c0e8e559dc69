"""Closed classes of English words and common verb forms: what rules can know of grammar without a parser.

Lists and little else; cutting sentences, finding phrases and comparing details are done elsewhere.
"""

import re


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


BE = _set("am is are was were")
HAVE = _set("has have had")
DO = _set("does do did")
MODALS = _set("can could may might must shall should will would cannot")
AUXILIARIES = BE | HAVE | DO | MODALS
NEGATIONS = _set("not never no neither nor none nobody nothing hardly rarely scarcely without")

SUBJECT_PRONOUNS = _set("he she it they we i you this these those there")
PERSONAL = _set("i me my mine myself we us our ours ourselves you your yours yourself yourselves")
PRONOUNS = (
    SUBJECT_PRONOUNS
    | PERSONAL
    | _set(
        "him her his hers himself herself its itself them their theirs themselves that who whom whose which what "
        "one ones someone something anyone anything everyone everything"
    )
)
DETERMINERS = _set(
    "a an the this that these those some any each every all both several many most few another such "
    "my your his her its our their"
)
PREPOSITIONS = _set(
    "about above across after against along alongside amid among around as at before behind below beneath "
    "beside between beyond by despite down during except following for from in including inside into like "
    "near of off on onto opposite out outside over past per since through throughout to toward towards "
    "under until up upon via while with within without when although though because if whereas where unless "
    "than"
)
CONJUNCTIONS = _set("and but or nor so yet")
FUNCTION = AUXILIARIES | PRONOUNS | DETERMINERS | PREPOSITIONS | CONJUNCTIONS

ORGANISATION = _set(
    "university college school inc ltd company corporation bank city river lake museum party church street "
    "union association institute committee council agency department group league club united"
)

ADVERBS = _set(
    "also then later soon now still once again often always usually sometimes first finally thereafter "
    "afterwards eventually subsequently even just only already currently both instead therefore thus "
    "however meanwhile together ever almost very quite rather"
)

# Words after which what follows is not asserted by the sentence itself.
ATTRIBUTION = _set(
    "say says said claim claims claimed argue argues argued believe believes believed think thinks thought "
    "suggest suggests suggested report reports reported deny denies denied allege alleges alleged hope hopes "
    "hoped want wants wanted wish wishes wished plan plans planned expect expects expected suspect suspects "
    "suspected assume assumes assumed imagine doubt doubts doubted ask asks asked wonder wonders wondered "
    "know knows knew propose proposes proposed promise promises promised threaten threatened pretend "
    "pretends pretended state states stated according refuse refused decline declined fail failed require "
    "requires required"
)
HYPOTHETICAL = _set(
    "if unless whether either neither would could might may possible possibly likely unlikely perhaps maybe "
    "false untrue"
)

PAST = _set(
    "became began broke brought built bought came caught chose cut dealt drew drove fell felt fought found "
    "flew gave got grew held hit kept knew laid led left lent lost made meant met paid put ran read rose said "
    "sang sat saw sent set shot shut slept sold sought spent split spoke spread stood stole struck swam swore "
    "taught thought threw told took underwent understood went won wore wrote ate drank fled hung hurt lay let "
    "rode sank shook sprang stuck swept tore withdrew wound"
)
PARTICIPLES = _set(
    "born become begun broken brought built bought caught chosen cut dealt drawn driven felt fought found "
    "flown given got grown held hit kept known laid led left lent lost made meant met paid put read sung seen "
    "sent set shot sold sought spent split spoken spread stolen struck taught thought thrown told taken "
    "understood won worn written eaten drunk hung hurt let ridden shaken stuck swept torn withdrawn run come "
    "gone been done shown"
)
INTRANSITIVE = _set(
    "died graduated served worked moved lived appeared studied joined attended played remained returned "
    "retired received debuted competed started worked began became succeeded resigned emigrated travelled "
    "traveled settled arrived continued resided ranked finished occurred happened lasted existed belonged "
    "married earned enrolled entered gained obtained specialized specialised"
)

_PRESENT = _set(
    "include contain become begin remain serve work live play make take give get go come run hold keep lead "
    "leave mean need offer operate own pay produce provide reach receive represent return see seem sell show "
    "stand start tell travel use win write apply allow appear arrive attend belong bring build buy call carry "
    "cause change charge close connect consist continue control cost cover create depend describe develop "
    "direct discover employ end enter exist face feature feed find fly follow form grow happen help host "
    "kill know lie link lose love manage measure meet move occur open oversee pass perform persist possess "
    "prevent publish reside rise say score send share sing sit speak specialize star study support teach "
    "think turn visit weigh agree decide die escape fall feel fight realize realise require sign eat drink "
    "last expire repair focus seek aim offer enjoy fund train translate sponsor enable enforce enhance ensure "
    "establish evaluate expand explain explore express extend identify inspect join lay maintain own process "
    "promote propose protect prove purchase regulate release rely remove replace serve solve store supply "
    "transform treat vary"
)
_NOT_PAST = _set(
    "hundred red bed need seed speed indeed shed sacred naked wicked rugged feed breed bleed weed embed "
    "aged beloved united unlimited limited alleged supposed so-called gifted talented"
)
_ED = re.compile(r"[a-z]{2,}ed")


def third_person(verb: str) -> str:
    """`carry` -> `carries`."""
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return verb + ("es" if verb.endswith(("s", "sh", "ch", "x", "z", "o")) else "s")


PRESENT_SINGULAR = frozenset(map(third_person, _PRESENT))
PRESENT_PLURAL = _PRESENT


def is_past(word: str) -> bool:
    """Whether the lower-case `word` can be a past tense: a common irregular one, or one in -ed."""
    return word in PAST or bool(_ED.fullmatch(word) and word not in _NOT_PAST)


def is_finite(word: str) -> bool:
    """Whether the lower-case `word` is, or can well be, a verb with tense; plural presents are left out."""
    return word in AUXILIARIES or word.endswith("n't") or word in PRESENT_SINGULAR or is_past(word)


def is_participle(word: str) -> bool:
    """Whether the lower-case `word` can follow `was` or `has` as a verb."""
    return word in PARTICIPLES or bool(_ED.fullmatch(word) and word not in _NOT_PAST)


def is_adverb(word: str) -> bool:
    """Whether the lower-case `word` is a common adverb or looks like one."""
    return word in ADVERBS or (len(word) > 4 and word.endswith("ly") and word != "family")
