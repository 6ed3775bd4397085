"""What a sentence says of a feature. Written for these rules; the sentences of ``benchmarks/blind/negation.jsonl`` are others."""

from __future__ import annotations

from time import process_time

import pytest

from maci.evidence.intake import taken_in
from maci.evidence.negation import polarity, scopes, sentences

SAID = {
    # denied before it
    ("No cough and no sputum.", "sputum"): "absent",
    ("She denies palpitations, chest pain or fainting.", "fainting"): "absent",
    ("Presented without fever.", "fever"): "absent",
    ("He has never smoked.", "smoking"): "absent",
    ("Neither swelling nor bruising was seen.", "bruising"): "absent",
    ("The chest is clear, free of crackles.", "crackles"): "absent",
    ("Negative for blood and protein.", "protein"): "absent",
    ("Examination did not reveal a hernia.", "hernia"): "absent",
    ("We found no evidence of a leak.", "leak"): "absent",
    ("There were 0 entries for this card.", "entries"): "absent",
    ("Zero complaints were filed in March.", "complaints"): "absent",
    ("The contract contains no penalty clause.", "penalty clause"): "absent",
    ("The server has not been patched.", "patched server"): "absent",
    ("The witness couldn't identify the driver.", "identification of the driver"): "absent",
    ("The wall lacks insulation.", "insulation"): "absent",
    ("He is no longer employed here.", "employment"): "absent",
    ("In the absence of jaundice, the liver is not suspect.", "jaundice"): "absent",
    ("The stem is hairless.", "hairs on the stem"): "absent",
    ("He arrived unaccompanied.", "accompanied"): "absent",
    ("The invoice is still unpaid.", "paid invoice"): "absent",
    # denied behind it
    ("Ankle swelling: none.", "ankle swelling"): "absent",
    ("Rash absent, fever present.", "rash"): "absent",
    ("Rash absent, fever present.", "fever"): "present",
    ("Neck stiffness was not present.", "neck stiffness"): "absent",
    ("Pneumothorax was ruled out.", "pneumothorax"): "absent",
    ("Proteinuria nil. Glucose trace.", "proteinuria"): "absent",
    ("The backup did not run.", "backup run"): "absent",
    ("errors=0 warnings=3", "errors"): "absent",
    ("errors=0 warnings=3", "warnings"): "present",
    ("Vomiting stopped yesterday; the cramps did not.", "vomiting now"): "absent",
    ("Vomiting stopped yesterday; the cramps did not.", "cramps now"): "present",
    ("The headache has gone.", "headache"): "absent",
    ("Encryption is switched off.", "encryption"): "absent",
    # where a scope ends
    ("No fever, but a dry cough.", "dry cough"): "present",
    ("He denies chest pain and has a rash.", "rash"): "present",
    ("Without any pain, she noticed a lump.", "lump"): "present",
    ("No rain to speak of, and fog until noon.", "fog"): "present",
    ("She has no allergies. She takes aspirin.", "aspirin"): "present",
    ("There is no tenderness although the joint is red.", "red joint"): "present",
    ("The door was not forced; the window was broken.", "broken window"): "present",
    ("No stairs because the entrance is level.", "level entrance"): "present",
    # all but one
    ("No symptoms except a sore throat.", "sore throat"): "present",
    ("All rooms except the kitchen were searched.", "kitchen"): "absent",
    ("No tenant other than Mr Blum has a key.", "key of Mr Blum"): "present",
    # two denials, and what only looks like one
    ("The drug is not without risk.", "risk"): "present",
    ("It cannot be denied that the lamp was lit.", "lit lamp"): "present",
    ("Not only the brakes but also the tyres were worn.", "worn brakes"): "present",
    ("There was no change in the swelling.", "swelling"): "present",
    ("The pain has not resolved.", "pain"): "present",
    ("No doubt the seal is broken.", "broken seal"): "present",
    ("He never fails to take his tablets.", "tablets"): "present",
    ("The tests found gram-negative rods.", "rods"): "present",
    # left open
    ("Appendicitis cannot be ruled out.", "appendicitis"): "unknown",
    ("Possible fracture of the wrist.", "fracture"): "unknown",
    ("It is unclear whether the alarm rang.", "alarm"): "unknown",
    ("The blood test for malaria is pending.", "malaria"): "unknown",
    ("If a rash appears, stop the tablets.", "rash"): "unknown",
    ("Her mother had breast cancer.", "breast cancer"): "unknown",
    ("Query pulmonary embolism.", "pulmonary embolism"): "unknown",
    ("The gauge was broken, so there is no reading of the pressure.", "high pressure"): "unknown",
    ("The report does not say whether he was insured.", "insurance"): "unknown",
    ("The form does not mention allergies.", "allergies"): "unknown",
    ("Fraud is suspected but not proven.", "fraud"): "unknown",
    ("Bowel sounds were not assessed.", "bowel sounds"): "unknown",
    ("We have no information about his travels.", "travel"): "unknown",
    # what was, what is not, and what never was
    ("Had the valve been closed, the cellar would have stayed dry.", "closed valve"): "absent",
    ("If the lid had been locked, the child would not have opened it.", "locked lid"): "absent",
    ("Chickenpox as a child, none since.", "chickenpox now"): "absent",
    ("He used to smoke.", "smoking now"): "absent",
    ("He still smokes.", "smoking now"): "present",
    # lists, counts, rules and logs
    ("No cough, no sputum, no wheeze.", "wheeze"): "absent",
    ("Patient afebrile, no rigors.", "rigors"): "absent",
    ("He complains of thirst but not of hunger.", "thirst"): "present",
    ("He complains of thirst but not of hunger.", "hunger"): "absent",
    ("Pain in the left knee only.", "pain in the left knee"): "present",
    ("She has had diarrhoea for two days without blood.", "diarrhoea"): "present",
    ("She has had diarrhoea for two days without blood.", "blood"): "absent",
    ("Nobody reported a smell of gas.", "smell of gas"): "absent",
    ("Nothing suggests fraud.", "fraud"): "absent",
    ("None of the tenants has paid.", "tenants paid"): "absent",
    ("The tests ran with no failures.", "failures"): "absent",
    ("The build failed with 3 errors.", "errors"): "present",
    ("Retries: 0; timeouts: 4.", "retries"): "absent",
    ("Retries: 0; timeouts: 4.", "timeouts"): "present",
    ("status=ok, alerts=none", "alerts"): "absent",
    ("The tap drips, yet the meter shows no use.", "drips"): "present",
    ("There is hardly any rust.", "rust"): "present",
    ("Few signs of wear.", "wear"): "present",
    ("The lease does not allow pets.", "pets allowed"): "absent",
    ("Pets are not permitted.", "pets permitted"): "absent",
    ("Smoking is prohibited.", "smoking allowed"): "absent",
    ("The applicant has a degree but no licence.", "licence"): "absent",
    ("The applicant has a degree but no licence.", "degree"): "present",
    ("The parcel never arrived.", "arrival of the parcel"): "absent",
    ("The payment failed to arrive.", "payment arrived"): "absent",
    ("She refused the transfusion.", "transfusion"): "absent",
    ("The signature is missing.", "signature"): "absent",
    ("The warranty has expired.", "warranty"): "present",
    ("Chest X-ray normal, no effusion.", "effusion"): "absent",
    ("Rule out sepsis.", "sepsis"): "unknown",
    ("There may be a leak in the roof.", "leak in the roof"): "unknown",
    ("Watch for bleeding.", "bleeding"): "unknown",
    ("Family history of stroke.", "stroke"): "unknown",
    ("Is there any swelling? No.", "swelling"): "absent",
    ("Any fever? Yes.", "fever"): "present",
    ("Fever: yes. Rash: no.", "rash"): "absent",
    ("Fever: yes. Rash: no.", "fever"): "present",
    ("The engine started without difficulty.", "difficulty"): "absent",
    ("The engine started without difficulty.", "engine started"): "present",
    ("It was not raining when the car skidded.", "raining"): "absent",
    ("It was not raining when the car skidded.", "car skidded"): "present",
    ("The leaves are not toothed but smooth.", "smooth leaves"): "present",
    ("The leaves are not toothed but smooth.", "toothed leaves"): "absent",
    ("The flower has no petals, only sepals.", "sepals"): "present",
    ("No one but the clerk had access.", "access of the clerk"): "present",
    ("He was not the driver.", "driver"): "absent",
    ("Neither party gave notice.", "notice"): "absent",
    ("The clause was deleted.", "clause"): "absent",
    ("The alarm did not go off.", "alarm went off"): "absent",
    ("Not all boxes were sealed.", "all boxes sealed"): "absent",
    ("The swelling is not getting better.", "swelling"): "present",
    ("I have a fever and I can't sleep.", "fever"): "present",
    ("The rash isn't itchy.", "itchy rash"): "absent",
    ("The rash isn't itchy.", "rash"): "present",
    ("There hasn't been any vomiting since Monday.", "vomiting since Monday"): "absent",
    ("Instead of a rash there is swelling.", "rash"): "absent",
    ("Instead of a rash there is swelling.", "swelling"): "present",
    ("No travel abroad; no contact with sick people; eats raw fish.", "raw fish"): "present",
    ("Pregnancy test negative.", "pregnancy"): "absent",
    ("The test for lead came back positive.", "lead"): "present",
    ("Unlikely to be a fracture.", "fracture"): "absent",
    ("He lost his sense of smell.", "sense of smell"): "absent",
    ("The bolt was not loose; it was missing.", "loose bolt"): "absent",
    ("No more than two tablets were taken.", "tablets taken"): "present",
    ("The file contains at least one error.", "error"): "present",
    # not and what it stands before, lists, headings, values, people and plans
    ("Nobody disputes that the contract was signed.", "contract signed"): "present",
    ("Allergies - nil known.", "allergies"): "absent",
    ("The lab has yet to report on arsenic.", "arsenic"): "unknown",
    ("The valve was closed, not open.", "open valve"): "absent",
    ("Cough, no fever, some wheeze.", "wheeze"): "present",
    ("The invoice has yet to be paid.", "paid invoice"): "absent",
    ("The parcel is still to arrive.", "parcel arrived"): "absent",
    ("She gave up smoking in 2010.", "smoking now"): "absent",
    ("He quit drinking but still smokes.", "drinking"): "absent",
    ("Rain stayed away all week.", "rain"): "absent",
    ("The surveyor suspects subsidence.", "subsidence"): "unknown",
    ("There is a chance of thunder later.", "thunder"): "unknown",
    ("Rust is a possibility.", "rust"): "unknown",
    ("The patient is being worked up for lupus.", "lupus"): "unknown",
    ("The warning could hardly be missed.", "warning"): "present",
    ("Hardly anyone wore a helmet; the driver wore none.", "helmet of the driver"): "absent",
    ("With the exception of the gearbox, all parts were replaced.", "gearbox replaced"): "absent",
    ("The witness saw no weapon and heard no shots.", "shots"): "absent",
    ("Ticks were looked for but not found.", "ticks"): "absent",
    ("Ticks were looked for; none found.", "ticks"): "absent",
    ("Ticks were not looked for.", "ticks"): "unknown",
    ("We ran out of milk.", "milk"): "absent",
    ("Vaccination recommended against rabies.", "rabies"): "unknown",
    ("Sulphites: not detected (<10 mg/kg).", "sulphites"): "absent",
    ("Nuts | no | Milk | yes", "nuts"): "absent",
    ("Nuts | no | Milk | yes", "milk"): "present",
    ("Nuts no, milk yes.", "milk"): "present",
    ("Nuts no, milk yes.", "nuts"): "absent",
    ("Murmur -ve, oedema +ve", "murmur"): "absent",
    ("Cells lack a nucleus.", "nucleus"): "absent",
    ("Cells do not lack a nucleus.", "nucleus"): "present",
    ("Differential: gout, pseudogout.", "gout"): "unknown",
    ("The scan excluded a clot.", "clot"): "absent",
    ("The scan did not exclude a clot.", "clot"): "unknown",
    ("The scan was inconclusive for a clot.", "clot"): "unknown",
    ("A scan for clots has been requested.", "clots"): "unknown",
    ("The clot question remains open.", "clot"): "unknown",
    ("COVID test: neg. Flu test: pos.", "COVID"): "absent",
    ("The policy does not cover floods.", "floods covered"): "absent",
    ("The policy covers fire but not floods.", "floods covered"): "absent",
    ("Unlike its cousin, the plant lacks thorns.", "thorns"): "absent",
    ("You can't miss the red sign.", "red sign"): "present",
    ("I searched the whole house and the keys were nowhere to be found.", "keys"): "absent",
    ("The keys could not be found.", "keys"): "absent",
    ("In patients with fever, give paracetamol.", "fever"): "unknown",
    ("There is no reason to doubt the receipt is genuine.", "genuine receipt"): "present",
    ("Bleeding: denies. Bruising: admits.", "bleeding"): "absent",
    ("We were told to expect hail but none fell.", "hail"): "absent",
    ("Hail was forecast but did not materialise.", "hail"): "absent",
    ("Hail is forecast for tonight.", "hail"): "unknown",
    ("Tomorrow we will replace the filter.", "filter replaced"): "unknown",
    ("The CT has not been reported yet; a bleed is feared.", "bleed"): "unknown",
    ("The buyer was not told about the damp.", "damp"): "present",
    ("Server logs contain zero failed logins for May.", "failed logins"): "absent",
    ("TLS disabled; HTTP enabled.", "TLS enabled"): "absent",
    ("The pupil is never on time and often late.", "late"): "present",
    ("Police have ruled out arson.", "arson"): "absent",
    ("Spore print white, ring present, volva absent.", "ring"): "present",
    ("Remember to test the smoke alarm.", "smoke alarm tested"): "unknown",
    ("Inspect hoses for cracks.", "cracks in hoses"): "unknown",
    ("The applicant has not yet graduated.", "graduated"): "absent",
    ("The applicant graduated, though not with honours.", "honours"): "absent",
    ("There is a lift but it does not work.", "lift works"): "absent",
    ("Not having a licence, he took the bus.", "bus"): "present",
    ("No rain fell, but it was foggy.", "fog"): "present",
    ("The charter is genuine, not forged.", "forged charter"): "absent",
    ("The charter's authenticity has been questioned.", "authenticity"): "unknown",
    ("Sales did not grow.", "sales growth"): "absent",
    ("The knee is swollen but not tender.", "tender knee"): "absent",
    ("The knee is neither swollen nor tender.", "tender knee"): "absent",
    ("The knee is no longer swollen.", "swelling of the knee"): "absent",
    ("Mother: type 2 diabetes. Father: well.", "diabetes"): "unknown",
    ("FHx: stroke (uncle).", "stroke"): "unknown",
    ("Salmonella culture sent, result expected Thursday.", "salmonella"): "unknown",
    ("Salmonella culture: no growth.", "salmonella"): "absent",
    ("He did not arrive without an invitation.", "invitation"): "present",
    ("Hardly a day passes without rain.", "rain"): "present",
    ("The report doesn't deny that money went missing.", "missing money"): "present",
    ("Not for the first time, the fuse blew.", "fuse blew"): "present",
    ("Nothing could stop the leak.", "leak"): "present",
    ("No amount of cleaning removed the stain.", "stain"): "present",
    ("The stain would not come out.", "stain"): "present",
    ("Smoker: N", "smoker"): "absent",
    ("Pets: no (allergy)", "pets"): "absent",
    ("Previous convictions - none.", "previous convictions"): "absent",
    ("Deposit paid: n/a", "deposit paid"): "unknown",
    ("Make sure there are no leaks.", "leaks"): "unknown",
    ("Suppose the pump fails.", "pump failure"): "unknown",
    ("The refund was refused.", "refund"): "absent",
    ("The court dismissed the claim of fraud as unproven; there was no fraud.", "fraud"): "absent",
    ("Whether there was fraud is for the court to decide.", "fraud"): "unknown",
    ("The auditor could neither confirm nor exclude fraud.", "fraud"): "unknown",
    ("No conclusion can be drawn about fraud.", "fraud"): "unknown",
    ("We have no evidence either way on fraud.", "fraud"): "unknown",
    ("Far from being drunk, he was sober.", "drunk"): "absent",
    ("Absent any signature, the deed is void.", "signature"): "absent",
    ("No one has reported any theft so far.", "theft"): "absent",
    # plain statements
    ("High fever with chills for three days.", "chills"): "present",
    ("The disk is full.", "full disk"): "present",
    ("Yes, the tenant gave notice in writing.", "notice in writing"): "present",
    # a feature that names the word of a phrase which only looks like a denial
    ("There was no change in her weight.", "change in weight"): "absent",
    ("There was no change in her weight.", "weight"): "present",
    ("The bus did not stop at the bridge.", "stop at the bridge"): "absent",
    # a verb that is left out
    ("The lamp works, the fan does not.", "working fan"): "absent",
    ("The lamp works, the fan does not.", "working lamp"): "present",
    ("Dogs are allowed, cats are not.", "permission for cats"): "absent",
    ("The fever went away; the cough did not.", "cough"): "present",
    # a denial for one place
    ("There is rust on the door, none on the roof.", "rust on the roof"): "absent",
    ("There is rust on the door, none on the roof.", "rust on the door"): "present",
    ("It rained in the valley but none here.", "rain in the valley"): "present",
    ("No pain except in the heel.", "pain in the heel"): "present",
    # where a scope ends without a conjunction
    ("Without a coat the boy caught a cold.", "cold"): "present",
    ("No late payments, good income.", "good income"): "present",
    ("No fever, severe headache.", "severe headache"): "present",
    ("No fever, severe headache or vomiting.", "severe headache"): "absent",
    ("They sent no reminder and closed the account.", "closed account"): "present",
    ("Tyres changed, brakes not checked.", "changed tyres"): "present",
    # others
    ("The key is lost.", "key"): "absent",
    ("The kit is missing a screw.", "screw"): "absent",
    ("Rain is not expected.", "rain"): "absent",
    ("The path is paved.", "unpaved path"): "absent",
    ("Swab negative twice.", "positive swab"): "absent",
    ("Cough? Yes, for a week.", "cough"): "present",
    ("Cough? No, but a sore throat.", "cough"): "absent",
}


@pytest.mark.parametrize(("sentence", "feature"), SAID, ids=lambda text: text[:40])
def test_what_a_sentence_says_of_a_feature(sentence: str, feature: str) -> None:
    assert polarity(sentence, feature) == SAID[sentence, feature]


def test_there_are_enough_sentences() -> None:
    assert len(SAID) >= 200


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("no joint pain", ("joint pain",)),
        ("High fever, no rash or joint pain, and a cough.", ("rash", "joint pain")),
        ("She denies chest pain, palpitations and fainting.", ("chest pain", "palpitations", "fainting")),
        ("The ledger shows 0 entries and 3 corrections.", ("entries",)),
        ("Rash: none. Fever: yes.", ("rash",)),
        ("He does not have a sore throat but coughs.", ("sore throat",)),
        ("Neck stiffness was absent.", ("neck stiffness",)),
        ("Waking early, no fever, tiredness and guilt.", ("fever",)),
        ("A boy without jabs developed a harsh cough.", ("jabs",)),
        ("Without tablets the pain lasted a week.", ("tablets",)),
        ("No late payments, good income.", ("late payments",)),
        ("Blood smear: no parasites seen.", ("parasites",)),
        # complaints, not denials
        ("Pneumonia shows crackles, which bronchitis does not.", ()),
        ("I can't sleep and have no appetite.", ()),
        ("Hard to walk without becoming stiff.", ()),
        ("The cough never stops.", ()),
        ("Pneumonia cannot be excluded.", ()),
        ("There is pain, not without fever.", ()),
        ("No change in the rash.", ()),
    ],
)
def test_what_is_denied_is_taken_out_and_named(text: str, denied: tuple[str, ...]) -> None:
    taken = taken_in(text)
    assert taken.denied == denied
    assert all(phrase not in taken.text.lower() for phrase in denied)


def test_what_stays_is_what_is_there() -> None:
    assert taken_in("High fever, no rash or joint pain, and a cough.").text == "High fever, and a cough."
    assert taken_in("A dry cough for weeks.") == ("A dry cough for weeks.", ())


def test_a_feature_that_names_the_word_of_a_cue_is_about_that_word() -> None:
    assert polarity("Bowel sounds were not assessed.", "bowel sounds") == "unknown"
    assert polarity("Bowel sounds were not assessed.", "assessment of bowel sounds") == "absent"
    assert polarity("The signature is missing.", "missing signature") == "present"
    assert polarity("There is no fever.", "no fever") == "present"


def test_a_positive_result_beside_a_negative_one_is_kept() -> None:
    assert taken_in("Measles IgM positive, rubella IgM negative.").denied == ("rubella igm",)
    assert taken_in("Knobbly small liver, large spleen and free fluid.").denied == ()


def test_a_text_without_full_stops_takes_time_by_its_length() -> None:
    """A hundred thousand letters took minutes: every "and" looked through all that came before."""
    text = "fever and rash and cough, no pain and " * 2_700
    began = process_time()
    pieces = sentences(text)
    for piece in pieces:
        scopes(piece)
    assert process_time() - began < 10
    assert "".join(pieces).replace(" ", "") == text.replace(" ", "")
    assert max(map(len, pieces)) <= 1_000
