"""Two extracts of one census with common categories: the ten attributes that the census and adult tables share."""

from __future__ import annotations

import pandas as pd

# Column of the census table: column of adult, whose names are used.
SHARED = {
    "age": "age",
    "class of worker": "workclass",
    "education": "education",
    "marital stat": "marital-status",
    "major occupation code": "occupation",
    "race": "race",
    "sex": "sex",
    "capital gains": "capital-gain",
    "capital losses": "capital-loss",
    "country of birth self": "native-country",
}
# "?" in adult is "not in universe" in the census: the question did not apply. The country's "?" is the same in both.
WORDS: dict[str, dict[str, str]] = {
    "workclass": {
        "Not in universe": "?",
        "Self-employed-not incorporated": "Self-emp-not-inc",
        "Self-employed-incorporated": "Self-emp-inc",
        "Local government": "Local-gov",
        "Federal government": "Federal-gov",
        "State government": "State-gov",
        "Never worked": "Never-worked",
        "Without pay": "Without-pay",
    },
    "education": {
        "Less than 1st grade": "Preschool",
        "1st 2nd 3rd or 4th grade": "1st-4th",
        "5th or 6th grade": "5th-6th",
        "7th and 8th grade": "7th-8th",
        "9th grade": "9th",
        "10th grade": "10th",
        "11th grade": "11th",
        "12th grade no diploma": "12th",
        "High school graduate": "HS-grad",
        "Some college but no degree": "Some-college",
        "Associates degree-academic program": "Assoc-acdm",
        "Associates degree-occup /vocational": "Assoc-voc",
        "Bachelors degree(BA AB BS)": "Bachelors",
        "Masters degree(MA MS MEng MEd MSW MBA)": "Masters",
        "Prof school degree (MD DDS DVM LLB JD)": "Prof-school",
        "Doctorate degree(PhD EdD)": "Doctorate",
    },
    "marital-status": {
        "Never married": "Never-married",
        "Married-civilian spouse present": "Married-civ-spouse",
        "Married-spouse absent": "Married-spouse-absent",
        "Married-A F spouse present": "Married-AF-spouse",
    },
    "occupation": {
        "Not in universe": "?",
        "Precision production craft & repair": "Craft-repair",
        "Professional specialty": "Prof-specialty",
        "Executive admin and managerial": "Exec-managerial",
        "Handlers equip cleaners etc": "Handlers-cleaners",
        "Adm support including clerical": "Adm-clerical",
        "Machine operators assmblrs & inspctrs": "Machine-op-inspct",
        "Other service": "Other-service",
        "Private household services": "Priv-house-serv",
        "Technicians and related support": "Tech-support",
        "Transportation and material moving": "Transport-moving",
        "Farming forestry and fishing": "Farming-fishing",
        "Protective services": "Protective-serv",
        "Armed Forces": "Armed-Forces",
    },
    "race": {
        "Asian or Pacific Islander": "Asian-Pac-Islander",
        "Amer Indian Aleut or Eskimo": "Amer-Indian-Eskimo",
    },
    "native-country": {
        "South Korea": "South",
        "Hong Kong": "Hong",
        "Outlying-U S (Guam USVI etc)": "Outlying-US(Guam-USVI-etc)",
    },
}
INCOME = {"- 50000.": "<=50K", "50000+.": ">50K"}


def in_words_of_adult(census: pd.DataFrame) -> pd.DataFrame:
    """Return the shared attributes and the income of the census table, with the categories of adult."""
    table = census[list(SHARED)].rename(columns=SHARED)
    for name, words in WORDS.items():
        table[name] = table[name].str.strip().replace(words)
    return table.assign(income=census["income"].str.strip().map(INCOME))


def of_1994(census: pd.DataFrame) -> pd.Series:
    """Return a mask of the paper's records: the train split of one year."""
    return (census["split"] == "train") & (census["year"] == 94)
