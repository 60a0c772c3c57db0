//! The issues of the page.
//!
//! Owns the list that can be read without a script, which is bounded, and the data by which the
//! script shows all of them, by rule and by page, with filters.

use std::io::{self, Write};

use clewline_job::escape;
use clewline_job::report::figures::{count, plural};

use super::data::DataTexts;
use super::{LONGEST_TEXT, page_link, push, target_link};
use crate::forms::groups::{IssueEntry, RuleGroup, Wanted, by_rule};
use crate::forms::words::shortened;
use crate::report::{CheckReport, JudgedFinding};
use crate::rule::Severity;

/// Entries of a rule, entries of all rules and pages of an entry in the list without a script.
const MOST_ENTRIES: usize = 100;
const MOST_LISTED: usize = 2_000;
const MOST_PAGES: usize = 10;
/// Findings in the data; of more than these the worst are kept.
const MOST_FINDINGS: usize = 100_000;

pub(super) fn write(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut text = String::from("<section id=issues><h2>Issues</h2>");
    if report.findings.is_empty() {
        text.push_str("<p class=empty>Nothing to mend.</p></section>");
        return out.write_all(text.as_bytes());
    }
    tools(report, &mut text);
    text.push_str("<div id=list>");
    let mut listed = 0;
    for group in by_rule(report, Wanted::All) {
        rule(&group, &mut listed, &mut text);
        out.write_all(text.as_bytes())?;
        text.clear();
    }
    out.write_all(b"</div><p id=rest class=soft hidden></p>")?;
    let left = report.findings.len().saturating_sub(MOST_FINDINGS);
    if left > 0 {
        let left = count(left as u64);
        write!(
            out,
            "<p class=soft>{left} more findings are left out here; the form jsonl has them all.</p>"
        )?;
    }
    data(report, out)?;
    out.write_all(b"</section>")
}

/// The filters, which the script shows.
fn tools(report: &CheckReport, out: &mut String) {
    out.push_str(
        "<div class=tools id=issue-tools hidden><label>Show <select id=by>\
         <option value=rule>by rule</option><option value=page>by page</option></select></label>\
         <label>Rule <select id=rule><option value=\"\">all</option></select></label>\
         <label>Folder <select id=folder><option value=\"\">all</option></select></label>\
         <label class=wide>Filter <input id=find type=search placeholder=\"URL, text or status\" \
         autocomplete=off spellcheck=false></label><fieldset><legend>Severity</legend>",
    );
    for severity in [Severity::Error, Severity::Warning, Severity::Notice] {
        let name = severity.name();
        let found = count(report.count(severity).all());
        push(
            out,
            format_args!(
                "<label class=chip><input type=checkbox name=severity value={name} checked>\
                 <span class={name}>{}</span> {name}s <span class=soft>{found}</span></label>",
                shape(severity)
            ),
        );
    }
    if report.gone.is_some() {
        out.push_str("<label class=chip><input type=checkbox id=new> new only</label>");
    }
    out.push_str("</fieldset><output id=shown class=soft></output></div>");
}

fn rule(group: &RuleGroup<'_>, listed: &mut usize, out: &mut String) {
    let name = group.severity.name();
    push(
        out,
        format_args!(
            "<h3><span class={name}>{} {name}</span> {} <span class=summary>{}</span>\
             <span class=n>{}</span></h3>",
            shape(group.severity),
            group.rule.id,
            escape::html(group.rule.summary),
            count(group.count.all()),
        ),
    );
    if !group.rule.help.mend.is_empty() {
        push(
            out,
            format_args!("<p class=help>{}</p>", escape::html(group.rule.help.mend)),
        );
    }
    let room = MOST_ENTRIES.min(MOST_LISTED.saturating_sub(*listed));
    for one in group.entries.iter().take(room) {
        *listed += 1;
        entry(one, out);
    }
    let left = group.entries.len().saturating_sub(room) as u64;
    if left > 0 {
        let left = count(left);
        push(
            out,
            format_args!("<p class=soft>and {left} more, which the script of this page shows</p>"),
        );
    }
}

fn entry(entry: &IssueEntry<'_>, out: &mut String) {
    let one = entry.first();
    out.push_str("<div class=entry><p class=what>");
    if entry.is_of_page() {
        page_link(&one.finding.page, out);
    } else {
        target_link(entry.about(), out);
    }
    evidence(one, out);
    out.push_str("</p>");
    if let Some(mend) = &one.finding.mend {
        out.push_str("<p class=mend>write ");
        target_link(mend, out);
        out.push_str("</p>");
    }
    out.push_str("<ul class=places>");
    let mut named = 0;
    if entry.is_of_page() {
        named = 1;
    } else {
        for one in entry.findings.iter().take(MOST_PAGES) {
            named += 1;
            place(one, out);
        }
    }
    for page in entry.samples().take(MOST_PAGES) {
        named += 1;
        out.push_str("<li>");
        page_link(page, out);
        out.push_str("</li>");
    }
    let left = entry.count.all().saturating_sub(named);
    if left > 0 {
        let left = plural(left, "other page");
        push(out, format_args!("<li class=soft>and {left}</li>"));
    }
    out.push_str("</ul></div>");
}

fn evidence(one: &JudgedFinding, out: &mut String) {
    let text = shortened(&one.finding.evidence, LONGEST_TEXT).into_owned();
    push(
        out,
        format_args!(
            " <span class=evidence><bdi>{}</bdi></span>",
            escape::html(&text)
        ),
    );
    if one.known {
        out.push_str(" <span class=badge>known</span>");
    }
}

/// The page, the line and the words of a link.
fn place(one: &JudgedFinding, out: &mut String) {
    out.push_str("<li>");
    page_link(&one.finding.page, out);
    if let Some(place) = one.finding.place.as_ref().filter(|place| place.line > 0) {
        push(
            out,
            format_args!(" <span class=soft>line {}</span>", place.line),
        );
        if !place.text.is_empty() {
            let text = shortened(&place.text, LONGEST_TEXT).into_owned();
            push(
                out,
                format_args!(" <q><bdi>{}</bdi></q>", escape::html(&text)),
            );
        }
    }
    if let Some(file) = &one.file {
        push(out, format_args!(" <code>{}</code>", escape::html(file)));
    }
    out.push_str("</li>");
}

/// The findings for the script: texts once, and rows of their numbers.
fn data(report: &CheckReport, out: &mut dyn Write) -> io::Result<()> {
    let mut texts = DataTexts::default();
    let mut rules: Vec<&str> = Vec::new();
    out.write_all(b"<script type=application/json id=findings>{\"rows\":[")?;
    for (at, one) in report.findings.iter().take(MOST_FINDINGS).enumerate() {
        let finding = &one.finding;
        // Findings of a rule stand together, so a new rule is always the next one.
        if rules.last() != Some(&finding.rule.id) {
            rules.push(finding.rule.id);
        }
        let place = finding.place.as_ref();
        let numbers = [
            rules.len() - 1,
            texts.number(finding.page.as_str()),
            texts.optional(finding.target.as_deref().or(finding.subject.as_deref())),
            texts.number(&shortened(&finding.evidence, LONGEST_TEXT)),
            place.map_or(0, |place| place.line as usize),
            texts.optional(
                place
                    .map(|place| shortened(&place.text, LONGEST_TEXT))
                    .as_deref(),
            ),
            texts.optional(finding.mend.as_deref()),
            usize::try_from(finding.count).unwrap_or(usize::MAX),
            usize::from(one.known),
            texts.optional(one.file.as_deref()),
        ];
        let samples = finding.samples.iter();
        let numbers = numbers
            .into_iter()
            .chain(samples.map(|page| texts.number(page.as_str())));
        let row: Vec<String> = numbers.map(|number| number.to_string()).collect();
        out.write_all(if at == 0 { b"\n[" } else { b",\n[" })?;
        out.write_all(row.join(",").as_bytes())?;
        out.write_all(b"]")?;
    }
    out.write_all(b"],\"rules\":[")?;
    for (at, id) in rules.iter().enumerate() {
        let mut known = report.rules.iter();
        let found = known.find(|(rule, _)| rule.id == *id);
        let (rule, severity) = found.expect("findings are of rules that were asked");
        let texts = [rule.id, severity.name(), rule.summary, rule.help.mend];
        let comma = if at == 0 { "" } else { "," };
        let row = serde_json::to_string(&texts)?.replace('<', "\\u003c");
        write!(out, "{comma}{row}")?;
    }
    out.write_all(b"],\"texts\":")?;
    texts.write(out)?;
    out.write_all(b"}</script>")
}

/// Severities differ by shape as well as by colour.
const fn shape(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "■",
        Severity::Warning => "▲",
        Severity::Notice => "●",
    }
}
