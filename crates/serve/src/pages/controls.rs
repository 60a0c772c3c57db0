//! The controls of a crawl, for whoever may operate it.
//!
//! Owns their forms. Refuses to know what a word does to a crawl.

use clewline_job::escape;
use clewline_job::look::Icon;

use super::element::{button, push};

/// A figure that can be changed while the crawl runs.
#[derive(Debug, Clone)]
pub struct SettingControl {
    /// Its name, as `ctl` says it: `rate`, `max-pages`.
    pub name: &'static str,
    /// What people read: `Requests per second and host`.
    pub label: &'static str,
    /// The value in force.
    pub value: String,
    /// An example of a value.
    pub example: &'static str,
}

/// What can be done with a crawl as it stands.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each stands for a button of its own"
)]
pub struct JobControls {
    /// It can be started again.
    pub can_start: bool,
    /// It can be told to wait.
    pub can_pause: bool,
    /// It waits, and can go on.
    pub can_continue: bool,
    /// It can be ended; it can be picked up later.
    pub can_stop: bool,
    /// Figures that can be changed.
    pub settings: Vec<SettingControl>,
    /// More patterns can be left out.
    pub takes_patterns: bool,
    /// More roots can be added.
    pub takes_roots: bool,
    /// It can be deleted.
    pub can_delete: bool,
}

impl JobControls {
    pub(super) fn html(&self, base: &str) -> String {
        let base = escape::html(base);
        let mut out = String::from("<section id=controls><h2>Control</h2>");
        push(
            &mut out,
            format_args!("<form class=buttons method=post action=\"{base}/actions\">"),
        );
        for (is_possible, word, icon, name) in [
            (self.can_pause, "pause", Icon::Pause, "Pause"),
            (self.can_continue, "continue", Icon::Play, "Continue"),
            (self.can_start, "start", Icon::Play, "Start again"),
            (self.can_stop, "stop", Icon::Stop, "Stop"),
        ] {
            if is_possible {
                let attributes = format!("name=action value={word}");
                out.push_str(&button(icon, name, &attributes));
            }
        }
        if self.can_delete {
            push(
                &mut out,
                format_args!(
                    "<a class=button href=\"{base}/delete\">{} Delete</a>",
                    Icon::Delete.svg()
                ),
            );
        }
        out.push_str("</form>");
        if !self.settings.is_empty() {
            self.steering(&base, &mut out);
        }
        out.push_str("</section>");
        out
    }

    fn steering(&self, base: &str, out: &mut String) {
        out.push_str("<div class=forms>");
        for setting in &self.settings {
            push(
                out,
                format_args!(
                    "<form method=post action=\"{base}/settings\">\
                     <input type=hidden name=name value=\"{}\"><label>{} \
                     <input name=value value=\"{}\" placeholder=\"{}\" autocomplete=off \
                     spellcheck=false></label><button>{} Set</button></form>",
                    escape::html(setting.name),
                    escape::html(setting.label),
                    escape::html(&setting.value),
                    escape::html(setting.example),
                    Icon::Speed.svg()
                ),
            );
        }
        if self.takes_patterns {
            push(
                out,
                format_args!(
                    "<form action=\"{base}/exclude\"><label>Leave out URLs with <input name=pattern \
                     placeholder=\"/calendar/\" required autocomplete=off spellcheck=false></label>\
                     <button>{} See how many</button></form>",
                    Icon::Exclude.svg()
                ),
            );
        }
        if self.takes_roots {
            push(
                out,
                format_args!(
                    "<form method=post action=\"{base}/roots\"><label>Another root \
                     <input name=url type=url placeholder=\"https://example.com/docs/\" required \
                     autocomplete=off></label><button>{} Add</button></form>",
                    Icon::Plus.svg()
                ),
            );
        }
        out.push_str("</div>");
    }
}
