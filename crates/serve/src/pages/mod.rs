//! What people see in a browser: one frame, one style sheet, one script, and a function per page.
//!
//! Owns the HTML of every page of the app. It refuses to know where figures come from and how
//! requests arrive: structs with plain data go in, a document comes out. Invariants: every text
//! that is given is escaped at output, no page holds code or styles of its own, every list is
//! bounded by whoever fills it, and every page works without the script.
//!
//! Links of a job begin with its `base`, for instance `/jobs/example.com`; a server of one job uses
//! an empty one. The pages expect these routes: `BASE/` (overview), `BASE/issues`, `BASE/pages`,
//! `BASE/why?url=`, `BASE/hosts`, `BASE/search`, `BASE/captures?url=`, `BASE/captures/of?url=&month=`,
//! `BASE/changes`, `BASE/exclude?pattern=`, `BASE/delete`, and `/start`. They post forms to
//! `BASE/actions` (`action`), `BASE/settings` (`name`, `value`), `BASE/exclude` (`pattern`),
//! `BASE/roots` (`url`), `BASE/delete` (`name`) and `/start`.

mod captures;
mod confirm;
mod controls;
mod element;
mod fleet;
mod hosts;
mod issues;
mod jobs;
mod list;
mod message;
mod overview;
mod start;
#[cfg(test)]
mod tests;
mod trail;
mod urls;

use std::sync::LazyLock;

use clewline_check::forms::html::{LIST_SCRIPT, LIST_STYLE};
use clewline_diff::CHANGES_STYLE;
use clewline_job::escape;
use clewline_job::look::{
    FRAME_STYLE, FramePlace, MARK, PageFrame, THEME_SCRIPT, TOKENS, Tone, policy_source,
};
use clewline_job::report::figures;

pub use captures::{CaptureDay, CapturedUrl, CapturesPage, DayCapture, MonthPage};
pub use confirm::{DeletePage, ExcludePage};
pub use controls::{JobControls, SettingControl};
pub use fleet::{FleetPage, FleetWorker};
pub use hosts::{HostRow, HostsPage};
pub use issues::{ChangesPage, IssuesPage};
pub use jobs::{JobRow, JobsPage};
pub use list::{ListChoice, ListView, SortOrder};
pub use message::MessagePage;
pub use overview::{Figure, OverviewPage, RecentUrl, WaitShare};
pub use start::{StartField, StartPage};
pub use trail::{TrailFact, TrailLink, TrailPage, TrailStep};
pub use urls::{ListedPage, PagesPage};

/// Where the style sheet is; no capture's path begins so.
pub const APP_STYLE_PATH: &str = "/-/app.css";
/// Where the script is.
pub const APP_SCRIPT_PATH: &str = "/-/app.js";

/// Where the icon is.
pub const APP_ICON_PATH: &str = "/-/icon.svg";

/// The mark as a picture of its own, in the colours of the tokens.
pub fn app_icon() -> &'static str {
    static ICON: LazyLock<String> = LazyLock::new(|| {
        let head = "<svg xmlns=\"http://www.w3.org/2000/svg\"";
        let style = "fill:none;stroke:var(--accent);stroke-width:1.5;stroke-linecap:round";
        let mark = MARK.replacen("<svg class=mark", head, 1);
        let mark = mark.replace("cx=7 cy=7 r=5 ", "cx=\"7\" cy=\"7\" r=\"5\" ");
        let mark = mark.replace("width=20 height=20 aria-hidden=true", "");
        let at = mark.find('>').map_or(0, |at| at + 1);
        let (open, drawing) = mark.split_at(at);
        format!("{open}<style>{TOKENS}circle,path{{{style}}}</style>{drawing}")
    });
    &ICON
}

/// The one style sheet: tokens, frame, and what the app adds.
pub fn app_style() -> &'static str {
    static STYLE: LazyLock<String> = LazyLock::new(|| {
        let own = include_str!("app.css");
        format!("{TOKENS}{FRAME_STYLE}{LIST_STYLE}{CHANGES_STYLE}{own}")
    });
    &STYLE
}

/// The one script; without it every form and link does the same.
pub fn app_script() -> &'static str {
    static SCRIPT: LazyLock<String> = LazyLock::new(|| {
        let own = include_str!("app.js");
        format!("{THEME_SCRIPT}{LIST_SCRIPT}{own}")
    });
    &SCRIPT
}

/// What a browser may do on a page: nothing but to load the one script, by its digest, and the one
/// style sheet. Browsers admit an external style sheet by its origin only, so its digest stands in
/// the page.
pub fn app_policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        format!(
            "default-src 'none'; script-src '{}'; style-src 'self'; img-src 'self'; \
             connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            policy_source(app_script())
        )
    });
    &POLICY
}

/// What the reader of a page may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageRight {
    /// Look only.
    Read,
    /// Look, start, steer and delete.
    Operate,
}

/// A place of a job that the frame leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobSection {
    /// How it stands.
    Overview,
    /// What a check found.
    Issues,
    /// Its URLs.
    Pages,
    /// Its hosts.
    Hosts,
    /// Its words.
    Search,
    /// Its archive.
    Captures,
}

impl JobSection {
    const ALL: [(Self, &'static str, &'static str); 6] = [
        (Self::Overview, "Overview", "/"),
        (Self::Issues, "Issues", "/issues"),
        (Self::Pages, "Pages", "/pages"),
        (Self::Hosts, "Hosts", "/hosts"),
        (Self::Search, "Search", "/search"),
        (Self::Captures, "Captures", "/captures"),
    ];
}

/// A job as its frame shows it.
#[derive(Debug, Clone)]
pub struct JobFrame {
    /// What its links begin with; empty for the only job of a server.
    pub base: String,
    /// What it is called.
    pub name: String,
    /// Whether its state is good news.
    pub tone: Tone,
    /// Its state in a word: `running`, `paused`, `finished`.
    pub state: String,
    /// Findings, if the job was checked.
    pub issues: Option<u64>,
    /// Pages fetched.
    pub pages: Option<u64>,
    /// Hosts met.
    pub hosts: Option<u64>,
    /// Where the events of a running crawl are; none for one that does not run.
    pub events: Option<String>,
    /// What the reader may do.
    pub right: PageRight,
}

impl JobFrame {
    fn html(&self, current: Option<JobSection>) -> String {
        let number = |number: Option<u64>| number.map(figures::count).unwrap_or_default();
        let links = JobSection::ALL.map(|(_, _, path)| format!("{}{path}", self.base));
        let places: Vec<FramePlace<'_>> = JobSection::ALL
            .iter()
            .zip(&links)
            .map(|((place, name, _), link)| FramePlace {
                name,
                link,
                number: match place {
                    JobSection::Issues => number(self.issues),
                    JobSection::Pages => number(self.pages),
                    JobSection::Hosts => number(self.hosts),
                    _ => String::new(),
                },
                is_current: Some(*place) == current,
            })
            .collect();
        let frame = PageFrame {
            name: &self.name,
            state: Some((self.tone, &self.state)),
            home: Some("/"),
            places: &places,
        };
        frame.html()
    }

    /// The whole document of a page of this job.
    fn document(&self, current: Option<JobSection>, title: &str, main: &str) -> String {
        let title = format!("{title} · {}", self.name);
        let events = self.events.as_deref().unwrap_or_default();
        document(&title, &self.html(current), events, main)
    }
}

/// The frame of the search page, which knows no more of its job than where its links begin.
pub(crate) fn search_frame(base: &str) -> String {
    let links = JobSection::ALL.map(|(_, _, path)| format!("{base}{path}"));
    let places = JobSection::ALL.iter().zip(&links);
    let places: Vec<FramePlace<'_>> = places
        .map(|((place, name, _), link)| FramePlace {
            name,
            link,
            number: String::new(),
            is_current: *place == JobSection::Search,
        })
        .collect();
    let frame = PageFrame {
        name: base
            .rsplit('/')
            .next()
            .filter(|name| !name.is_empty())
            .unwrap_or("Archive"),
        state: None,
        home: Some("/"),
        places: &places,
    };
    frame.html()
}

/// A page that belongs to no job.
fn outside(title: &str, main: &str) -> String {
    let frame = PageFrame {
        name: "Clewline",
        state: None,
        home: Some("/"),
        places: &[],
    };
    document(&format!("{title} · Clewline"), &frame.html(), "", main)
}

fn document(title: &str, frame: &str, events: &str, main: &str) -> String {
    static INTEGRITY: LazyLock<[String; 2]> =
        LazyLock::new(|| [app_style(), app_script()].map(policy_source));
    let [style, script] = &*INTEGRITY;
    let title = escape::html(title);
    let events = match escape::html(events) {
        events if events.is_empty() => String::new(),
        events => format!(" data-events=\"{events}\""),
    };
    format!(
        "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\
         <meta name=referrer content=same-origin><title>{title}</title>\
         <link rel=icon href=\"{APP_ICON_PATH}\">\
         <link rel=stylesheet href=\"{APP_STYLE_PATH}\" integrity=\"{style}\">\
         <script src=\"{APP_SCRIPT_PATH}\" integrity=\"{script}\" defer></script></head>\
         <body{events}>{frame}<main id=main>{main}</main>\
         <footer>Made by Clewline {}. This page loads nothing from elsewhere.</footer></body></html>\n",
        env!("CARGO_PKG_VERSION")
    )
}
