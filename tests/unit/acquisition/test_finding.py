"""Findings and fragments of several fields: contracts, incidents, botany, purchasing, medicine, fraud.

The check was written against the first two lists; the last two were written afterwards and have not been used to change it.
"""

from __future__ import annotations

import pytest

from maci.acquisition.finding import is_finding
from maci.evidence.knowledge import conditions

FINDINGS = """
calf pain|retro-orbital pain|loss of appetite|pain behind the eyes|high fever|itching|skin rash|swollen lymph nodes|dry cough
difficulty breathing|low platelet count|bleeding from the gums|missing signature|late payment|failure to pay rent
break clause|written notice of termination|water damage in the kitchen|unpaid service charge|deposit dispute|verbal agreement
connection timeouts|disk full warning|failed login attempts|memory leak|expired certificate|error 503|spike in latency
replication lag|configuration change before the outage|restart of the database|opposite leaves|serrated leaf margins
white milky sap|hairy stem|yellow flowers|five petals|toothed margin|prickles along the stem|smell of garlic|parallel veins
duplicate invoice number|supplier without a contract|price above the market|single bidder|split purchase orders|rush order
missing delivery note|conflict of interest|round amounts|payment to a private account|staged accident|fresh paint
prior claims|inconsistent witness statements|damage older than the accident|policy taken out last month
"""
FRAGMENTS = """
south|in the job log|oxygen saturation stays normal|stays normal|is red|the|of the|and the tenant|tenant moved|was not paid
paid late|turned yellow|leaf turns yellow|they said|it occurs|to the|because of|very high|usually|red|normal|shows that
after the deploy|before noon|on Monday|Monday|three days|two weeks|last year|during the|server crashed at night|check the log
deny the claim|signed the lease|driver denies the claim|lasts long|battery lasts long|gets worse|gets worse at night
comes and goes|which is|who had|no joint pain|not seen|without|pain in the|loss of|can be|may cause|tends to|as well as
such as|more than|over time|in the|with a|of a kind|at least|number|part|the case|a lot|quickly|grows quickly|was found
were opened in|has been|customer disputed charge|stopped paying rent|if the|when opened|up to|due to|based on|caused by
seen in|found on the|feels tired|feel tired|brings fever|itchy|careless|painful
"""
LATER_FINDINGS = """
night sweats|numbness in the left hand|blood in the urine|history of smoking|blurred vision|raised liver enzymes
irregular heartbeat|tenderness over the calf|weight loss|shortness of breath|penalty for early exit|sublet without consent
ambiguous renewal date|forged signature|missing appendix|change of ownership|force majeure clause|breach of confidentiality
interest on arrears|verbal promise by the agent|certificate expiry|null pointer exception|high packet loss|full disk
deadlock in the queue|wrong DNS record|unreachable database host|rollback of the release|rate limiting|retry storm
heart-shaped leaves|sticky buds|hollow stem|purple bracts|peeling bark|winged seeds|strong scent|leaf galls|black berries
spines on the fruit|hidden maintenance costs|poor battery life|incompatible connectors|lack of spare parts|long delivery time
supplier insolvency|warranty period|inflated quote|missing safety certificate|bulk discount|altered receipt|address mismatch
repeated small withdrawals|login from a new device|claim shortly after purchase|identical handwriting|cash payments
shell company|backdated documents|missing police report
"""
LATER_FRAGMENTS = """
at night|behind the|from the gums|gums bleed easily|hurts when walking|walks slowly|she was|feels dizzy|has lost weight
for two weeks|worse|since Tuesday|and itching|or fever|much better|shall be|landlord agrees|agreed in writing
within thirty days of|is void|the tenant shall|signed by both|unless otherwise|notice was given|pays the rent|rent is due
hereby|both parties|to terminate|not later than|process exited|exited with code|host went down|ran out of|fails to start
retries forever|returned an error|while deploying|logs show|restarted twice|then recovered|it works|responds slowly
in production|at 03:00|grows in shade|leaves turn brown|blooms in May|native to|up to two metres|found near water
smells strongly|is edible|spreads quickly|up the trunk|green|tall|along the|up north|looks like|costs more|arrives late
ships within|cheaper than|offers a discount|we need|per unit|best price is|delivered on|supports both|quite expensive
out of stock since|available|in bulk from|choose the|claimed twice|says he was|money was moved|opened the account
transferred to|paid in cash|appears genuine|matches exactly|denied it|without telling|from another|after he|he left
never reported|filed quickly
"""


def shares(findings: str, fragments: str) -> tuple[float, float]:
    """Of the findings, those that are taken for one; and of the fragments."""
    return tuple(  # type: ignore[return-value]
        sum(map(is_finding, phrases)) / len(phrases)
        for phrases in (text.strip().replace("\n", "|").split("|") for text in (findings, fragments))
    )


@pytest.mark.parametrize(
    ("findings", "fragments"), [(FINDINGS, FRAGMENTS), (LATER_FINDINGS, LATER_FRAGMENTS)], ids=["first", "later"]
)
def test_findings_are_told_from_fragments(findings, fragments):
    right, wrong = shares(findings, fragments)
    assert right >= 0.95
    assert wrong <= 0.05


def test_the_symptoms_of_the_built_in_knowledge_are_findings():
    symptoms = {symptom for condition in conditions() for symptom in condition.symptoms}
    assert sum(map(is_finding, symptoms)) / len(symptoms) >= 0.98


@pytest.mark.parametrize("text", ["", "…", "?", "12", "the", "x" * 3 + " of" * 9])
def test_what_has_no_words_or_too_many_is_no_finding(text):
    assert not is_finding(text)
