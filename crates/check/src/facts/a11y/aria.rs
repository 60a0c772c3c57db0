//! Roles and attributes of ARIA.
//!
//! Owns the lists of WAI-ARIA 1.2 and of its modules for publishing and graphics. It refuses to know
//! what a role does.

use super::Marks;
use super::known::ROLE;
use crate::facts::element::Element;

/// Roles that an author may give.
#[rustfmt::skip]
const ROLES: [&str; 136] = [
    "alert", "alertdialog", "application", "article", "banner", "blockquote", "button", "caption",
    "cell", "checkbox", "code", "columnheader", "combobox", "comment", "complementary",
    "contentinfo", "definition", "deletion", "dialog", "directory", "document", "emphasis", "feed",
    "figure", "form", "generic", "grid", "gridcell", "group", "heading", "image", "img", "insertion",
    "link", "list", "listbox", "listitem", "log", "main", "mark", "marquee", "math", "menu",
    "menubar", "menuitem", "menuitemcheckbox", "menuitemradio", "meter", "navigation", "none",
    "note", "option", "paragraph", "presentation", "progressbar", "radio", "radiogroup", "region",
    "row", "rowgroup", "rowheader", "scrollbar", "search", "searchbox", "separator", "slider",
    "spinbutton", "status", "strong", "subscript", "suggestion", "superscript", "switch", "tab",
    "table", "tablist", "tabpanel", "term", "text", "textbox", "time", "timer", "toolbar", "tooltip",
    "tree", "treegrid", "treeitem",
    "doc-abstract", "doc-acknowledgments", "doc-afterword", "doc-appendix", "doc-backlink",
    "doc-biblioentry", "doc-bibliography", "doc-biblioref", "doc-chapter", "doc-colophon",
    "doc-conclusion", "doc-cover", "doc-credit", "doc-credits", "doc-dedication", "doc-endnote",
    "doc-endnotes", "doc-epigraph", "doc-epilogue", "doc-errata", "doc-example", "doc-footnote",
    "doc-foreword", "doc-glossary", "doc-glossref", "doc-index", "doc-introduction", "doc-noteref",
    "doc-notice", "doc-pagebreak", "doc-pagefooter", "doc-pageheader", "doc-pagelist", "doc-part",
    "doc-preface", "doc-prologue", "doc-pullquote", "doc-qna", "doc-subtitle", "doc-tip", "doc-toc",
    "graphics-document", "graphics-object", "graphics-symbol",
    "associationlist", "associationlistitemkey", "associationlistitemvalue", "sectionheader",
    "sectionfooter",
];

/// Attributes that begin with `aria-`, without that.
#[rustfmt::skip]
const ATTRIBUTES: [&str; 54] = [
    "activedescendant", "atomic", "autocomplete", "braillelabel", "brailleroledescription", "busy",
    "checked", "colcount", "colindex", "colindextext", "colspan", "controls", "current",
    "describedby", "description", "details", "disabled", "dropeffect", "errormessage", "expanded",
    "flowto", "grabbed", "haspopup", "hidden", "invalid", "keyshortcuts", "label", "labelledby",
    "level", "live", "modal", "multiline", "multiselectable", "orientation", "owns", "placeholder",
    "posinset", "pressed", "readonly", "relevant", "required", "roledescription", "rowcount",
    "rowindex", "rowindextext", "rowspan", "selected", "setsize", "sort", "valuemax", "valuemin",
    "valuenow", "valuetext", "virtualcontent",
];

/// Attributes whose words are ids.
const REFERRING: [&str; 8] = [
    "activedescendant",
    "controls",
    "describedby",
    "details",
    "errormessage",
    "flowto",
    "labelledby",
    "owns",
];

/// The role that an element says it has: the first of its words that is one.
pub(super) fn role_of(words: &str) -> Option<&'static str> {
    let mut words = words.split_ascii_whitespace();
    words.find_map(|word| {
        ROLES
            .into_iter()
            .find(|role| word.eq_ignore_ascii_case(role))
    })
}

/// The name of an attribute behind `aria-`.
pub(super) fn aria_name(name: &str) -> Option<&str> {
    let prefix = name.get(.."aria-".len())?;
    prefix
        .eq_ignore_ascii_case("aria-")
        .then(|| &name["aria-".len()..])
}

/// Whether the words of an attribute are ids of other elements.
pub(super) fn is_referring(aria_name: &str) -> bool {
    let mut names = REFERRING.iter();
    names.any(|name| aria_name.eq_ignore_ascii_case(name))
}

/// `aria-roles` and `aria-valid-attr`.
pub(super) fn judge(element: &Element<'_, '_>, marks: &mut Marks) {
    if let Some(role) = element.value(ROLE)
        && !is_role(&role)
    {
        marks.push("a11y/aria-roles", element.byte, role.trim());
    }
    for (_, name, _) in element.attributes {
        let Some(own) = aria_name(name) else { continue };
        if !ATTRIBUTES
            .iter()
            .any(|known| own.eq_ignore_ascii_case(known))
        {
            marks.push("a11y/aria-valid-attr", element.byte, name);
        }
    }
}

/// Whether a `role` is good: one role, or the pair that says the same twice for old readers.
fn is_role(words: &str) -> bool {
    let mut words = words.split_ascii_whitespace();
    match (words.next(), words.next(), words.next()) {
        (None, ..) => true,
        (Some(role), None, _) => role_of(role).is_some(),
        (Some(one), Some(other), None) => {
            let is = |word: &str, name: &str| word.eq_ignore_ascii_case(name);
            is(one, "none") && is(other, "presentation")
                || is(one, "presentation") && is(other, "none")
        }
        _ => false,
    }
}
