//! The filters of a shop: colours, sizes, makers, prices, in any number and in the order of the
//! clicks.
//!
//! A filtered list shows other products and other counts than the whole one; with many filters it
//! shows hardly any.

use super::{Content, Link, Spot, with_parameter, without_parameters};
use crate::traps::dice::Dice;
use crate::traps::real::teasers;

const FACETS: [(&str, &[&str]); 6] = [
    (
        "color",
        &[
            "red", "blue", "green", "black", "white", "grey", "brown", "pink",
        ],
    ),
    (
        "size",
        &["xs", "s", "m", "l", "xl", "xxl", "36", "38", "40", "42"],
    ),
    (
        "brand",
        &[
            "akara", "belton", "corvo", "dunmore", "elsa", "fenn", "gorma", "hale",
        ],
    ),
    (
        "price",
        &["0-10", "10-25", "25-50", "50-100", "100-250", "250-500"],
    ),
    (
        "material",
        &["oak", "steel", "wool", "linen", "glass", "cork", "felt"],
    ),
    ("rating", &["1", "2", "3", "4", "5"]),
];
const NAMES: [&str; 6] = ["color", "size", "brand", "price", "material", "rating"];

type Chosen<'a> = Vec<(&'a str, &'a str)>;

/// The address of a section's list with these filters.
fn address(spot: &Spot, section: usize, chosen: &[(&str, &str)]) -> String {
    let base = spot.site.real.list_target(section, 0);
    let joined = |mark: &str, between: &str| {
        let pairs = chosen
            .iter()
            .map(|(name, value)| format!("{name}{mark}{value}"));
        pairs.collect::<Vec<_>>().join(between)
    };
    match spot.site.style() {
        0 => with_parameter(&base, &joined("=", "&")),
        1 => format!("{base}filter/{}/", joined("-", "/")),
        _ => with_parameter(&base, &format!("filter={}", joined(":", ";"))),
    }
}

/// The section and filters of an address.
fn read<'a>(spot: &Spot<'a>) -> Option<(usize, Chosen<'a>)> {
    let split = |text: &'a str, between: char, mark: char| {
        let parts = text.split(between).filter(|part| !part.is_empty());
        parts
            .map(|part| part.split_once(mark))
            .collect::<Option<Chosen>>()
    };
    let (base, chosen) = match spot.site.style() {
        0 => without_parameters(spot.target, &NAMES),
        1 => {
            let (base, filters) = spot.target.split_once("filter/")?;
            (base.to_owned(), split(filters, '/', '-')?)
        }
        _ => {
            let (base, filters) = without_parameters(spot.target, &["filter"]);
            (base, split(filters.first()?.1, ';', ':')?)
        }
    };
    let is_known = |(name, value): &(&str, &str)| {
        FACETS
            .iter()
            .any(|(facet, values)| facet == name && values.contains(value))
    };
    let mut sections = 0..spot.site.real.sections();
    let section = sections.find(|section| spot.site.real.list_target(*section, 0) == base)?;
    (!chosen.is_empty() && chosen.iter().all(is_known)).then_some((section, chosen))
}

/// Links that choose one filter more.
fn further(spot: &Spot, section: usize, chosen: &Chosen, dice: &mut Dice) -> Vec<Link> {
    let mut links = Vec::new();
    for _ in 0..spot.site.density.of(4, 10) {
        let (name, values) = dice.pick(&FACETS);
        let one = (*name, *dice.pick(values));
        if chosen.contains(&one) {
            continue;
        }
        let count = 1 + dice.below(40 / (chosen.len() + 1));
        let more = [chosen.as_slice(), &[one]].concat();
        links.push((
            address(spot, section, &more),
            format!("{name}: {} ({count})", one.1),
        ));
    }
    links
}

pub(super) fn entries(spot: &Spot) -> Vec<Link> {
    let mut dice = spot.dice();
    let section = spot.site.real.section_beside(spot.number, &mut dice);
    further(spot, section, &Vec::new(), &mut dice)
}

pub(super) fn inside(spot: &Spot) -> Option<(Content, Vec<Link>)> {
    let (section, chosen) = read(spot)?;
    let mut dice = spot.dice();
    let count = dice.below(10 / chosen.len() + 1);
    let products = spot.site.real.some_articles(section, &mut dice, count);
    let name = spot.site.real.section_name(section);
    let values: Vec<&str> = chosen.iter().map(|(_, value)| *value).collect();
    let values = values.join(", ");
    let shown = match count {
        0 => "<p>No products match your filters. Remove one of them.</p>\n".to_owned(),
        _ => teasers(&products, &mut dice),
    };
    let mut links = further(spot, section, &chosen, &mut dice);
    if chosen.len() > 1 {
        let fewer = address(spot, section, &chosen[1..]);
        links.push((fewer, format!("remove {}", chosen[0].1)));
    }
    let content = Content {
        title: format!("{name}: {values} ({count} products)"),
        head: String::new(),
        main: format!("<h1>{name}</h1>\n<p>{count} products: {values}</p>\n{shown}"),
    };
    Some((content, links))
}
