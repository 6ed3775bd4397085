"""Numbers of a text against what a claim says of them."""

from __future__ import annotations

import pytest

from maci.evidence.quantities import agreement, quantities

PAIRS = [
    (
        "The battery lasts longer than ten hours.",
        "Runtime in the test: 11 h 40 min.",
        "Runtime in the test: 6 h 5 min.",
    ),
    ("The patient is under 18.", "Born 2012, aged 12 at admission.", "Aged 34 at admission."),
    (
        "The child's temperature exceeded 39 degrees.",
        "Temperature at 18:00: 39.6 °C.",
        "Temperature at 18:00: 37.2 °C.",
    ),
    ("The plane landed before 22:00.", "Touchdown 21:41 local time.", "Touchdown 23:05 local time."),
    ("The invoice amounts to 4,200 euros.", "Amount due: 4,200 euros.", "Amount due: 3,150 euros."),
    ("At least 200 people attended.", "Door count: 245 visitors.", "Door count: 88 visitors."),
    (
        "Sales rose in the second quarter.",
        "Q1 sales 1.2 million, Q2 sales 1.5 million.",
        "Q1 sales 1.2 million, Q2 sales 0.9 million.",
    ),
    (
        "Team Alpha scored more points than Team Beta.",
        "Final score: Alpha 81, Beta 77.",
        "Final score: Alpha 62, Beta 77.",
    ),
    ("The parcel weighs less than 2 kg.", "Weight at acceptance: 1,450 g.", "Weight at acceptance: 3,900 g."),
    (
        "The warranty had expired when the fault appeared.",
        "Warranty ended 3 March 2021; fault reported 9 May 2021.",
        "Warranty ends 3 March 2025; fault reported 9 May 2021.",
    ),
    ("The bridge was built in 1932.", "Completed in 1932 by the county.", "Completed in 1957 by the county."),
    ("Fewer than five defects were found.", "Inspection: 3 defects.", "Inspection: 14 defects."),
    ("The speed was over 130 km/h.", "Radar: 148 km/h.", "Radar: 112 km/h."),
    ("The deposit is two monthly rents.", "Deposit: two months' rent.", "Deposit: three months' rent."),
    ("The river stood above the flood mark of 4 m.", "Gauge at noon: 4.35 m.", "Gauge at noon: 2.90 m."),
    (
        "Unemployment fell by more than two points.",
        "Unemployment: 9.1 % in 2010, 6.4 % in 2012.",
        "Unemployment: 9.1 % in 2010, 8.8 % in 2012.",
    ),
    (
        "The debt is more than twice the equity.",
        "Debt 9.0 million, equity 3.5 million.",
        "Debt 4.0 million, equity 3.5 million.",
    ),
    ("The plot is larger than 800 square metres.", "Area: 912 m².", "Area: 640 m²."),
    ("The film runs for at most 90 minutes.", "Running time: 84 min.", "Running time: 2 h 10 min."),
    ("The tree is at least a hundred years old.", "Ring count: 134.", "Ring count: 57."),
    ("The payment came after the deadline of 15 March.", "Credited on 21 March.", "Credited on 9 March."),
    ("The ship was carrying more than 300 containers.", "Manifest: 412 containers.", "Manifest: 127 containers."),
    ("Blood alcohol was above 0.5 per mille.", "Blood alcohol: 1.2 per mille.", "Blood alcohol: 0.1 per mille."),
    ("The engine had run more than 5,000 hours.", "Hour meter: 6,310 h.", "Hour meter: 2,044 h."),
    ("The river water is acidic, with a pH below 6.", "pH 5.1 at the weir.", "pH 7.4 at the weir."),
    ("The roof can bear 200 kg per square metre.", "Rated load: 200 kg/m².", "Rated load: 90 kg/m²."),
    ("Brand A is cheaper than Brand B.", "Brand A 4.20, Brand B 5.10.", "Brand A 6.70, Brand B 5.10."),
    ("The car was doing less than 50 km/h.", "Data recorder: 43 km/h at impact.", "Data recorder: 71 km/h at impact."),
    ("The manuscript dates from after 1450.", "Paper with a watermark of 1468.", "Paper with a watermark of 1391."),
    (
        "The flight was delayed by more than three hours.",
        "Scheduled 10:00, arrived 14:20.",
        "Scheduled 10:00, arrived 10:35.",
    ),
    ("The sample contains more than 5 % sugar.", "Sugar: 8.2 g per 100 g.", "Sugar: 1.1 g per 100 g."),
    (
        "The applicant has at least three years of experience.",
        "Employed as a welder for six years.",
        "Employed as a welder for one year.",
    ),
    ("The heart rate was over 120.", "Pulse 138, regular.", "Pulse 72, regular."),
    ("The order was for 48 chairs.", "Order: 48 chairs, oak.", "Order: 24 chairs, oak."),
    ("The athlete ran under ten seconds.", "100 m: 9.94 s.", "100 m: 10.31 s."),
    ("The company employs fewer than 50 people.", "Headcount at year end: 37.", "Headcount at year end: 212."),
    (
        "The tyre was below the legal tread of 1.6 mm.",
        "Tread depth front left: 0.9 mm.",
        "Tread depth front left: 5.2 mm.",
    ),
    ("Rainfall doubled.", "Rainfall 2018 310 mm, 2019 645 mm.", "Rainfall 2018 310 mm, 2019 295 mm."),
    ("The bill was paid on time.", "Due 30 June, paid 28 June.", "Due 30 June, paid 14 July."),
]


@pytest.mark.parametrize(("claim", "support", "contradiction"), PAIRS)
def test_numbers_bear_a_claim_out_or_speak_against_it(claim: str, support: str, contradiction: str) -> None:
    assert (agreement(claim, support), agreement(claim, contradiction)) == (1, -1)


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("The noise is above 45 dB.", "The park has nine turbines of the same make."),
        ("The current was above 16 A.", "The cable is twelve metres long."),
        ("It costs less than 600 euros over three years.", "It is available in black and grey."),
        ("The room was above 10 °C for six hours.", "The room measures four by six metres."),
        ("The total is below 20,000.", "The offer was sent as a file of two megabytes."),
        ("The rash came first.", "Seen at 08:10: rash on both arms."),
    ],
)
def test_numbers_of_other_things_are_not_compared(claim: str, text: str) -> None:
    assert agreement(claim, text) == 0


def test_units_are_converted_and_a_unit_behind_the_second_number_is_that_of_both() -> None:
    assert [(q.value, q.dimension) for q in quantities("11 to 14 °C, 1.5 kg, 36 months")] == [
        (11.0, "degree"),
        (14.0, "degree"),
        (1500.0, "mass"),
        (36 * 2629800.0, "time"),
    ]
    assert agreement("It weighs less than 2 kg.", "Weight: 1,450 g.") == 1
    assert agreement("It weighs less than 2 kg.", "Weight: 2,450 g.") == -1
