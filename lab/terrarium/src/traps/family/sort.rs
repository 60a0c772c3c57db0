//! Lists in other orders: the same rows again and again.
//!
//! Modelled on boards (key, direction, age, and topics that remember them), on tables that are
//! sorted by several columns, and on shops with views and sizes of pages.

use super::{Content, Link, Spot, TrapSite, with_parameter, without_parameters};
use crate::traps::dice::Dice;
use crate::traps::real::{Kind, own_teasers};

const NAMES: [[&str; 4]; 3] = [
    ["o", "o", "o", "o"],
    ["sk", "sd", "st", "hilit"],
    ["sort", "dir", "view", "per"],
];

/// The parameters of an order that is chosen by chance.
fn order(style: usize, dice: &mut Dice) -> String {
    match style {
        0 => {
            let mut columns = vec![1, 2, 3, 4, 5, 6, 7];
            let count = 1 + dice.below(5);
            let mut keys = Vec::new();
            for _ in 0..count {
                let column = columns.remove(dice.below(columns.len()));
                keys.push(format!("{}{column}", dice.pick(&["", "-"])));
            }
            format!("o={}", keys.join("."))
        }
        1 => format!(
            "sk={}&sd={}&st={}",
            dice.pick(&["a", "t", "r", "s", "v"]),
            dice.pick(&["a", "d"]),
            dice.pick(&["0", "1", "7", "14", "30", "90", "180", "365"])
        ),
        _ => format!(
            "sort={}&dir={}&view={}&per={}",
            dice.pick(&["name", "price", "date", "rating", "sales", "relevance"]),
            dice.pick(&["asc", "desc"]),
            dice.pick(&["grid", "list", "table"]),
            dice.pick(&["10", "20", "50", "100", "all"])
        ),
    }
}

fn orders(spot: &Spot, base: &str, dice: &mut Dice) -> Vec<Link> {
    let style = spot.site.style();
    let count = spot.site.density.of(3, 8);
    let link = |number: usize| {
        let order = order(style, dice);
        (
            with_parameter(base, &order),
            format!("order {}", number + 1),
        )
    };
    (0..count).map(link).collect()
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let kind = spot.number.map(|number| spot.site.real.kind(number));
    let base = if let Some(Kind::List { .. }) = kind {
        spot.target.to_owned()
    } else {
        let section = spot.site.real.section_beside(spot.number, &mut dice);
        spot.site.real.list_target(section, 0)
    };
    orders(spot, &base, &mut dice)
}

/// The article that stands here and remembers the order of the list it was found in.
pub(super) fn article_at(site: &TrapSite, target: &str) -> Option<usize> {
    let (base, _) = without_parameters(target, &NAMES[site.style()]);
    let number = site.real.number(&base)?;
    matches!(site.real.kind(number), Kind::Article { .. }).then_some(number)
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let real = &spot.site.real;
    let (base, chosen) = without_parameters(spot.target, &NAMES[spot.site.style()]);
    let number = real.number(&base)?;
    if chosen.is_empty() {
        return None;
    }
    let mut dice = spot.dice();
    let mut content = real.content(number, &str::to_owned);
    let mut links = orders(spot, &base, &mut dice);
    if let Kind::List { .. } = real.kind(number) {
        let mut rows = real.links(number);
        let turn = dice.below(rows.len());
        rows.rotate_left(turn);
        let rows = own_teasers(spot.site.seed, &rows);
        content.main = format!("<h1>{}</h1>\n{rows}", content.title);
        // Rows and parts of the list remember the order in which they were shown.
        let suffix = chosen.iter().map(|(name, value)| format!("{name}={value}"));
        let suffix = suffix.collect::<Vec<_>>().join("&");
        let kept = real.links(number).into_iter();
        links.extend(kept.map(|(href, label)| (with_parameter(&href, &suffix), label)));
    }
    Some((content, links))
}
