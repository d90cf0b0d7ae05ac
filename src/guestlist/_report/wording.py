"""Numbers and sentences shared by every form of the report."""

from typing import TYPE_CHECKING, TypeVar

from guestlist._store import from_json, to_json
from guestlist._util import compact, count, decimal, percent, single_line

if TYPE_CHECKING:
    from guestlist._findings import AttackResult, Results, Subject
    from guestlist.defences import Training

LOWER_BOUND = "These numbers are a lower bound: a stronger attack may identify more records."
# The two headline rows.
QUERIER = "Someone who can query the model"
FILE_HOLDER = "Someone who holds the model file"


def question(results: "Results") -> str:
    """Return the question that the audit answers."""
    return f"Can training records of {model_name(results)} be identified?"


def model_name(results: "Results") -> str:
    """Return the name of the audited model."""
    return (results.subject and results.subject.name) or "the model"


def meta_texts(results: "Results") -> list[str]:
    """Return the date, fingerprints and version of an audit, for the head of a page."""
    provenance = results.provenance
    if provenance is None:
        return []
    prints = provenance.fingerprints
    texts = [provenance.date] if provenance.date else []
    texts += [f"{name} {prints[name][:7]}" for name in ("recipe", "data") if name in prints]
    if "guestlist" in provenance.versions:
        texts.append(f"guestlist {provenance.versions['guestlist']}")
    return texts


def attack_title(attack: "AttackResult") -> str:
    """Return the display name of an attack; its name if it is user-defined."""
    return attack.title or attack.name


def cover_lines(results: "Results") -> list[str]:
    """Return the owner's statements on the cover, a line each."""
    if results.cover is None:
        return []
    return [f"{name.capitalize()}: {text}" for name, text in results.cover.entries().items()]


def headline_attack(results: "Results") -> "AttackResult | None":
    """Return the headline attack; None where the results name none."""
    if results.headline is None or not results.outcomes:
        return None
    return results.attack(results.headline.name)


def file_holder_attack(results: "Results") -> "AttackResult | None":
    """Return the headline attack of someone who holds the model file; None where there is none."""
    if results.file_holder is None or not results.outcomes:
        return None
    return results.attack(results.file_holder.name)


def headline_names(results: "Results") -> tuple[str, ...]:
    """Return the names of the attacks of the headline rows."""
    return tuple(row.name for row in (results.headline, results.file_holder) if row is not None)


def basis_sentence(results: "Results") -> str:
    """Report the numbers of records and reference models that the audit rests on."""
    subject = results.subject
    references = results.references
    if subject is None:
        return ""
    measured = f"{_canaries(subject)}Measured on {sizes_phrase(subject)}"
    if references is None:
        return f"{measured}, without reference models."
    models = counted(references.count, "reference model")
    trained = f"{models} trained on about {count(references.records)} records each"
    if results.training is not None and results.training.attacker == "naive":
        trained += " without the defence, of which this attacker does not know"
    return f"{measured}, with {trained}."


def _canaries(subject: "Subject") -> str:
    """Describe the canaries where the audited records are canaries."""
    if subject.canaries is None:
        return ""
    label = only_if(subject.canaries == "wrong", "with a wrong label, ")
    always = ". "
    if subject.always_members:
        always = f"; the other {count(subject.always_members)} records always train. "
    caveat = "They were chosen to be memorised, so more of them are identified than of other records. "
    return f"Members and non-members are canaries: records {label}of which a coin put each in or left it out{always}{caveat}"


def fit_sentence(results: "Results") -> str:
    """Report how well the model fits members and non-members; a difference is a sign of memorisation."""
    subject = results.subject
    if subject is None:
        return ""
    if subject.accuracy_members is not None and subject.accuracy_nonmembers is not None:
        members = percent(subject.accuracy_members)
        nonmembers = percent(subject.accuracy_nonmembers)
        return f"The model is right on {members} of the members and {nonmembers} of the non-members."
    if subject.rmse_members is not None and subject.rmse_nonmembers is not None:
        members = compact(subject.rmse_members)
        nonmembers = compact(subject.rmse_nonmembers)
        return (
            f"The model is off by {members} on members and {nonmembers} on non-members "
            f"(root mean square error{_r2(subject)})."
        )
    return ""


def sizes_phrase(subject: "Subject") -> str:
    """Return the numbers of members and non-members, and of persons where they are known."""
    members = counted(subject.members, "member")
    nonmembers = counted(subject.nonmembers, "non-member")
    if subject.member_persons is not None and subject.nonmember_persons is not None:
        members += f" of {counted(subject.member_persons, 'person')}"
        nonmembers += f" of {counted(subject.nonmember_persons, 'person')}"
    return f"{members} and {nonmembers}"


def counted(number: int, thing: str) -> str:
    """Return a number and a noun in the singular or plural: ``3 members``."""
    return f"{count(number)} {plural(number, thing, f'{thing}s')}"


def plural(number: int, one_form: str, many_form: str) -> str:
    """Return the form of a word or phrase that fits a number."""
    if number == 1:
        return one_form
    return many_form


def only_if(condition: object, text: str) -> str:
    """Return a part of a sentence if a condition holds, else an empty text."""
    if condition:
        return text
    return ""


def and_joined(parts: list[str]) -> str:
    """Join parts of a sentence with commas and "and"."""
    if len(parts) == 1:
        return parts[0]
    return ", ".join(parts[:-1]) + " and " + parts[-1]


def paragraph(*sentences: str | None) -> str:
    """Join the sentences that are not empty."""
    return " ".join(filter(None, sentences))


def _r2(subject: "Subject") -> str:
    if subject.r2_members is None or subject.r2_nonmembers is None:
        return ""
    return f"; R² {decimal(subject.r2_members)} and {decimal(subject.r2_nonmembers)}"


T = TypeVar("T")


def sanitize_results(results: "Results") -> "Results":
    """Return results as results.json holds them, every text on one line and without control characters."""
    return type(results).from_document(_sanitized(results.document()))


def sanitize_value(form: type[T], value: T) -> T:
    """Return a frozen dataclass with every text in it on one line and without control characters."""
    return from_json(form, _sanitized(to_json(value)))


def _sanitized(content):
    if isinstance(content, str):
        return single_line(content)
    if isinstance(content, dict):
        return {single_line(key): _sanitized(value) for key, value in content.items()}
    if isinstance(content, list):
        return [_sanitized(item) for item in content]
    return content


def attacker_phrase(training: "Training | None") -> str:
    """Report whether the attacker knows the defence; empty where the training is unknown."""
    if training is None:
        return ""
    knows = "does not know of the defence"
    if training.attacker == "adaptive":
        knows = "knows the defence"
    return f"{training.attacker} attacker, who {knows}"


def privacy_guarantee(training: "Training | None") -> str:
    """Report the epsilon of a differentially private training; empty for other trainings."""
    if training is None:
        return ""
    trainings = f"{count(training.tried or 1)} trainings"
    searched = (training.tried or 1) > 1
    if training.noise is None:
        if not searched:
            return ""
        return f"chosen from {trainings}"
    if training.noise == 0:
        return "no noise, so no ε is guaranteed"
    if training.epsilon is None or training.delta is None:
        return f"noise {compact(training.noise)}; its ε takes the extra dp"
    epsilon = f"ε = {compact(training.epsilon)} at δ = {compact(training.delta)}"
    if searched:
        return f"{epsilon}: ε of one run; the search for it was not counted ({trainings})"
    return f"{epsilon}, for one training"
