"""English words that a question is made of and that find nothing."""

from __future__ import annotations

from m3_memory.kernel.stemmer import stem

_WORDS = """
a an the this that these those there here
i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
am is are was were be been being do does did doing done have has had having
can could shall should will would may might must
and or but if then than so as because while until
of at by for with about between into through during before after above below to from up down in out on off
over under again further once what which who whom whose when where why how
all any both each few more most other some such only own same too very just also
no nor not s t d ll m re ve
dont doesnt didnt isnt arent wasnt werent hasnt havent hadnt cant cannot couldnt wont wouldnt shouldnt
"""

STOP_WORDS = frozenset(stem(word) for word in _WORDS.split())
"""The table as stems, in the form in which the analyser gives terms."""
