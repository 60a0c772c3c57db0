//! Numbered pages of a reference, each with the same headings and a signature.

use super::{Draft, Linking};
use crate::traps::dice::Dice;

const FUNCTIONS: usize = 420;

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let row = |number: usize| {
        let mut dice = Dice::new(seed, &format!("function {number}"));
        let (name, argument) = (dice.name(), dice.name());
        let main = format!(
            "<h1>{name}</h1>\n<h2>Synopsis</h2>\n<pre>int {name}({argument});</pre>\n\
             <h2>Returns</h2>\n<p>Zero on success, a negative number otherwise.</p>\n\
             <h2>See also</h2>\n<p>The other functions of this library.</p>\n"
        );
        let target = match seed % 2 {
            0 => format!("/api/group__{:02}.html?m={number}", number % 40),
            _ => format!("/api/a{number:05}.html"),
        };
        Draft::new(target, "Function reference", main)
    };
    let rows = (0..FUNCTIONS).map(row).collect();
    Linking::from_seed(seed).weave(rows, "Function reference", |page| {
        format!("/api/index{page}.html")
    })
}
