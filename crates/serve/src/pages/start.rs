//! The form that starts a crawl.
//!
//! Owns its HTML. Refuses to know settings beyond their names. Invariant: what was typed stands in
//! the form again, beside what is wrong with it.

use clewline_job::escape;
use clewline_job::look::Icon;

use super::element::{button, opening, push};
use super::outside;

/// A field of the form beside the URL.
#[derive(Debug, Clone)]
pub struct StartField {
    /// The setting: `max-pages`, `rate`, `scope`.
    pub name: &'static str,
    /// What people read.
    pub label: &'static str,
    /// What was typed.
    pub value: String,
    /// An example.
    pub example: &'static str,
    /// Values to choose from; any text if there are none.
    pub choices: Vec<&'static str>,
}

/// The form that starts a crawl.
#[derive(Debug, Clone)]
pub struct StartPage {
    /// The URL that was typed.
    pub url: String,
    /// The name of the new job that was typed.
    pub name: String,
    /// The other fields.
    pub fields: Vec<StartField>,
    /// Presets of the server, by name.
    pub presets: Vec<String>,
    /// What is wrong with what was typed.
    pub problems: Vec<String>,
}

impl StartPage {
    /// The document.
    pub fn html(&self) -> String {
        let more = "It is polite by default, and goes on if this page or the server ends.";
        let mut main = opening("Start a crawl.", more);
        if !self.problems.is_empty() {
            main.push_str("<div role=alert><ul class=\"notes bad\">");
            for problem in &self.problems {
                push(
                    &mut main,
                    format_args!("<li>{}</li>", escape::html(problem)),
                );
            }
            main.push_str("</ul></div>");
        }
        push(
            &mut main,
            format_args!(
                "<section><form class=long method=post action=/start>\
                 <label>URL <input name=url value=\"{}\" placeholder=\"https://example.com/\" \
                 required autofocus autocomplete=off inputmode=url spellcheck=false></label>\
                 <label>Name <input name=name value=\"{}\" placeholder=\"example.com\" \
                 pattern=\"[a-z0-9.\\-]{{1,64}}\" autocomplete=off spellcheck=false></label>",
                escape::html(&self.url),
                escape::html(&self.name)
            ),
        );
        if !self.presets.is_empty() {
            let presets: Vec<&str> = self.presets.iter().map(String::as_str).collect();
            chosen("preset", "Preset", "", &presets, &mut main);
        }
        for field in &self.fields {
            if field.choices.is_empty() {
                push(
                    &mut main,
                    format_args!(
                        "<label>{} <input name=\"{}\" value=\"{}\" placeholder=\"{}\" \
                         autocomplete=off spellcheck=false></label>",
                        escape::html(field.label),
                        escape::html(field.name),
                        escape::html(&field.value),
                        escape::html(field.example)
                    ),
                );
            } else {
                chosen(
                    field.name,
                    field.label,
                    &field.value,
                    &field.choices,
                    &mut main,
                );
            }
        }
        push(
            &mut main,
            format_args!(
                "<p class=buttons>{}<a class=button href=/>Not now</a></p></form></section>",
                button(Icon::Play, "Start", "class=strong")
            ),
        );
        outside("Start a crawl", &main)
    }
}

fn chosen(name: &str, label: &str, value: &str, choices: &[&str], out: &mut String) {
    push(
        out,
        format_args!(
            "<label>{} <select name=\"{}\"><option value=\"\">default</option>",
            escape::html(label),
            escape::html(name)
        ),
    );
    for choice in choices {
        let selected = if *choice == value { " selected" } else { "" };
        let choice = escape::html(choice);
        push(
            out,
            format_args!("<option value=\"{choice}\"{selected}>{choice}</option>"),
        );
    }
    out.push_str("</select></label>");
}
