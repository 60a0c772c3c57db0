//! A list that is scrolled without end, as robots without scripts see it: each piece has a link to
//! the next.
//!
//! Modelled on lists that begin again after their end (offset and limit), on recommendations
//! behind a cursor that is new each time, and on streams that go back in time and are empty there.

use std::collections::HashSet;

use super::{Content, Dice, Link, Spot, with_parameter, without_parameters};
use crate::traps::real::own_teasers;

/// How often an article is picked for a list; one that was picked twice stands there once.
const PICKED: usize = 40;
/// Rows behind a cursor.
const BEHIND_CURSOR: usize = 6;
/// The time at which all streams begin, in seconds.
const NOW: i64 = 1_794_000_000;
/// How far back a stream has entries.
const AGE: u32 = 400_000;
const LIMITS: [usize; 4] = [10, 20, 25, 50];

/// A time shorter than this.
fn seconds(dice: &mut Dice, end: u32) -> i64 {
    let below = dice.bits() % u64::from(end);
    below.try_into().unwrap_or_default()
}

/// The place in a list at which a piece begins.
#[derive(Clone, Debug)]
enum Piece {
    Window {
        section: usize,
        offset: usize,
        limit: usize,
    },
    Cursor(String),
    Before(i64),
}

impl Piece {
    fn address(&self, spot: &Spot) -> String {
        match self {
            Self::Window {
                section,
                offset,
                limit,
            } => {
                let list = spot.site.real.list_target(*section, 0);
                with_parameter(&list, &format!("offset={offset}&limit={limit}"))
            }
            Self::Cursor(cursor) => format!("/latest?cursor={cursor}"),
            Self::Before(time) => format!("/stream.php?before={time}&count=10"),
        }
    }

    fn read(spot: &Spot) -> Option<Self> {
        match spot.site.style() {
            0 => {
                let (list, values) = without_parameters(spot.target, &["offset", "limit"]);
                let [("offset", offset), ("limit", limit)] = values[..] else {
                    return None;
                };
                let real = &spot.site.real;
                let mut sections = 0..real.sections();
                Some(Self::Window {
                    section: sections.find(|section| real.list_target(*section, 0) == list)?,
                    offset: offset.parse().ok()?,
                    limit: limit.parse().ok().filter(|limit| LIMITS.contains(limit))?,
                })
            }
            1 => {
                let cursor = spot.target.strip_prefix("/latest?cursor=")?;
                Some(Self::Cursor(cursor.to_owned()))
            }
            _ => {
                let time = spot.target.strip_prefix("/stream.php?before=")?;
                time.strip_suffix("&count=10")?
                    .parse()
                    .ok()
                    .map(Self::Before)
            }
        }
    }

    /// A piece at which a page that is not part of the list begins.
    fn first(spot: &Spot, dice: &mut Dice) -> Self {
        match spot.site.style() {
            0 => Self::Window {
                section: spot.site.real.section_beside(spot.number, dice),
                offset: 10 * (1 + dice.below(spot.site.density.of(2, 8))),
                limit: *dice.pick(&LIMITS),
            },
            1 => Self::Cursor(dice.hex(24)),
            _ => Self::Before(NOW - seconds(dice, AGE)),
        }
    }

    fn next(&self, dice: &mut Dice) -> Option<Self> {
        Some(match self {
            Self::Window {
                section,
                offset,
                limit,
            } => Self::Window {
                section: *section,
                offset: offset.checked_add(*limit)?,
                limit: *limit,
            },
            Self::Cursor(_) => Self::Cursor(dice.hex(24)),
            Self::Before(time) => Self::Before(time.checked_sub(3_600 + seconds(dice, 40_000))?),
        })
    }

    fn rows(&self, spot: &Spot) -> Vec<Link> {
        let (real, seed) = (&spot.site.real, spot.site.seed);
        match self {
            Self::Window {
                section,
                offset,
                limit,
            } => {
                let mut dice = Dice::new(seed, &format!("rows of {section}"));
                let mut all = real.some_articles(*section, &mut dice, PICKED);
                let mut shown = HashSet::new();
                all.retain(|(href, _)| shown.insert(href.clone()));
                let begin = offset % all.len();
                all.into_iter().cycle().skip(begin).take(*limit).collect()
            }
            Self::Cursor(cursor) => {
                let mut dice = Dice::new(seed, cursor);
                let section = dice.below(real.sections());
                real.some_articles(section, &mut dice, BEHIND_CURSOR)
            }
            Self::Before(time) if *time > NOW - i64::from(AGE) => {
                // Entries of one hour are the same, wherever a piece begins.
                let mut dice = Dice::new(seed, &format!("hour {}", time / 3_600));
                let section = dice.below(real.sections());
                real.some_articles(section, &mut dice, 4)
            }
            Self::Before(_) => Vec::new(),
        }
    }

    fn title(&self, spot: &Spot) -> String {
        match self {
            Self::Window { section, .. } => spot.site.real.section_name(*section),
            Self::Cursor(_) => "For you".to_owned(),
            Self::Before(_) => "Latest".to_owned(),
        }
    }
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let mut link = || {
        let piece = Piece::first(spot, &mut dice);
        (piece.address(spot), "more".to_owned())
    };
    (0..spot.site.density.of(1, 4)).map(|_| link()).collect()
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let piece = Piece::read(spot)?;
    let mut dice = Dice::new(spot.site.seed, &format!("after {}", spot.target));
    let next = piece.next(&mut dice)?;
    let title = piece.title(spot);
    let rows = piece.rows(spot);
    let shown = match rows.len() {
        0 => "<p>No more entries.</p>\n".to_owned(),
        _ => own_teasers(spot.site.seed, &rows),
    };
    let mut links = vec![(next.address(spot), "Load more".to_owned())];
    links.extend(entries(spot).into_iter().take(spot.site.density.of(0, 3)));
    let content = Content {
        title: format!("{title} – {}", spot.site.real.name()),
        head: String::new(),
        main: format!("<h1>{title}</h1>\n{shown}"),
    };
    Some((content, links))
}
