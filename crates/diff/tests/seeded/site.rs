//! A site that is made from a seed, and edits of it that are known.

use std::collections::BTreeSet;
use std::path::Path;

use mutate::Dice;

use crate::archive::Archive;

pub(crate) const HOST: &str = "http://site.test";
/// Pages that a list names.
const LISTED: usize = 20;
/// Parts of the site, each with a template.
const SECTIONS: [&str; 3] = ["docs", "blog", "shop"];
/// One page in so many is nearly another one.
const VARIANTS: usize = 10;
/// Template edits that there are.
pub(crate) const TEMPLATE_EDITS: usize = 12;

const QUOTES: [&str; 8] = [
    "Measure twice and cut once",
    "Slow is smooth and smooth is fast",
    "Well begun is half done",
    "Many hands make light work",
    "A watched pot never boils",
    "Still waters run deep",
    "Practice makes perfect every time",
    "Fortune favours the bold ones",
];

/// A page.
#[derive(Clone)]
pub(crate) struct SitePage {
    pub(crate) path: String,
    pub(crate) section: usize,
    pub(crate) title: String,
    pub(crate) paragraphs: Vec<String>,
}

/// A site.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) pages: Vec<Option<SitePage>>,
    /// The design, which a relaunch changes.
    pub(crate) is_new: Vec<bool>,
    pub(crate) templates: BTreeSet<usize>,
}

/// Some words that mean nothing.
pub(crate) fn prose(dice: &mut Dice, count: usize) -> String {
    const PARTS: [&str; 24] = [
        "ba", "co", "di", "fu", "ga", "he", "ji", "ko", "lu", "ma", "ne", "pi", "ro", "su", "ta",
        "ve", "wi", "xo", "yu", "za", "bre", "cla", "dri", "sto",
    ];
    let mut words = Vec::with_capacity(count);
    for _ in 0..count {
        let length = 2 + dice.below(2);
        words.push(
            (0..length)
                .map(|_| PARTS[dice.below(PARTS.len())])
                .collect::<String>(),
        );
    }
    words.join(" ")
}

impl Site {
    pub(crate) fn new(count: usize, dice: &mut Dice) -> Self {
        let page = |number: usize, dice: &mut Dice| SitePage {
            path: format!(
                "/{}/{}-{number}.html",
                SECTIONS[number % 3],
                prose(dice, 2).replace(' ', "-")
            ),
            section: number % 3,
            title: prose(dice, 4),
            paragraphs: (0..4).map(|_| prose(dice, 45)).collect(),
        };
        let mut pages: Vec<Option<SitePage>> = Vec::with_capacity(count);
        for number in 0..count {
            let mut made = page(number, dice);
            // Some pages are a variant of another one: few words differ.
            if number % VARIANTS == VARIANTS - 1
                && let Some(Some(other)) = pages.get(number - 3)
            {
                made.paragraphs.clone_from(&other.paragraphs);
                made.paragraphs[1] += &prose(dice, 3);
            }
            pages.push(Some(made));
        }
        Self {
            pages,
            is_new: vec![false; count],
            templates: BTreeSet::new(),
        }
    }

    fn has(&self, edit: usize) -> bool {
        self.templates.contains(&edit)
    }

    /// The site as it is served at some moment, which is the seed of its noise.
    pub(crate) fn write(&self, path: &Path, moment: u64) {
        let mut archive = Archive::create(path);
        let mut dice = Dice(moment);
        let mut put = |path: &str, html: String| archive.page(&format!("{HOST}{path}"), &html);
        for (number, page) in self.pages.iter().enumerate() {
            if let Some(page) = page {
                let html = self.page(number, page, &mut dice);
                put(&page.path, html);
            }
        }
        for list in 0..self.pages.len().div_ceil(LISTED) {
            let html = self.list(list, &mut dice);
            put(&format!("/list/{list}"), html);
        }
    }

    fn link(&self, number: usize) -> String {
        let page = self.pages.get(number).and_then(Option::as_ref);
        page.map_or(String::new(), |page| {
            format!("<a href='{}'>{}</a>", page.path, page.title)
        })
    }

    fn near(&self, number: usize, step: isize) -> String {
        let mut at = number.checked_add_signed(step);
        while let Some(near) = at.filter(|near| *near < self.pages.len()) {
            if self.pages[near].is_some() {
                return self.link(near);
            }
            at = near.checked_add_signed(step);
        }
        String::new()
    }

    fn list(&self, list: usize, dice: &mut Dice) -> String {
        let items = (list * LISTED..(list + 1) * LISTED).map(|number| self.link(number));
        let items = items
            .filter(|link| !link.is_empty())
            .map(|link| format!("<li>{link}</li>"));
        let main = format!("<h1>List {list}</h1><ul>{}</ul>", items.collect::<String>());
        self.framed(&format!("List {list}"), &main, 3, dice)
    }

    fn page(&self, number: usize, page: &SitePage, dice: &mut Dice) -> String {
        let mut main = vec![format!("<h1>{}</h1>", page.title)];
        let views = dice.roll(9_000) + 100;
        main.push(format!("<p class=meta>Seen <b>{views}</b> times</p>"));
        if page.section == 0 && self.has(5) {
            main.push("<div class=hint>This manual belongs to release nine</div>".to_owned());
        }
        for text in &page.paragraphs {
            main.push(format!("<p>{text}</p>"));
        }
        match page.section {
            1 => {
                let to = if self.has(6) {
                    "https://new.test/share"
                } else {
                    "https://old.test/share"
                };
                main.push(format!(
                    "<div class=share><a href='{to}'>Share this post</a></div>"
                ));
            }
            2 => {
                let note = if self.has(7) {
                    "Free shipping from fifty upwards"
                } else {
                    "Shipping takes three days"
                };
                main.push(format!("<blockquote>{note}</blockquote>"));
            }
            _ => {}
        }
        main.push(format!(
            "<div class=pager>Before: {} After: {}</div>",
            self.near(number, -1),
            self.near(number, 1)
        ));
        let main = main.concat();
        if self.is_new[number] {
            return format!(
                "<!doctype html><title>{} – Relaunched</title><div id=header>Brand new look</div>\
                 <section><div class=body>{main}</div></section><div id=footer>All new</div>",
                page.title
            );
        }
        self.framed(&page.title, &main, page.section, dice)
    }

    fn framed(&self, title: &str, main: &str, section: usize, dice: &mut Dice) -> String {
        let pick = |edit: usize, then: &'static str, now: &'static str| {
            if self.has(edit) { now } else { then }
        };
        let robots = if section == 0 {
            pick(9, "", "<meta name=robots content='noarchive'>")
        } else {
            ""
        };
        let (open, close) = if section == 1 && self.has(10) {
            ("<section><article>", "</article></section>")
        } else {
            ("", "")
        };
        let quote = QUOTES[dice.below(QUOTES.len())];
        let (hour, minute, second) = (dice.roll(24), dice.roll(60), dice.roll(60));
        let session = dice.roll(1 << 30);
        format!(
            "<!doctype html><html><head><title>{title}{suffix}</title>{robots}\
             <meta name=description content='{title} at a glance'></head><body>\
             <header><p>{slogan}</p><nav><ul><li><a href=/list/0>Start</a></li>{item}\
             <li><a href='/cart?session={session}'>{cart}</a></li></ul></nav></header>\
             <main>{open}{main}{close}</main>\
             <aside>{aside}<p class=quote>{quote}</p></aside>\
             <footer><p>{company}</p><ul><li><a href=/terms>Terms</a></li>{more}</ul>\
             <p>Served {hour:02}:{minute:02}:{second:02}</p></footer>\
             <script>let nonce = {session};</script></body></html>",
            suffix = pick(3, " | Old name", " | Better name"),
            slogan = pick(2, "We build things that last", "We mend things that broke"),
            item = pick(0, "", "<li><a href=/prices>Prices</a></li>"),
            cart = pick(8, "Cart", "Basket of goods"),
            aside = pick(
                4,
                "<div class=promo>Subscribe to our letter today</div>",
                ""
            ),
            company = pick(
                1,
                "Old Company Limited, Vienna",
                "New Company Limited, Graz"
            ),
            more = pick(11, "", "<li><a href=/imprint>Imprint</a></li>"),
        )
    }

    /// Makes so many edits, each on pages of its own.
    pub(crate) fn edit(&mut self, count: usize, dice: &mut Dice) {
        let mut free: Vec<usize> = (0..self.pages.len()).collect();
        for number in (1..free.len()).rev() {
            free.swap(number, dice.below(number + 1));
        }
        for number in 0..count {
            let is_template = number % 4 == 3 && self.templates.len() < TEMPLATE_EDITS;
            if is_template {
                while !self.templates.insert(dice.below(TEMPLATE_EDITS)) {}
                continue;
            }
            let at = free.pop().expect("there are more pages than edits");
            match dice.below(4) {
                0 => self.pages[at] = None,
                1 => self.relocate(at, dice),
                _ => self.rewrite(at, dice),
            }
        }
    }

    fn relocate(&mut self, at: usize, dice: &mut Dice) {
        let page = self.pages[at].as_mut().expect("it is free");
        page.path = format!("/moved/{}-{at}", prose(dice, 2).replace(' ', "-"));
    }

    fn rewrite(&mut self, at: usize, dice: &mut Dice) {
        let page = self.pages[at].as_mut().expect("it is free");
        let which = dice.below(page.paragraphs.len());
        match dice.below(4) {
            0 => page.paragraphs[which] = prose(dice, 30),
            1 => {
                page.paragraphs.remove(which);
            }
            2 => page.paragraphs.insert(which, prose(dice, 25)),
            _ => {
                let mut words: Vec<String> = page.paragraphs[which]
                    .split(' ')
                    .map(String::from)
                    .collect();
                for _ in 0..3 {
                    let word = dice.below(words.len());
                    words[word] = prose(dice, 1);
                }
                page.paragraphs[which] = words.join(" ");
            }
        }
    }

    /// Gives so many pages a new address and a new design, and edits most of their texts; some are
    /// taken away, and as many are new. Answers the old and new addresses.
    pub(crate) fn relaunch(&mut self, count: usize, dice: &mut Dice) -> Vec<(String, String)> {
        let mut expected = Vec::new();
        // Odd, so that pages and their variants are among them.
        let distance = (self.pages.len() / count - 1) | 1;
        for number in 0..count {
            let at = number * distance;
            if at + 1 < self.pages.len() && number % 30 == 7 {
                // Beside them a page goes, and another one comes to the new part of the site.
                let title = prose(dice, 4);
                self.pages[at + 1] = Some(SitePage {
                    path: format!("/{}/2026/{}/", SECTIONS[at % 3], title.replace(' ', "-")),
                    section: at % 3,
                    title,
                    paragraphs: (0..4).map(|_| prose(dice, 45)).collect(),
                });
                self.is_new[at + 1] = true;
            }
            let page = self.pages[at].as_mut().expect("nothing is gone yet");
            let old = page.path.clone();
            let stem = old
                .rsplit('/')
                .next()
                .unwrap_or_default()
                .trim_end_matches(".html")
                .to_owned();
            // Most keep the end of their path, some get a number.
            page.path = match dice.below(4) {
                0 => format!("/item/{}", 70_000 + at),
                _ => format!("/{}/2026/{stem}/", SECTIONS[page.section]),
            };
            if dice.chance(15) {
                page.title = prose(dice, 4);
            }
            let edited = [0, 0, 1, 1, 2, 3][dice.below(6)];
            for _ in 0..edited {
                let which = dice.below(page.paragraphs.len());
                page.paragraphs[which] = prose(dice, 40);
            }
            expected.push((old, page.path.clone()));
            self.is_new[at] = true;
        }
        expected
    }
}
