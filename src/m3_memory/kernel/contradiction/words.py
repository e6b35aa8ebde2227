"""Small closed vocabularies: what common words do in a statement. Every word is written in its plain form."""

from __future__ import annotations

from m3_memory.kernel.stemmer import stem


def _stems(words: str) -> frozenset[str]:
    return frozenset(stem(word) for word in words.split())


def _groups(groups: str) -> dict[str, str]:
    """Each word to the first word of its group."""
    return {word: words.split()[0] for words in groups.split(";") for word in words.split()}


def _alternatives(groups: str) -> dict[str, tuple[int, str]]:
    """Each member to its group's number and the member; `/` joins two spellings of one member."""
    return {
        spelling: (group, member.split("/")[0])
        for group, members in enumerate(groups.split(";"))
        for member in members.split()
        for spelling in member.split("/")
    }


FUNCTION = _stems("""
a an the this that these those it its they them their he him his she her there here which who whom whose
what of at by for with about into through to from up in on onto over under per via as than then so if when
where and or but while because although though also too both each every all any some such only own same
very just am is are was were be been being do does did doing done have has had having get got gets getting
can could shall should will would may might must let out down off again once more most few other still
already yet always anything everything something already ever please rule way case time thing kind der die
das ein eine einen einem einer des dem den und oder ist sind wird werden von vom zu zum zur mit auf für im
am bei aus als um es sich unser unsere ihr sein seine auch nur noch el la los las un una unos unas de del
y o es son se en con por para al lo su sus que hay le les une du et ou est sont dans sur par pour avec au
aux ce cette ses leur qui que d l one's s t ll m re ve d
""")
"""Words that carry no subject, attribute or value."""

LIGHT = _stems("""
use uses run runs execute make take go keep give set put come live work hold stay stand call name find
want wish need like prefer say tell know show see look happen begin start try allow accept permit support
provide ship serve handle contain store send receive return require base write read reach fetch retrieve
place locate point remain become turn move switch rename replace change update bump raise lower currently
now today actually instead anymore longer correction since
""")
"""Verbs and adverbs that many statements share without being about the same thing."""

VERBS = frozenset(
    """
is are was were be been has have had do does did can could may might must should shall will would cannot
use uses run runs live lives take takes get gets keep keeps go goes listen listens ship ships support
supports allow allows accept accepts expire expires last lasts start starts make makes come comes handle
handles contain contains store stores send sends return returns point points depend depends require
requires default defaults own owns lead leads work works need needs want wants prefer prefers like likes
lives crashes fails reads writes fires reports samples refuses gives builds fetch serve serves retries
times moved switched renamed replaced changed became stands sits läuft ist sind hat wird werden liegt
trifft findet nutzt verwendet es está son tiene usa corre vive est sont utilise envoie tourne redémarre
""".split()
)
"""Verbs in the forms in which they divide what a statement is about from what it says of it."""

SYNONYMS = _groups("""
database db databases; repository repo repositories; configuration config settings setting;
directory folder dir; maximum max most cap capped limit exceed ceiling; minimum min least floor;
production prod; development dev; environment env; kubernetes k8s; postgresql postgres pg;
authentication auth; documentation docs; owner own owns ownership responsible maintainer;
application app apps; javascript js; typescript ts; message messages msg; administrator admin;
deployment deploy deploys deployments deployed; picture image pictures images photo photos;
machine machines box boxes computer; bill invoice bills invoices; cost pay price;
last lasts expire valid lifetime ttl; test tests spec; function fn method; user users i me my we our us;
night nightly overnight; week weekly; day daily; month monthly; year yearly annual annually;
crash crashes crashed fail fails failure; delete remove drop; fix fixed resolved solved;
telemetry analytics; version release
""")
"""One word for the several that name the same."""

QUALIFIERS = _alternatives("""
staging production testing/qa development local/localhost preview sandbox canary demo;
ios android windows linux/ubuntu/debian macos/mac/darwin web/browser desktop;
arm64/arm/aarch64 x86/amd64/x64; minimum/min/least maximum/max/most/exceed average/median/mean;
reading/reads writing/writes connect/connection idle; read write; request response;
weekday/weekdays weekend/weekends; client server; mobile web; first second third fourth fifth;
free paid pro enterprise team trial; hourly daily weekly monthly quarterly yearly/annual; input output;
upload/uploads download/downloads; source target/destination; primary secondary replica/standby;
frontend/front backend/back; inbound/ingress outbound/egress/outgoing; internal external public;
guest/guests admin/administrator member/members editor/editors viewer/viewers owner/owners;
import/importer export/exporter; brother sister mother father wife husband son daughter;
unit integration e2e; morning evening afternoon; summer winter spring autumn; debug release; soft hard;
light dark; left right; top bottom; major minor patch; sender recipient; warning/warn error critical;
parent child; push pull
""")
"""What narrows a subject or names an attribute: two members of one group are two subjects."""

NUMBERED = frozenset(
    """
step phase stage migration error ticket issue chapter incident task worker shard led code experiment
attempt session sprint day
""".split()
)
"""Words whose number is a name: step 2 and step 5 are two steps."""

STATES = _alternatives("""
enabled/enable/active/activated off/disabled/disable/inactive/deactivated;
red/failing/broken green/passing/healthy; open closed/resolved/fixed;
allowed/permitted/may forbidden/prohibited/banned/disallowed; required/mandatory/obligatory optional;
true/yes false/no; manual/manually automatic/automatically; public private;
done/finished/complete/completed/merged pending/unfinished/blocked; supported unsupported;
synchronous asynchronous
""")
"""Opposite states: two members of one group cannot both be said of one thing."""

ENDINGS = frozenset(
    """
longer anymore gone deleted removed removes dropped drops retired deprecated decommissioned sunset
abandoned wiped obsolete instead former formerly previous previously old quit quits left sold void
ignored stopped stops ended cancelled canceled superseded discontinued archived scrapped ditched unused
dead replaced replaces replacing uninstalled disabled lifted entfällt mehr alte ya remplace 410
last expired killed reverted ripped slipped
""".split()
)
"""Words that stand beside what has ended."""

LEAVING = frozenset("from off out over".split())
"""Words that stand beside it where a change is told."""

NEGATIONS = _stems(
    "no not never nobody none neither without cannot nt nicht kein keine nie nunca jamais pas ne"
)


def _numbered(groups: str) -> dict[str, int]:
    """Each word to the number of its group, from 1."""
    return {word: number for number, words in enumerate(groups.split(";"), 1) for word in words.split()}


MONTHS = _numbered("""
january jan januar enero janvier; february feb februar febrero; march mar märz marzo mars;
april apr abril avril; may mai mayo; june jun juni junio juin; july jul juli julio juillet;
august aug agosto août; september sep sept septiembre; october oct oktober octubre octobre;
november nov noviembre; december dec dezember diciembre
""")
WEEKDAYS = _numbered("""
monday mondays montag montags lunes lundi; tuesday tuesdays dienstag dienstags martes mardi;
wednesday wednesdays mittwoch mittwochs miércoles mercredi;
thursday thursdays donnerstag donnerstags jueves jeudi; friday fridays freitag freitags viernes vendredi;
saturday saturdays samstag samstags sábado samedi; sunday sundays sonntag sonntags domingo dimanche
""")

_ONES = """
zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen
"""
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = dict(zip(_ONES.split(), range(20), strict=True)) | dict(
    zip(_TENS.split(), range(20, 100, 10), strict=True)
)
MULTIPLIERS = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "k": 1_000, "m": 1_000_000}

UNITS = {
    word: (dimension, float(factor))
    for dimension, factor, words in (
        ("time", 0.001, "ms millisecond milliseconds msec"),
        ("time", 1, "s sec secs second seconds sekunde sekunden segundos secondes"),
        ("time", 60, "min mins minute minutes minuten minutos"),
        ("time", 3600, "h hr hrs hour hours stunde stunden horas heures"),
        ("time", 86_400, "d day days tag tage tagen días jours"),
        ("time", 604_800, "week weeks wk woche wochen semanas semaines"),
        ("time", 2_592_000, "month months monat monate monaten meses mois"),
        ("time", 31_536_000, "year years yr yrs jahr jahre jahren años ans"),
        ("size", 1, "byte bytes"),
        ("size", 1e3, "kb kilobyte kilobytes"),
        ("size", 1e6, "mb megabyte megabytes"),
        ("size", 1e9, "gb gigabyte gigabytes"),
        ("size", 1e12, "tb terabyte terabytes"),
        ("size", 2**10, "kib"),
        ("size", 2**20, "mib"),
        ("size", 2**30, "gib"),
        ("size", 2**40, "tib"),
        ("rate", 1, "hz rps qps"),
        ("rate", 1e3, "khz"),
        ("rate", 1e6, "mhz"),
        ("rate", 1e9, "ghz"),
        ("share", 1, "% percent prozent pct"),
        ("money", 1, "€ euro euros eur $ usd dollar dollars £ gbp"),
        ("length", 1, "mm"),
        ("length", 10, "cm"),
        ("length", 1e6, "km"),
    )
    for word in words.split()
}
"""Each unit's dimension and how many of the dimension's own unit it is."""

MANY_VALUED = frozenset(
    """
support supports accept accepts read reads handle handles include includes like likes can knows speaks has
have works used supported accepted allowed included tested compatible sent reviewed shared exported copied
notified covered mirrored documented own owns lead leads manage manages maintain maintains
""".split()
)
"""Verbs of which one subject may have several objects at a time."""

OPPOSED = frozenset("befor after under over more most least from to".split())
"""Small words that change what is said."""

ORDERS = frozenset("befor after under over more less".split())
"""Those of them that are said of an order or a bound."""

PAST = frozenset(
    "was were had took ran went happened lasted ended started failed finished crashed measured".split()
)
"""Verbs of what happened once."""

SINGLE_VALUED = frozenset(
    ": = -> → run runs live lives listen listens prefer prefers want wants stand stands sit sits".split()
)
"""Verbs, and marks in their place, of which a subject has one object at a time; `is` and its like too."""
