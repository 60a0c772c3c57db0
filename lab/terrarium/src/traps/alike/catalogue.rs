//! A catalogue of parts: every page is the same but for one number.

use super::{Draft, Linking};

const ITEMS: usize = 400;

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let script = seed.is_multiple_of(2);
    let row = |item: usize| {
        let number = 10_000 + item * 7;
        let target = if script {
            format!("/item?no={number}")
        } else {
            format!("/part/{number}")
        };
        let main = format!(
            "<h1>Hexagon bolt</h1>\n<p>Article number {number}. Steel, zinc plated, sold in \
             boxes of one hundred. Ask for other lengths. Delivery takes two to four days. All \
             prices are without tax.</p>\n"
        );
        Draft::new(target, "Hexagon bolt – Parts and fittings", main)
    };
    let rows = (0..ITEMS).map(row).collect();
    let index = |page: usize| {
        if script {
            format!("/items?page={page}")
        } else {
            format!("/parts/{page}")
        }
    };
    Linking::from_seed(seed).weave(rows, "Parts and fittings", index)
}
