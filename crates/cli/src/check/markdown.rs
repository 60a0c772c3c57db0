//! Markdown as a page that can be checked like any other.
//!
//! Owns the way from a document to HTML that says only what a check asks: links, images, headings with
//! the anchors that GitHub gives them, and the HTML that stands in it. It refuses to know files.
//! Invariant: whatever begins in a line of the document stands in the same line of the page, so that
//! findings name the line of the source.

use std::fmt::Write as _;

use clewline_html::references::escaped_text;
use comrak::nodes::{AstNode, NodeValue};
use comrak::{Anchorizer, Arena, Options, parse_document};

/// What is made of a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MarkdownPart {
    /// Everything that a check asks.
    Whole,
    /// The anchors alone: the document is not checked, and others link to it.
    Anchors,
}

/// Makes a page of a document. `place` says where a link from it leads.
pub(crate) fn page(
    text: &str,
    part: MarkdownPart,
    place: &dyn Fn(&str) -> Option<String>,
) -> String {
    let mut options = Options::default();
    options.extension.autolink = true;
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.tasklist = true;
    options.extension.footnotes = true;
    options.extension.alerts = true;
    options.extension.front_matter_delimiter = Some("---".to_owned());
    let arena = Arena::new();
    let root = parse_document(&arena, text, &options);
    let mut writer = PageWriter {
        page: "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">".to_owned(),
        line: 1,
        part,
        place,
        anchors: Anchorizer::new(),
    };
    let title = root.descendants().find(|node| {
        let value = &node.data.borrow().value;
        matches!(value, NodeValue::Heading(_))
    });
    let title = title.map_or_else(String::new, words);
    let _ = write!(writer.page, "<title>{}</title><body>", escaped_text(&title));
    writer.node(root);
    writer.page
}

struct PageWriter<'a> {
    page: String,
    /// The line that is being written.
    line: usize,
    part: MarkdownPart,
    place: &'a dyn Fn(&str) -> Option<String>,
    anchors: Anchorizer,
}

impl PageWriter<'_> {
    fn node<'n>(&mut self, node: &'n AstNode<'n>) {
        let data = node.data.borrow();
        self.go_to(data.sourcepos.start.line);
        let end = match &data.value {
            NodeValue::Heading(heading) => {
                let id = self.anchors.anchorize(&words(node));
                let level = heading.level;
                let _ = write!(self.page, "<h{level} id=\"{}\">", escaped_text(&id));
                format!("</h{level}>")
            }
            NodeValue::Link(link) if self.part == MarkdownPart::Whole => {
                self.element("a href", &link.url);
                "</a>".to_owned()
            }
            NodeValue::Image(image) if self.part == MarkdownPart::Whole => {
                self.element("img alt=\"\" src", &image.url);
                return;
            }
            NodeValue::HtmlBlock(block) => {
                self.html(&block.literal);
                return;
            }
            NodeValue::HtmlInline(html) => {
                self.html(html);
                return;
            }
            NodeValue::Text(text) => {
                self.page.push_str(&escaped_text(text));
                String::new()
            }
            NodeValue::Code(code) => {
                let literal = code.literal.replace('\n', " ");
                let _ = write!(self.page, "<code>{}</code>", escaped_text(&literal));
                String::new()
            }
            NodeValue::SoftBreak | NodeValue::LineBreak => {
                self.page.push(' ');
                String::new()
            }
            NodeValue::Paragraph | NodeValue::Item(_) | NodeValue::TableCell => " ".to_owned(),
            _ => String::new(),
        };
        drop(data);
        for child in node.children() {
            self.node(child);
        }
        self.page.push_str(&end);
    }

    /// An element whose attribute names a place; where the place cannot be told, nothing stands there.
    fn element(&mut self, start: &str, target: &str) {
        match (self.place)(target) {
            Some(target) => {
                let target = target.replace('\n', " ");
                let _ = write!(
                    self.page,
                    "<{start}=\"{}\">",
                    escaped_text(&target).replace('"', "&quot;")
                );
            }
            None => self.page.push_str("<a>"),
        }
    }

    /// HTML that stands in the document, as it is.
    fn html(&mut self, html: &str) {
        if self.part == MarkdownPart::Whole {
            self.page.push_str(html);
        } else {
            // Its links are not asked, but its anchors are.
            self.page
                .push_str(&html.replace("href", "data-href").replace("src", "data-src"));
        }
        self.line += html.matches('\n').count();
    }

    fn go_to(&mut self, line: usize) {
        while self.line < line {
            self.page.push('\n');
            self.line += 1;
        }
    }
}

/// The words below a node, as a reader sees them.
fn words<'n>(node: &'n AstNode<'n>) -> String {
    let mut words = String::new();
    for below in node.descendants() {
        match &below.data.borrow().value {
            NodeValue::Text(text) => words.push_str(text),
            NodeValue::Code(code) => words.push_str(&code.literal),
            NodeValue::SoftBreak | NodeValue::LineBreak => words.push(' '),
            _ => {}
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(text: &str) -> String {
        page(text, MarkdownPart::Whole, &|target| Some(target.to_owned()))
    }

    #[test]
    fn everything_stands_in_its_line() {
        let check = |text: &str, wanted: &[(usize, &str)]| {
            let page = made(text);
            let lines: Vec<&str> = page.lines().collect();
            for (line, part) in wanted {
                let found = lines.get(line - 1).copied().unwrap_or_default();
                assert!(found.contains(part), "{text:?} line {line}: {page}");
            }
        };
        check(
            "# A\n\n[x](b.md)\n",
            &[(1, "<h1 id=\"a\">"), (3, "<a href=\"b.md\">x</a>")],
        );
        check(
            "one\n[x](b.md)\ntwo\n[y](c.md)\n",
            &[(2, "b.md"), (4, "c.md")],
        );
        check("- a\n- [x][r]\n\n[r]: d.md\n", &[(2, "<a href=\"d.md\">")]);
        check("![pic](p.png)\n", &[(1, "<img alt=\"\" src=\"p.png\">")]);
        check(
            "<p>\n<a href=\"q.html\">q</a>\n</p>\n\n[z](e.md)\n",
            &[(2, "q.html"), (5, "e.md")],
        );
        check(
            "see https://a.test/x now\n",
            &[(1, "<a href=\"https://a.test/x\">")],
        );
        check("---\ntitle: x\n---\n\n[x](b.md)\n", &[(5, "b.md")]);
        check("| a |\n|---|\n| [x](b.md) |\n", &[(3, "b.md")]);
        check("```\n[no](link.md)\n```\n\n[x](b.md)\n", &[(5, "b.md")]);
        assert!(!made("```\n[no](link.md)\n```\n").contains("link.md\""));
    }

    #[test]
    fn headings_have_the_anchors_that_github_gives_them() {
        let check = |heading: &str, expected: &str| {
            let page = made(heading);
            assert!(
                page.contains(&format!("id=\"{expected}\"")),
                "{heading}: {page}"
            );
        };
        check("## What's new in 2.0?", "whats-new-in-20");
        check("## `--fail-on` & more", "--fail-on--more");
        check("## Über uns", "über-uns");
        check("# A\n\n# A\n\n# A\n", "a-2");
        check("# A [link](b.md) here", "a-link-here");
    }

    #[test]
    fn a_document_that_is_only_linked_to_has_anchors_and_no_links() {
        let text = "# A\n\n[x](b.md) <a name=\"n\" href=\"c.md\"></a>\n";
        let page = page(text, MarkdownPart::Anchors, &|target| {
            Some(target.to_owned())
        });
        assert!(
            page.contains("id=\"a\"") && page.contains("name=\"n\""),
            "{page}"
        );
        assert!(!page.contains(" href="), "{page}");
    }

    #[test]
    fn what_would_end_an_attribute_is_escaped() {
        let page = made("[x](<a\" onclick=\"b.md>)\n");
        assert!(
            page.contains("href=\"a&quot; onclick=&quot;b.md\""),
            "{page}"
        );
    }
}
