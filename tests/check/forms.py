"""Reads the findings of samples as others do.

    forms.py FOLDER MULTITOOL SCHEMA XSD

FOLDER holds one file of each form for each sample. SARIF is judged by its schema and by the tool of
the format's authors, JUnit by the schema of Jenkins and by junitparser, GitLab's form by what its
documentation says, CSV by Python's reader, and Markdown and annotations by their limits.
"""

import csv
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import junitparser
import lxml.etree

# https://docs.gitlab.com/ci/testing/code_quality/ (code quality report format).
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^(?!\\./|/|[a-z]+://)."},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}


def sarif(path, multitool, schema):
    file = json.loads(path.read_text())
    jsonschema.Draft4Validator(schema).validate(file)
    done = subprocess.run(
        [multitool, "validate", str(path), "--log", "ForceOverwrite", "--max-file-size-in-kb", "100000", "--output", str(path) + ".log"],
        capture_output=True,
        text=True,
        env={"DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "PATH": "/usr/bin:/bin", "HOME": str(path.parent)},
    )
    log = json.loads(pathlib.Path(str(path) + ".log").read_text())
    errors = [one for one in log["runs"][0].get("results", []) if one.get("level") == "error"]
    assert not errors, errors[:3]
    assert done.returncode == 0, (done.stdout[-500:], done.stderr[-500:])
    results = file["runs"][0]["results"]
    prints = [one["partialFingerprints"]["clewline/v1"] for one in results]
    return len(set(prints)), len(results)


def gitlab(path):
    issues = json.loads(path.read_text())
    jsonschema.Draft202012Validator(GITLAB).validate(issues)
    prints = {one["fingerprint"] for one in issues}
    assert len(prints) == len(issues), "GitLab drops findings with equal fingerprints"
    return len(issues)


def junit(path, xsd):
    document = lxml.etree.parse(str(path))
    xsd.assertValid(document)
    suites = junitparser.JUnitXml.fromfile(str(path))
    cases = [case for suite in suites for case in suite]
    failures = sum(any(isinstance(one, junitparser.Failure) for one in case.result) for case in cases)
    skipped = sum(any(isinstance(one, junitparser.Skipped) for one in case.result) for case in cases)
    root = document.getroot()
    assert int(root.get("tests")) == len(cases), (root.get("tests"), len(cases))
    assert int(root.get("failures")) == failures
    for suite in suites:
        assert suite.tests == len(list(suite)), suite.name
    return len(cases), failures, skipped


def table(path):
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    for row in rows:
        assert None not in row and None not in row.values(), row
        for value in row.values():
            assert not value.startswith(("=", "+", "@")), value
    return len(rows)


def annotations(path):
    lines = path.read_text().splitlines()
    kinds = {"error": 0, "warning": 0}
    shape = re.compile(r"^::(error|warning) file=[^:,]+,line=\d+,col=\d+,title=[^:,]+::.+$")
    for line in lines:
        kind = shape.match(line)
        assert kind, line
        kinds[kind[1]] += 1
    assert max(kinds.values()) <= 10, kinds
    return len(lines)


def main(folder, multitool, schema, xsd):
    folder = pathlib.Path(folder)
    schema = json.loads(pathlib.Path(schema).read_text(encoding="utf-8-sig"))
    xsd = lxml.etree.XMLSchema(lxml.etree.parse(xsd))
    samples = sorted(path.stem for path in folder.glob("*.sarif"))
    assert len(samples) >= 4, samples
    for name in samples:
        of = lambda form: folder / f"{name}.{form}"
        lines = of("jsonl").read_text().splitlines()
        findings = [json.loads(line) for line in lines]
        whole = json.loads(of("json").read_text())
        assert whole["findings"] == findings
        prints, results = sarif(of("sarif"), multitool, schema)
        assert results == min(len(findings), 25_000), (results, len(findings))
        issues = gitlab(of("gitlab"))
        assert issues == min(len(findings), 25_000)
        cases, failures, skipped = junit(of("junit"), xsd)
        rows = table(of("csv"))
        assert rows == len(findings), (rows, len(findings))
        size = of("markdown").stat().st_size
        assert size <= 64 * 1024, size
        shown = annotations(of("github"))
        print(
            f"{name}: {len(findings)} findings; SARIF {results} results, {prints} fingerprints; "
            f"GitLab {issues}; JUnit {cases} cases, {failures} failed, {skipped} skipped; "
            f"CSV {rows}; Markdown {size} bytes; GitHub {shown} annotations"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
