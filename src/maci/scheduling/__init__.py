"""What learned schedules learned: kept from debate to debate, and tested on record before anybody relies on it."""
