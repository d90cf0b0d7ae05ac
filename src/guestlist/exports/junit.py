"""Gate result as JUnit XML, which CI systems show as tests. It names no member."""

from __future__ import annotations

from xml.etree import ElementTree

from guestlist.findings.gated import Gated
from guestlist.report.gate import GateLine, gate_lines

SUITE = "guestlist gate"


def junit(gated: Gated) -> str:
    """A test for each limit, each demand and each open check; one that is ignored is skipped."""
    lines = gate_lines(gated)
    counts = {
        "tests": str(len(lines)),
        "failures": str(sum(not line.passed for line in lines)),
        "skipped": str(sum(line.ignored for line in lines)),
    }
    every = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(every, "testsuite", {"name": SUITE, **counts})
    for line in lines:
        _add(suite, line)
    ElementTree.indent(every)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(every, encoding="unicode")}\n'


def _add(suite: ElementTree.Element, line: GateLine) -> None:
    test = ElementTree.SubElement(suite, "testcase", classname=SUITE, name=line.requirement)
    if line.ignored:
        ElementTree.SubElement(test, "skipped", message=line.result)
    elif line.passed:
        ElementTree.SubElement(test, "system-out").text = line.result
    else:
        ElementTree.SubElement(test, "failure", message=line.result)
