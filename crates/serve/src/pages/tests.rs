use std::fs;
use std::path::Path;

use clewline_job::look::{ChartForm, ChartSeries, TimeChart};

use super::*;

/// What pages write as titles and URLs to break out of ours.
const ATTACK: &str = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>\u{202e}&amp;";

/// The variable that has the samples written, for people and browsers to look at.
const KEPT: &str = "CLEWLINE_SAMPLE_SITES";

/// What a sample site is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Condition {
    Empty,
    One,
    Many,
    Failed,
    Hostile,
}

impl Condition {
    const ALL: [(Self, &'static str); 5] = [
        (Self::Empty, "empty"),
        (Self::One, "one"),
        (Self::Many, "many"),
        (Self::Failed, "failed"),
        (Self::Hostile, "hostile"),
    ];

    const fn rows(self) -> usize {
        match self {
            Self::Empty => 0,
            Self::One => 1,
            Self::Failed => 3,
            Self::Many | Self::Hostile => 100,
        }
    }

    const fn pages(self) -> u64 {
        match self {
            Self::Empty | Self::Failed => 0,
            Self::One => 1,
            Self::Many | Self::Hostile => 10_000,
        }
    }

    fn url(self, number: usize) -> String {
        match (self, number % 4) {
            (Self::Hostile, 0) => format!(
                "https://example.com/{}/{number}",
                "long-segment-".repeat(23)
            ),
            (Self::Hostile, 1) => format!("https://example.com/{ATTACK}/{number}"),
            (Self::Hostile, 2) => {
                format!("https://example.com/存在しないページへのリンク/{number}")
            }
            (Self::Hostile, _) => format!("https://example.com/عنوان-الصفحة/{number}"),
            (_, 0) => "https://example.com/".to_owned(),
            _ => format!(
                "https://example.com/docs/section-{}/page-{number}.html",
                number % 7
            ),
        }
    }

    fn title(self, number: usize) -> String {
        match (self, number % 4) {
            (Self::Hostile, 0) => "Averylongword".repeat(20),
            (Self::Hostile, 1) => ATTACK.to_owned(),
            (Self::Hostile, 2) => "存在しないページへのリンク".to_owned(),
            (Self::Hostile, _) => "عنوان الصفحة التي لا توجد".to_owned(),
            _ => format!("Page {number} of the manual"),
        }
    }

    fn text(self, plain: &str) -> String {
        match self {
            Self::Hostile => ATTACK.to_owned(),
            _ => plain.to_owned(),
        }
    }

    fn frame(self) -> JobFrame {
        let (tone, state) = match self {
            Self::Empty => (Tone::Plain, "starting"),
            Self::One => (Tone::Good, "finished"),
            Self::Failed => (Tone::Bad, "unreached"),
            Self::Many => (Tone::Good, "running"),
            Self::Hostile => (Tone::Warn, "paused"),
        };
        JobFrame {
            base: "/jobs/example.com".to_owned(),
            name: match self {
                Self::Hostile => format!("{ATTACK}{}", "long-".repeat(40)),
                _ => "example.com".to_owned(),
            },
            tone,
            state: state.to_owned(),
            issues: (self != Self::Empty).then_some(self.pages() / 3),
            pages: Some(self.pages()),
            hosts: Some(self.rows() as u64),
            events: None,
            right: if self == Self::One {
                PageRight::Read
            } else {
                PageRight::Operate
            },
        }
    }

    fn list(self, path: &str, choice_name: &'static str) -> ListView {
        ListView {
            path: format!("/jobs/example.com/{path}"),
            text: self.text(""),
            choice_name,
            choices: ["in flight", "robots.txt", "the rate per host"]
                .map(|name| ListChoice {
                    value: name.replace(' ', "-"),
                    name: name.to_owned(),
                })
                .to_vec(),
            chosen: "robots.txt".to_owned(),
            sort: "queued".to_owned(),
            order: SortOrder::Descending,
            total: Some(self.pages()),
            next: (self.rows() >= 100).then(|| self.text("cursor")),
            is_later: self == Self::Many,
        }
    }
}

fn wave(name: &str, height: f64, phase: f64) -> ChartSeries {
    let value = |at: u32| height * (1.2 + (f64::from(at) / 9.0 + phase).sin());
    ChartSeries {
        name: name.to_owned(),
        values: (0..120).map(|at| (at != 40).then(|| value(at))).collect(),
    }
}

fn charts(condition: Condition) -> Vec<TimeChart<'static>> {
    if condition.rows() < 100 {
        return Vec::new();
    }
    let causes = [
        "their turn",
        "robots.txt",
        "crawl delay",
        "rate",
        "names",
        "parked hosts",
        "a place",
    ];
    let waiting = causes.iter().zip(1_u32..).map(|(name, number)| {
        wave(
            &condition.text(name),
            400.0 / f64::from(number),
            f64::from(number),
        )
    });
    let chart = |title, about, series, form| TimeChart {
        title,
        about,
        series,
        form,
        seconds: 1_200.0,
        label: |value| format!("{value:.0}"),
    };
    vec![
        chart(
            "Rate",
            "pages per second",
            vec![wave("", 40.0, 0.0)],
            ChartForm::Lines,
        ),
        chart(
            "Latency",
            "milliseconds to the first byte",
            vec![wave("mean", 120.0, 1.0), wave("p95", 300.0, 2.0)],
            ChartForm::Lines,
        ),
        chart(
            "Waiting",
            "URLs by what they wait for",
            waiting.collect(),
            ChartForm::Stacked,
        ),
    ]
}

fn site_figures(condition: Condition) -> Vec<Figure> {
    let rows = condition.rows();
    let pages = figures::count(condition.pages());
    let running = rows >= 100;
    let figure = |name: &str, value: String, more: &str, tone| Figure {
        name: name.to_owned(),
        value,
        more: condition.text(more),
        tone,
    };
    vec![
        figure("Pages", pages, "312 MB over the network", Tone::Plain),
        figure(
            "Dead links",
            (rows / 9).to_string(),
            "on 9 pages",
            if rows > 9 { Tone::Bad } else { Tone::Good },
        ),
        figure("Hosts", rows.min(14).to_string(), "3 are slow", Tone::Plain),
        figure(
            "Waiting",
            if running { "1,204" } else { "0" }.to_owned(),
            "12 in flight",
            Tone::Plain,
        ),
    ]
}

fn overview(condition: Condition) -> String {
    let rows = condition.rows();
    let pages = figures::count(condition.pages());
    let running = rows >= 100;
    let sentence = match condition {
        Condition::Empty => "The crawl begins.".to_owned(),
        Condition::Failed => "No page could be fetched: example.com does not answer.".to_owned(),
        Condition::One => "1 page fetched; nothing waits.".to_owned(),
        _ => format!("{pages} pages fetched, 1,204 URLs wait."),
    };
    let page = OverviewPage {
        frame: condition.frame(),
        sentence,
        reason: match condition {
            Condition::Failed => "Asked 3 times; connection refused.".to_owned(),
            Condition::Many => "About 4 min are left. Most URLs wait for example.com (its robots.txt asks for 10 s).".to_owned(),
            _ => condition.text(""),
        },
        figures: site_figures(condition),
        waits: (0..rows.min(4))
            .map(|number| WaitShare {
                cause: condition.text(["the delay that robots.txt asks for", "their turn", "the rate per host", "a name"][number]),
                word: "crawl-delay".to_owned(),
                urls: 900 / (number as u64 + 1),
                hosts: number as u64 + 1,
                host: condition.text("example.com"),
            })
            .collect(),
        charts: charts(condition),
        recent: (0..rows.min(20))
            .map(|number| RecentUrl {
                url: condition.url(number),
                outcome: if number % 5 == 4 { "404" } else { "200" }.to_owned(),
                tone: if number % 5 == 4 { Tone::Bad } else { Tone::Good },
                time: format!("12:03:{:02}", 59 - number),
            })
            .collect(),
        notes: match condition {
            Condition::Many | Condition::Hostile => vec![condition.text("example.org answers 429; it is left alone for 60 s")],
            Condition::Failed => vec!["Name not found: example.invalid".to_owned()],
            _ => Vec::new(),
        },
        controls: JobControls {
            can_start: !running,
            can_pause: condition == Condition::Many,
            can_continue: condition == Condition::Hostile,
            can_stop: running,
            settings: if running {
                vec![
                    SettingControl {
                        name: "rate",
                        label: "Requests per second and host",
                        value: condition.text("5/s"),
                        example: "5/s",
                    },
                    SettingControl {
                        name: "max-pages",
                        label: "Pages in all",
                        value: String::new(),
                        example: "10000",
                    },
                ]
            } else {
                Vec::new()
            },
            takes_patterns: running,
            takes_roots: running,
            can_delete: !running,
        },
        crawler: vec![("Memory".to_owned(), condition.text("84 MB of 512 MB"))],
    };
    page.html()
}

fn hosts(condition: Condition) -> String {
    let rows = (0..condition.rows()).map(|number| HostRow {
        host: match condition {
            Condition::Hostile => condition.title(number),
            _ => format!("host-{number}.example.com"),
        },
        tone: if number % 9 == 8 {
            Tone::Warn
        } else {
            Tone::Plain
        },
        cause: condition.text(if number % 9 == 8 {
            "Left alone for 60 s after 429"
        } else {
            "Its robots.txt asks for 10 s"
        }),
        queued: 12_000 / (number as u64 + 1),
        at_least: number == 0,
        in_flight: 1,
        pages: 312,
        errors: (number % 2 == 0).then_some(number as u64),
        interval: 10.0,
        whose: condition.text("robots.txt"),
        left: 7_300.0,
    });
    let page = HostsPage {
        frame: condition.frame(),
        list: condition.list("hosts", "Waiting for"),
        rows: rows.collect(),
    };
    page.html()
}

fn urls(condition: Condition) -> String {
    let rows = (0..condition.rows()).map(|number| ListedPage {
        url: condition.url(number),
        title: condition.title(number),
        outcome: condition.text(if number % 5 == 4 {
            "404 Not Found"
        } else {
            "200"
        }),
        tone: if number % 5 == 4 {
            Tone::Bad
        } else {
            Tone::Plain
        },
        depth: number as u32 % 6,
        bytes: (number % 7 != 0).then_some(48_123),
        millis: Some(84.0),
        time: condition.text("2026-11-19 12:03:04"),
    });
    let page = PagesPage {
        frame: condition.frame(),
        list: condition.list("pages", "Outcome"),
        is_sorting: false,
        rows: rows.collect(),
    };
    page.html()
}

fn trail(condition: Condition) -> String {
    let fact = |name: &str, value: &str| TrailFact {
        name: condition.text(name),
        value: condition.text(value),
    };
    let rows = condition.rows();
    let page = TrailPage {
        frame: condition.frame(),
        url: condition.url(1),
        sentence: match condition {
            Condition::Empty => "The crawl never met it.".to_owned(),
            Condition::Failed => "Failed: the connection was refused.".to_owned(),
            _ => condition.text("Fetched: 200 OK."),
        },
        steps: vec![
            TrailStep {
                what: "Let in".to_owned(),
                why: condition.text("2 links from a root, at 12:03:04"),
                tone: Tone::Good,
                url: None,
            },
            TrailStep {
                what: "Redirected".to_owned(),
                why: condition.text("301, to"),
                tone: Tone::Plain,
                url: Some(condition.url(2)),
            },
        ],
        links: (0..rows.min(12))
            .map(|number| TrailLink {
                url: condition.url(number),
                kind: condition.text("a link"),
            })
            .collect(),
        link_count: condition.pages(),
        capture: (rows > 0).then(|| condition.text("/web/20261119120304/https://example.com/")),
        facts: vec![
            fact("Status", "200"),
            fact("Size", "48 kB"),
            fact("Digest", "sha256:4f2a"),
        ],
        headers: vec![
            fact("content-type", "text/html; charset=utf-8"),
            fact("server", "nginx"),
        ],
    };
    page.html()
}

fn captures(condition: Condition) -> String {
    let rows = (0..condition.rows()).map(|number| CapturedUrl {
        url: condition.url(number),
        time: "2026-11-19 12:03:04".to_owned(),
        status: condition.text("200"),
        media_type: condition.text("text/html"),
        link: "/web/20261119120304/https://example.com/".to_owned(),
        thumbnail: (number < 4 && condition == Condition::Many).then(|| "/-/icon.svg".to_owned()),
    });
    let page = CapturesPage {
        frame: condition.frame(),
        prefix: condition.text(""),
        rows: rows.collect(),
        next: (condition.rows() >= 100).then(|| condition.text("next")),
        files: condition.rows() as u64,
    };
    page.html()
}

fn month(condition: Condition) -> String {
    let days = [3, 9, 10, 24].into_iter().take(condition.rows());
    let page = MonthPage {
        frame: condition.frame(),
        url: condition.url(1),
        month: (2026, 11),
        days: days
            .map(|day| CaptureDay {
                day,
                captures: (0..day.min(3))
                    .map(|number| DayCapture {
                        time: condition.text(&format!("12:{number:02}:04")),
                        status: condition.text("200"),
                        link: condition.text("/web/20261119120304/https://example.com/"),
                        is_changed: number == 1,
                    })
                    .collect(),
                more: u64::from(day) / 10,
            })
            .collect(),
        previous: (condition == Condition::Many).then(|| "2026-09".to_owned()),
        next: None,
        total: condition.rows() as u64,
    };
    page.html()
}

fn jobs(condition: Condition) -> String {
    let rows = (0..condition.rows().min(12)).map(|number| JobRow {
        base: format!("/jobs/example-{number}"),
        name: condition.text(&format!("example-{number}.com")),
        tone: [Tone::Good, Tone::Plain, Tone::Bad][number % 3],
        state: ["running", "finished", "unreached"][number % 3].to_owned(),
        reason: condition.text(["", "at 1,000 pages", "connection refused"][number % 3]),
        pages: 10_000,
        queued: 312,
        rate: (number % 3 == 0).then_some(12.34),
        last_run: "2026-11-19 12:03".to_owned(),
        issues: (number % 2 == 0).then_some(12),
    });
    let page = JobsPage {
        folder: condition.text("/srv/crawls"),
        rows: rows.collect(),
        more: if condition == Condition::Many { 30 } else { 0 },
        right: PageRight::Operate,
    };
    page.html()
}

fn forms(condition: Condition) -> [(&'static str, String); 6] {
    let problem = if condition == Condition::Failed {
        "The name differs.".to_owned()
    } else {
        condition.text("")
    };
    let start = StartPage {
        url: condition.text(""),
        name: condition.text(""),
        fields: vec![
            StartField {
                name: "max-pages",
                label: "Pages at most",
                value: condition.text("1000"),
                example: "1000",
                choices: Vec::new(),
            },
            StartField {
                name: "scope",
                label: "Scope",
                value: "host".to_owned(),
                example: "",
                choices: vec!["host", "domain", "path"],
            },
        ],
        presets: vec![condition.text("nightly")],
        problems: vec![problem.clone()],
    };
    let exclude = ExcludePage {
        frame: condition.frame(),
        pattern: condition.text("/calendar/"),
        takes: condition.pages(),
        at_least: condition == Condition::Many,
        queued: 12_000,
        samples: (0..condition.rows().min(8))
            .map(|number| condition.url(number))
            .collect(),
    };
    let delete = DeletePage {
        frame: condition.frame(),
        folder: condition.text("example.com"),
        lost: condition.text("312 pages, 48 MB."),
        problem,
    };
    let message = MessagePage {
        title: "Not in the archive.".to_owned(),
        sentence: condition.text("There is no capture of this URL. Nothing was fetched."),
        subject: condition.url(0),
        next: Some((condition.text("All captures"), condition.text("/captures"))),
    };
    let issues = IssuesPage {
        frame: condition.frame(),
        sentence: String::new(),
        when: String::new(),
        list: String::new(),
    };
    let others =
        (0..condition.rows().min(5)).map(|number| condition.text(&format!("{number}.crawl")));
    let changes = ChangesPage {
        frame: condition.frame(),
        sentence: String::new(),
        when: String::new(),
        others: others.collect(),
        with: String::new(),
        list: String::new(),
    };
    [
        ("start", start.html()),
        ("exclude", exclude.html()),
        ("delete", delete.html()),
        ("message", message.html()),
        ("issues", issues.html()),
        ("changes", changes.html()),
    ]
}

fn fleet(condition: Condition) -> String {
    let runs = matches!(condition, Condition::Many | Condition::Hostile);
    let figure = |name: &str, value: &str, more: &str| Figure {
        name: name.to_owned(),
        value: value.to_owned(),
        more: more.to_owned(),
        tone: Tone::Plain,
    };
    let workers = (0..condition.rows().min(16)).map(|number| FleetWorker {
        name: format!("{:016x}", (number as u64 + 1) * 0x0123_4567_89ab),
        live: number % 5 != 4,
        heard: if number % 5 == 4 {
            "silent for 2:10"
        } else {
            "seen 0:01 ago"
        }
        .to_owned(),
        shards: 4,
        in_flight: 50,
        pages: condition.pages() / 16,
        folder: condition.text("/srv/crawls/news/workers/0123456789abcdef"),
    });
    let page = FleetPage {
        name: condition.text("news"),
        tone: Tone::Good,
        state: condition.text("running: its roots come first"),
        sentence: "10,000 done, 1,204 queued; 9,800 pages, 1.2 GB read, 1:12 spent.".to_owned(),
        pace: "1,591 pages/s, about 0:10 left".to_owned(),
        figures: vec![
            figure("Workers", "16", "3 silent"),
            figure("Shards", "64 of 64", "have an owner"),
            figure("Pages", "9,800", "1,591 a second"),
            figure("Waiting", "1,204", "12 rows of mail unread"),
        ],
        notes: vec![
            "64 of 64 shards have an owner, 0 have nothing to do; unread mail: 12".to_owned(),
        ],
        waits: if condition == Condition::One {
            Vec::new()
        } else {
            vec![condition.text("links for 0:40 to be read")]
        },
        workers: workers.collect(),
        more: u64::from(condition == Condition::Many),
        events: None,
        controls: JobControls {
            can_pause: runs,
            can_stop: runs,
            takes_roots: runs,
            settings: vec![SettingControl {
                name: "rate",
                label: "Requests per second and host",
                value: String::new(),
                example: "5/s",
            }],
            ..JobControls::default()
        },
        right: if runs {
            PageRight::Operate
        } else {
            PageRight::Read
        },
    };
    page.html()
}

fn all(condition: Condition) -> Vec<(&'static str, String)> {
    let mut pages = vec![
        ("overview", overview(condition)),
        ("hosts", hosts(condition)),
        ("pages", urls(condition)),
        ("why", trail(condition)),
        ("captures", captures(condition)),
        ("calendar", month(condition)),
        ("jobs", jobs(condition)),
        ("fleet", fleet(condition)),
    ];
    pages.extend(forms(condition));
    pages
}

/// Writes every page in every condition where the variable says.
#[test]
fn samples_can_be_looked_at() {
    let Some(folder) = std::env::var_os(KEPT) else {
        return;
    };
    let folder = Path::new(&folder);
    fs::create_dir_all(folder.join("-")).unwrap();
    fs::write(folder.join("-/app.css"), app_style()).unwrap();
    fs::write(folder.join("-/app.js"), app_script()).unwrap();
    fs::write(folder.join("-/icon.svg"), app_icon()).unwrap();
    let policy = app_policy().replace("; frame-ancestors 'none'", "");
    let mark = format!("<head><meta http-equiv=Content-Security-Policy content=\"{policy}\">");
    for (condition, name) in Condition::ALL {
        for (page, html) in all(condition) {
            let file = folder.join(format!("app-{page}-{name}.html"));
            fs::write(file, html.replacen("<head>", &mark, 1)).unwrap();
        }
    }
}

#[test]
fn no_page_holds_what_it_was_given_as_markup() {
    for (page, html) in all(Condition::Hostile) {
        assert!(
            html.contains("&lt;script&gt;"),
            "{page} shows nothing foreign"
        );
        for wrong in [
            "<script>",
            "<img src=x",
            "\u{202e}",
            " style=",
            " onerror=alert(1)>",
        ] {
            assert!(!html.contains(wrong), "{page} holds {wrong}");
        }
    }
}

#[test]
fn pages_load_the_one_style_sheet_and_the_one_script() {
    for (condition, _) in Condition::ALL {
        for (page, html) in all(condition) {
            assert_eq!(html.matches("<script src=").count(), 1, "{page}");
            assert_eq!(html.matches("<link rel=stylesheet").count(), 1, "{page}");
            assert!(
                !html.contains("<style") && !html.contains("javascript:"),
                "{page}"
            );
            assert_eq!(html.matches("<h1>").count(), 1, "{page}");
        }
    }
    assert!(app_policy().contains(&policy_source(app_script())));
}

#[test]
fn controls_are_shown_to_whoever_may_operate() {
    let mut page = OverviewPage {
        frame: Condition::Many.frame(),
        sentence: String::new(),
        reason: String::new(),
        figures: Vec::new(),
        waits: Vec::new(),
        charts: Vec::new(),
        recent: Vec::new(),
        notes: Vec::new(),
        controls: JobControls {
            can_pause: true,
            ..JobControls::default()
        },
        crawler: Vec::new(),
    };
    assert!(page.html().contains("value=pause"));
    page.frame.right = PageRight::Read;
    assert!(!page.html().contains("method=post"));
}

#[test]
fn lists_keep_their_filter_when_they_are_sorted() {
    let html = hosts(Condition::Many);
    assert!(
        html.contains("?is=robots.txt&amp;sort=pages&amp;order=down\">Pages"),
        "{html}"
    );
    assert!(html.contains("?is=robots.txt&amp;sort=queued&amp;order=up\">Waiting"));
    assert!(html.contains("aria-sort=descending"));
    assert!(html.contains("order=down&amp;from=cursor"));
}

#[test]
fn a_calendar_has_a_cell_for_each_day() {
    let html = month(Condition::Many);
    assert_eq!(html.matches("<td").count(), 42);
    assert_eq!(html.matches("<td class=has>").count(), 4);
    assert!(html.contains("November 2026"));
    assert!(html.contains("&amp;month=2026-09\""));
}
