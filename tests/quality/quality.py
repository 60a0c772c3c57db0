"""Compares the main text of pages with the sources they were made from.

Usage: quality.py READER PACKAGES, where READER prints a line of JSON for each page named on its
standard input and PACKAGES holds the unpacked Debian packages. Prints Markdown tables; ends with
1 if a target is missed. Needs readability-lxml and trafilatura.
"""

import collections
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

import lxml.html
import readability
import trafilatura

MOST_PAGES = 60
FEWEST_WORDS = 120
# Pages whose text is made elsewhere than in their source say nothing about extraction.
GENERATED = re.compile(r"^\s*(\.\. (auto|include|literalinclude|changelog|program-output|glossary"
                       r"|currentmodule:: sqlalchemy)|include::|ifdef::)", re.M)

SPHINX = [
    ("python3.11-doc", "usr/share/doc/python3.11/html", "_sources", ".rst.txt"),
    ("sphinx-doc", "usr/share/doc/sphinx-doc/html", "_sources", ".rst.txt"),
    ("python-flask-doc", "usr/share/doc/python-flask-doc/html", "_sources", ".rst.txt"),
    ("python-sqlalchemy-doc", "usr/share/doc/python-sqlalchemy-doc/html", "../rst", ".rst"),
]
# Pages that nothing was tuned on; they are looked at only as figures.
UNSEEN = ["python-babel-doc", "python-click-doc", "python-jinja2-doc", "python-requests-doc",
          "python-werkzeug-doc"]
SPHINX += [(name, f"usr/share/doc/{name}/html", "_sources", ".rst.txt") for name in UNSEEN]
# The site of the benchmarks: what reading costs is told for it, too.
SITE = "openjdk-17-doc"
SITE_PAGES = 2000
ASCIIDOC = ("git-doc", "usr/share/doc/git-doc")


def pages(packages):
    """(package, page, source) of every page that can be judged, at most MOST_PAGES of each."""
    found = collections.defaultdict(list)
    for name, root, sources, ending in SPHINX:
        root = packages / name / root
        for source in sorted((root / sources).rglob("*" + ending)):
            relative = str(source.relative_to(root / sources))[: -len(ending)]
            found[name].append((root / (relative + ".html"), source))
    name, root = ASCIIDOC
    for source in sorted((packages / name / root).rglob("*.txt")):
        found[name].append((source.with_suffix(".html"), source))
    for name, pairs in found.items():
        judged = []
        for page, source in pairs:
            if not page.is_file():
                continue
            text = source.read_text("utf-8", "replace")
            truth = asciidoc(text) if name == ASCIIDOC[0] else rest(text)
            if not GENERATED.search(text) and len(words(truth)) >= FEWEST_WORDS:
                judged.append((name, page, text, truth))
        step = max(1, -(-len(judged) // MOST_PAGES))
        yield from judged[::step]


def rest(text):
    """The words of reStructuredText that a reader of the page sees."""
    lines, skipped = [], None
    for line in text.splitlines():
        depth = len(line) - len(line.lstrip())
        if skipped is not None:
            if not line.strip() or depth > skipped:
                continue
            skipped = None
        directive = re.match(r"\s*\.\. ([\w:+-]+)::(.*)", line)
        if directive:
            name, arguments = directive.groups()
            if name in ("toctree", "image", "index", "highlight", "raw", "only", "meta",
                        "tabularcolumns", "currentmodule", "sectionauthor", "moduleauthor"):
                skipped = depth
            elif not re.search("code|image|figure|sourcecode|module|class$|list-table|math", name):
                lines.append(arguments)
            elif name.endswith("class"):
                lines.append(arguments)
            continue
        if re.match(r"\s*\.\.( |$)", line):
            if not re.match(r"\s*\.\. \[", line):
                skipped = depth
                continue
        if re.match(r"\s*:[\w -]+:(\s|$)", line) and not re.match(r"\s*:(param|return|raise|type)", line):
            continue
        lines.append(line)
    text = "\n".join(lines)
    text = re.sub(r"\|([^|\n]+)\|", r"\1", text)
    text = re.sub(r":[\w:+-]+:`[~!]?([^`<]*?)\s*<[^`>]*>`", r"\1", text)
    text = re.sub(r":[\w:+-]+:`~(?:[\w.]*\.)?([^`]*)`", r"\1", text)
    text = re.sub(r":[\w:+-]+:`!?([^`]*)`", r"\1", text)
    return re.sub(r"`([^`<]*?)\s*<[^`>]*>`_+", r"\1", text)


def asciidoc(text):
    """The words of AsciiDoc that a reader of the page sees."""
    text = re.sub(r"(?m)^(//.*|\[.*\]|:[\w!-]+:.*|(-|=|\.|_|\*|\+|/){4,}|ifndef::.*|endif::.*)$", "", text)
    text = re.sub(r"link:(\S+?)\[([^]]*)\]", lambda link: link[2] or link[1], text)
    return text.replace("{litdd}", "--").replace("{asterisk}", "*").replace("{caret}", "^")


def words(text):
    return re.findall(r"[^\W_]+", text.lower())


def f1(found, truth):
    found, truth = collections.Counter(words(found)), collections.Counter(words(truth))
    common = sum((found & truth).values())
    if not common:
        return 0.0
    precision, recall = common / sum(found.values()), common / sum(truth.values())
    return 2 * precision * recall / (precision + recall)


def by_readability(html):
    body = readability.Document(html).summary()
    return lxml.html.fromstring(body).text_content() if body.strip() else ""


def by_trafilatura(html):
    return trafilatura.extract(html, include_comments=False) or ""


def timed(read, pages):
    texts, began = [], time.process_time()
    for html in pages:
        try:
            texts.append(read(html))
        except Exception as error:  # A rival that breaks on a page has not read it.
            print(f"{read.__name__}: {error!r}", file=sys.stderr)
            texts.append("")
    return texts, time.process_time() - began


def structure(source):
    """Headings, code blocks, tables and outward links of reStructuredText."""
    heading = re.findall(r"(?m)^\S.*\n([=\-~^\"*+#'.`])\1{2,}\s*$", source)
    code = re.findall(r"(?m)^\s*\.\. (?:code-block|sourcecode|code)::|^(?!\s*\.\.).*::\s*\n\s*\n", source)
    tables = re.findall(r"(?m)^\s*\.\. (?:list|csv)-table::|^\s*\n\s*(?:=+(?: +=+)+|\+[-+]+\+)\s*$", source)
    links = set(re.findall(r"<(https?://[^>\s]+)>`_", source))
    return len(heading), len(code), len(tables), links


def kept(pages, markdowns):
    shares = collections.defaultdict(list)
    for (name, _, source, _), markdown in zip(pages, markdowns):
        if name == ASCIIDOC[0]:
            continue
        headings, code, tables, links = structure(source)
        outside = re.sub(r"(?ms)^\s*(```+).*?^\s*\1", "", markdown)
        found = {
            "headings": (len(re.findall(r"(?m)^\s*#+ ", outside)), headings),
            "code blocks": (len(re.findall(r"(?m)^\s*```", markdown)) // 2, code),
            "tables": (len(re.findall(r"(?m)^\s*\|(?: *:?-+:? *\|)+\s*$", markdown)), tables),
            "outward links": (sum(link.rstrip("/") in markdown for link in links), len(links)),
        }
        for what, (is_there, wanted) in found.items():
            if wanted:
                shares[what].append(min(is_there, wanted) / wanted)
    return {what: statistics.mean(values) for what, values in shares.items()}


def read(reader, files):
    """What the reader says of each file."""
    names = "".join(f"{name}\n" for name in files)
    ran = subprocess.run([reader], input=names, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in ran.stdout.splitlines()]


def site(reader, folder):
    """Bytes, pages per second for metadata and plain text, and with main text and Markdown."""
    files = sorted((folder / SITE).rglob("*.html"))
    files = files[:: -(-len(files) // SITE_PAGES)]
    said = read(reader, files)
    size = statistics.mean(name.stat().st_size for name in files)
    return (size, len(said) / sum(one["skim"] for one in said),
            len(said) / sum(one["seconds"] for one in said))


def main():
    reader, folder = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    chosen = list(pages(folder))
    htmls = [page.read_text("utf-8", "replace") for _, page, _, _ in chosen]
    ours = read(reader, [page for _, page, _, _ in chosen])
    results = {"clewline": ([one["text"] for one in ours], sum(one["seconds"] for one in ours))}
    results["readability-lxml"] = timed(by_readability, htmls)
    results["trafilatura"] = timed(by_trafilatura, htmls)
    packages = list(dict.fromkeys(name for name, _, _, _ in chosen))
    print("| main text, mean F1 | pages | " + " | ".join(results) + " |")
    print("|---|---:|" + "---:|" * len(results))
    means = {}
    scores = {who: [f1(text, page[3]) for text, page in zip(texts, chosen)]
              for who, (texts, _) in results.items()}
    groups = {package: [package] for package in packages}
    groups |= {"never looked at": UNSEEN, "all": packages}
    for package, members in groups.items():
        rows = [index for index, page in enumerate(chosen) if page[0] in members]
        means = {who: statistics.mean(scores[who][row] for row in rows) for who in results}
        cells = " | ".join(f"{mean:.3f}" for mean in means.values())
        print(f"| {package} | {len(rows)} | {cells} |")
    rates = {who: len(chosen) / seconds for who, (_, seconds) in results.items()}
    print("| pages per second and core | | " + " | ".join(f"{rate:.0f}" for rate in rates.values()) + " |")
    skim = len(chosen) / sum(one["skim"] for one in ours)
    size = sum(map(len, htmls)) / len(htmls) / 1000
    print(f"\nA page has {size:.0f} kB on average. Metadata and plain text alone: {skim:.0f} pages per second.\n")
    site_size, site_skim, site_whole = site(reader, folder)
    print(f"On the documentation site ({SITE}, {site_size / 1000:.0f} kB a page): metadata and plain text "
          f"{site_skim:.0f} pages per second and core, with main text {site_whole:.0f}.\n")
    markdown = {"clewline": [one["markdown"] for one in ours], "trafilatura": timed(
        lambda html: trafilatura.extract(html, output_format="markdown", include_links=True,
                                         include_comments=False) or "", htmls)[0]}
    shares = {who: kept(chosen, texts) for who, texts in markdown.items()}
    print("| kept in Markdown | " + " | ".join(shares) + " |\n|---|" + "---:|" * len(shares))
    for what in shares["clewline"]:
        print(f"| {what} | " + " | ".join(f"{share[what]:.0%}" for share in shares.values()) + " |")
    if "--worst" in sys.argv:
        gaps = sorted(range(len(chosen)), key=lambda row: scores["clewline"][row])
        for row in gaps[:25]:
            print(" ".join(f"{scores[who][row]:.2f}" for who in scores), chosen[row][1], file=sys.stderr)
    targets = [means["clewline"] >= means["readability-lxml"],
               means["clewline"] >= means["trafilatura"] - 0.03,
               rates["clewline"] >= 10 * rates["trafilatura"],
               site_skim >= 1000, site_whole >= 300]
    sys.exit(0 if all(targets) and len(chosen) >= 200 and len(packages) >= 5 else 1)


main()
