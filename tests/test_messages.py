"""Messages of errors and warnings: all of them are in ``messages.txt``, in plain words and with advice."""

import re

from tests import messages
from tests.prose import IDIOLECT

QUESTION = re.compile(r"\?(?=\s|$)")
OLD_ADVICE = re.compile(r"\b(Give|Mend|Leave(?!-one-out)|OutputTransform|Take)\b")


def test_the_snapshot_of_messages_is_up_to_date():
    assert messages.SNAPSHOT.read_text("utf-8") == messages.snapshot(), "run python -m tests.messages --update"


def test_messages_state_facts_and_advice_in_plain_words():
    texts = [line for line in messages.snapshot().splitlines() if line.startswith(" ")]
    assert len(texts) > 600
    for pattern in (IDIOLECT, QUESTION, OLD_ADVICE):
        assert not [text for text in texts if pattern.search(re.sub("(?i)stand-in", "", text))]


def test_placeholders_and_alternatives_are_collected(tmp_path, monkeypatch):
    module = tmp_path / "example.py"
    module.write_text(
        'def check(rows):\n    reason = "it is empty"\n    if rows.bad:\n        reason = f"row {rows.first!r} is bad"\n'
        '    raise InputError(f"Cannot read {rows.path}: {reason}.")\n'
    )
    monkeypatch.setattr(messages, "SOURCE", tmp_path)
    assert list(messages.module_messages(module)) == [
        "example.py: check\n    InputError: Cannot read {path}: {reason}.\n"
        "        {reason}: it is empty\n        {reason}: row {first} is bad"
    ]
