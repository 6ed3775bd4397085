"""Words that matter when two names are compared: those that add nothing, narrow, oppose, or mean the same.

General knowledge of English, not of any data set: what a name means beyond its words is the aliases' part, the encoder's, or a model's.
"""

from __future__ import annotations


def listed(words: str) -> frozenset[str]:
    """A set of words."""
    return frozenset(words.split())


ARTICLES = listed("a an the")
SMALL = listed("a an and at by de for from in of on or the to with")
"""Words that initials may skip."""
AUXILIARIES = listed("is are was were be been has have had do does did")
EMPTY = listed(
    "disease disorder syndrome condition illness infection fever mellitus unspecified nos brand von department "
    "inc incorporated ltd limited llc gmbh ag sa plc corp corporation company co "
    "mr mrs ms miss dr prof professor sir dame md phd esq"
)
"""Words that add nothing to a name that stands without them."""
BARE = listed(
    "heart liver kidney lung skin eye ear brain bone blood bowel bladder stomach thyroid joint muscle nerve throat tooth "
    "yellow scarlet hay spotted relapsing cat foot hand mouth urinary respiratory autoimmune chronic acute mental general health"
)
"""What is left after such a word is no name of its own: *kidney disease* is not *kidney*."""
NARROWING = listed(
    "acute subacute chronic recurrent severe mild moderate early late advanced primary secondary tertiary congenital idiopathic "
    "hereditary acquired juvenile gestational neonatal viral bacterial fungal parasitic allergic atopic autoimmune ischemic "
    "hemorrhagic metastatic invasive benign malignant bilateral unilateral left right upper lower anterior posterior "
    "partial complete suspected possible probable confirmed uncomplicated complicated systemic localized diffuse"
)
"""Words before a name that narrow it, whatever it is."""
UNLIKE = listed(
    "german french spanish english baking sea guinea false fake mock sham former ex future anti non pseudo quasi near toy "
    "imitation artificial root hot no not never fools egg rocking prairie jelly silver"
)
"""Words before a name that may make it another thing: *German measles*, *baking soda*."""
HEDGES = listed(
    "nearly hardly barely scarcely allegedly supposedly reportedly falsely only early likely partly partially"
)
"""Adverbs that do not narrow a statement, or not for sure."""
TAILS = listed("in on at with without during after before from under due caused because following involving secondary")
"""Words that begin an addition after a name or a statement."""
UNITS = listed("branch division department office unit subsidiary chapter faculty campus section wing")
"""A part of an organisation, in *branch of X*."""
KINDS = listed("type stage grade class phase level version series model category tier")
"""Words that, with a number or letter after them, narrow a name: *type 2 diabetes*."""
NEGATIONS = listed(
    "not no non never neither nor nobody nothing without none cannot isnt doesnt didnt wont lacks absent unlikely improbable doubtful"
)
QUANTITIES = listed("all every each any most many some several least only few little")
"""With these, and under a negation, an addition can widen a statement."""
_OPPOSITES = (
    "increase decrease", "increased decreased", "rise fall", "rises falls", "rose fell", "high low", "higher lower", "more less",
    "most least", "left right", "upper lower", "before after", "over under", "above below", "guilty innocent", "for against",
    "approve reject", "approved rejected", "approved denied", "accept reject", "accepted rejected", "granted refused",
    "granted denied", "acquitted convicted", "met missed", "confirmed refuted", "supports contradicts", "won lost", "up down",
    "valid invalid", "legal illegal", "safe unsafe", "true false", "yes no", "hot cold", "wet dry", "benign malignant",
    "acute chronic", "primary secondary", "systolic diastolic", "internal external", "male female", "min max", "buy sell",
    "minimum maximum", "north south", "east west", "northern southern", "eastern western", "open closed", "arterial venous",
    "void voidable", "central peripheral", "proximal distal", "anterior posterior", "jr sr", "junior senior", "first second",
    "viral bacterial", "viral fungal", "bacterial fungal", "obstructive restrictive", "ischemic hemorrhagic", "summer winter",
    "import export", "gain loss", "profit loss", "win lose", "pass fail", "passed failed", "start end", "public private",
    "direct indirect", "pro max", "plus pro", "mini max", "permanent temporary", "breach compliance", "inside outside",
    "in out", "atrial ventricular", "father son", "mother daughter", "brother sister", "old new", "early late", "long short",
    "whole skimmed", "insipidus mellitus", "hodgkin nonhodgkin", "buyer seller", "landlord tenant", "plaintiff defendant",
    "northwestern northeastern", "southwestern southeastern", "cause effect", "began ended", "agreed refused", "paid unpaid",
    "major minor", "large small", "small big", "voluntary involuntary", "solid liquid", "wholesale retail", "day night",
)  # fmt: skip
OPPOSED = frozenset(frozenset(pair.split()) for pair in _OPPOSITES)
PREFIXES = (
    ("hypo", "hyper"), ("intra", "inter"), ("intra", "extra"), ("pre", "post"), ("ante", "post"), ("endo", "exo"),
    ("mono", "poly"), ("micro", "macro"), ("over", "under"), ("un", ""), ("non", ""), ("dis", ""), ("anti", ""), ("in", ""),
    ("im", ""), ("ir", ""), ("il", ""), ("a", ""), ("pseudo", ""), ("brady", "tachy"), ("hemi", "para"), ("uni", "bi"),
)  # fmt: skip
_COUNTED = "zero one two three four five six seven eight nine ten eleven twelve"
NUMBERS = {word: str(n) for n, word in enumerate(_COUNTED.split())} | {
    "ii": "2",
    "iii": "3",
    "iv": "4",
    "vi": "6",
    "vii": "7",
    "viii": "8",
    "ix": "9",
}
_ALIKE = (
    "stomach gastric", "liver hepatic", "kidney renal", "heart cardiac", "lung pulmonary", "skin cutaneous dermal", "eye ocular",
    "brain cerebral", "bone osseous", "bowel intestinal intestine", "bladder vesical", "tooth dental", "nose nasal",
    "mouth oral", "muscle muscular", "nerve neural", "vein venous", "artery arterial", "spine spinal", "breast mammary",
    "ulcer sore", "clot thrombus thrombosis", "tumor neoplasm", "swelling edema", "stone calculus", "itching pruritus",
    "failure insufficiency", "allergy hypersensitivity", "chief head boss", "car automobile",
    "nobody noone", "lawyer attorney", "grey gray", "tyre tire", "kerb curb", "plough plow", "cheque check",
    "programme program", "mould mold", "aluminium aluminum", "jewellery jewelry", "sceptic skeptic", "storey story",
    "draught draft", "ageing aging", "judgement judgment", "pyjamas pajamas", "moustache mustache", "fulfil fulfill",
    "enrol enroll", "practise practice", "airplane aeroplane", "maths math",
    "sulphur sulfur", "whisky whiskey", "yoghurt yogurt", "doughnut donut", "ax axe", "cosy cozy",
)  # fmt: skip
ONE_WORD = {word: group.split()[0] for group in _ALIKE for word in group.split()}
"""A word → the one that stands for all that mean the same or are another spelling of it."""
MAKERS = listed(
    "sony microsoft apple samsung google nintendo amazon dell hp lenovo asus acer canon nikon bosch siemens philips lg huawei "
    "xiaomi toyota honda ford volkswagen bmw audi mercedes tesla adobe intel amd nvidia dyson lego ikea nestle pfizer bayer"
)
PRODUCTS = listed("console smartphone phone laptop notebook tablet car camera printer software app processor truck suv")
"""What a thing is, after a name that says it already: *PlayStation 5 console*."""
MEDICAL = (
    "itis",
    "osis",
    "emia",
    "pathy",
    "oma",
    "algia",
    "uria",
    "pnea",
    "trophy",
    "plasia",
    "penia",
    "rrhea",
    "ism",
    "pneumonia",
)
"""Endings of words for conditions, which are common nouns however they are capitalised."""
_KNOWN = (
    "heart attack = myocardial infarction", "stroke = cerebrovascular accident", "high blood pressure = hypertension",
    "low blood pressure = hypotension", "chickenpox = varicella", "shingles = herpes zoster", "measles = rubeola",
    "german measles = rubella", "whooping cough = pertussis", "lockjaw = tetanus", "glandular fever = infectious mononucleosis = "
    "kissing disease = mono", "kidney stone = nephrolithiasis", "gallstone = cholelithiasis", "hives = urticaria",
    "nosebleed = epistaxis", "pink eye = conjunctivitis", "athlete foot = tinea pedis", "ringworm = tinea corporis",
    "lou gehrig disease = amyotrophic lateral sclerosis", "brittle bone disease = osteogenesis imperfecta",
    "mad cow disease = bovine spongiform encephalopathy", "down syndrome = trisomy 21", "leprosy = hansen disease",
    "bed sore = pressure ulcer = decubitus ulcer", "tennis elbow = lateral epicondylitis", "lazy eye = amblyopia",
    "short sightedness = nearsightedness = myopia", "baldness = alopecia", "bruise = contusion", "mumps = epidemic parotitis",
    "wear and tear arthritis = osteoarthritis = degenerative joint disease", "breakbone fever = dengue",
    "acid reflux = gastroesophageal reflux disease", "underactive thyroid = hypothyroidism", "fainting = syncope",
    "overactive thyroid = hyperthyroidism", "graves disease = basedow disease", "tb = tuberculosis", "flu = influenza",
    "polio = poliomyelitis", "htn = hypertension", "scurvy = vitamin c deficiency", "bilharzia = schistosomiasis",
    "asthma = bronchial asthma", "diabetes mellitus = sugar diabetes", "paracetamol = acetaminophen",
    "aspirin = acetylsalicylic acid", "adrenaline = epinephrine", "salbutamol = albuterol", "vitamin c = ascorbic acid",
    "vitamin b12 = cobalamin", "petrol = gasoline", "aubergine = eggplant", "courgette = zucchini", "coriander = cilantro",
    "lorry = truck", "lift = elevator", "mobile phone = cell phone = cellphone", "television = tv", "nappy = diaper",
    "united states = usa = united states of america = us", "united kingdom = uk = great britain",
)  # fmt: skip
KNOWN: dict[str, str] = {name: group.split(" = ")[0] for group in _KNOWN for name in group.split(" = ")}
"""A common name → the first of those that stand for one thing; a case's own aliases come before these."""
