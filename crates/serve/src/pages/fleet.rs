//! A fleet as one job: how it stands, what it waits for, its workers.
//!
//! Owns its HTML. Refuses to know databases and what a word does to a fleet. Invariant: what changes
//! while it runs lies in the elements that the script takes over as a whole.

use clewline_job::escape;
use clewline_job::look::{PageFrame, Tone, badge};
use clewline_job::report::figures;

use super::controls::JobControls;
use super::element::{empty, opening, push};
use super::overview::{Figure, cards, notes};
use super::{PageRight, document};

/// A worker of a fleet.
#[derive(Debug, Clone, Default)]
pub struct FleetWorker {
    /// Its number, as `status` prints it.
    pub name: String,
    /// Whether its renewals are good.
    pub live: bool,
    /// When it was heard of: `seen 1 s ago`, `silent for 2:10`.
    pub heard: String,
    /// Shards that are its own.
    pub shards: u64,
    /// Its requests in flight.
    pub in_flight: u64,
    /// Pages that it fetched.
    pub pages: u64,
    /// Where it writes, on its machine.
    pub folder: String,
}

/// The page of a fleet.
#[derive(Debug, Clone)]
pub struct FleetPage {
    /// What the job is called.
    pub name: String,
    /// Whether its state is good news.
    pub tone: Tone,
    /// Its state in words: `running`, `nearly done`.
    pub state: String,
    /// What is done, as one sentence with its end.
    pub sentence: String,
    /// How fast it is and how long it will take; may be empty.
    pub pace: String,
    /// At most four figures.
    pub figures: Vec<Figure>,
    /// Budgets and what else there is to say of it.
    pub notes: Vec<String>,
    /// What it waits for.
    pub waits: Vec<String>,
    /// Its workers, the live ones first.
    pub workers: Vec<FleetWorker>,
    /// Workers that are not shown.
    pub more: u64,
    /// Where its events are; none for a job that is over.
    pub events: Option<String>,
    /// What can be done with it.
    pub controls: JobControls,
    /// What the reader may do.
    pub right: PageRight,
}

impl FleetPage {
    /// The document.
    pub fn html(&self) -> String {
        let mut main = String::from("<div id=live>");
        main.push_str(&opening(&self.sentence, &self.pace));
        cards(&self.figures, &mut main);
        notes(&self.notes, &mut main);
        self.waits(&mut main);
        main.push_str("</div>");
        if self.right == PageRight::Operate {
            main.push_str(&self.controls.html(""));
        }
        main.push_str("<div id=live-charts>");
        self.workers(&mut main);
        main.push_str("</div>");
        main.push_str(
            "<section><h2>Search and replay</h2><p>A fleet has no folder yet, so there is nothing \
             to search or to replay. <code>clewline fleet merge</code> makes a folder of what its \
             workers wrote, and <code>clewline serve</code> shows that.</p></section>",
        );
        let frame = PageFrame {
            name: &self.name,
            state: Some((self.tone, &self.state)),
            home: Some("/"),
            places: &[],
        };
        let title = format!("{} · {}", self.state, self.name);
        let events = self.events.as_deref().unwrap_or_default();
        document(&title, &frame.html(), events, &main)
    }

    fn waits(&self, out: &mut String) {
        if self.waits.is_empty() {
            return;
        }
        out.push_str("<section><h2>What it waits for</h2><ul class=notes>");
        for wait in &self.waits {
            push(out, format_args!("<li>{}</li>", escape::html(wait)));
        }
        out.push_str("</ul></section>");
    }

    fn workers(&self, out: &mut String) {
        out.push_str("<section class=list><h2>Workers</h2>");
        if self.workers.is_empty() {
            let command = "clewline fleet join";
            out.push_str(&empty("No worker is at work; this starts one:", command));
            out.push_str("</section>");
            return;
        }
        out.push_str(
            "<div class=rows tabindex=0 role=region aria-label=Workers><table><thead><tr>\
             <th scope=col>Worker<th scope=col>Heard of<th class=n scope=col>Shards\
             <th class=n scope=col>In flight<th class=n scope=col>Pages<th scope=col>Folder\
             </thead><tbody>",
        );
        for worker in &self.workers {
            let tone = if worker.live { Tone::Good } else { Tone::Warn };
            push(
                out,
                format_args!(
                    "<tr><th scope=row><code>{}</code><td>{}\
                     <td class=n data-name=Shards>{}<td class=n data-name=\"In flight\">{}\
                     <td class=n data-name=Pages>{}<td data-name=Folder><bdi>{}</bdi>",
                    escape::html(&worker.name),
                    badge(tone, &worker.heard),
                    figures::count(worker.shards),
                    figures::count(worker.in_flight),
                    figures::count(worker.pages),
                    escape::html(&worker.folder),
                ),
            );
        }
        out.push_str("</table></div>");
        if self.more > 0 {
            let more = figures::plural(self.more, "worker");
            push(out, format_args!("<p class=soft>{more} more</p>"));
        }
        out.push_str("</section>");
    }
}
