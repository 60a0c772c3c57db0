//! A page with one sentence: an error, a refusal, something that is not there.
//!
//! Owns its HTML. Refuses to know why it is shown.

use clewline_job::escape;

use super::element::{opening, push};
use super::outside;

/// One sentence, and what to do next.
#[derive(Debug, Clone)]
pub struct MessagePage {
    /// The title: `Not in the archive`, `Not answered`.
    pub title: String,
    /// What happened, as a sentence with its end.
    pub sentence: String,
    /// What it is about, shown as code: a URL, a name; may be empty.
    pub subject: String,
    /// What to do next: a word and where it leads.
    pub next: Option<(String, String)>,
}

impl MessagePage {
    /// The document.
    pub fn html(&self) -> String {
        let mut main = opening(&self.title, "");
        main.push_str("<section>");
        if !self.sentence.is_empty() {
            push(
                &mut main,
                format_args!("<p>{}</p>", escape::html(&self.sentence)),
            );
        }
        if !self.subject.is_empty() {
            push(
                &mut main,
                format_args!(
                    "<p><code class=url><bdi>{}</bdi></code></p>",
                    escape::html(&self.subject)
                ),
            );
        }
        if let Some((word, link)) = &self.next {
            push(
                &mut main,
                format_args!(
                    "<p class=buttons><a class=button href=\"{}\">{}</a></p>",
                    escape::html(link),
                    escape::html(word)
                ),
            );
        }
        main.push_str("</section>");
        outside(&self.title, &main)
    }
}
