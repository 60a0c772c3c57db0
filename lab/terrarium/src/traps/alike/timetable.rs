//! A timetable: lines, directions and kinds of day as parameters, as filters would be.

use std::fmt::Write as _;

use super::{Draft, Linking};
use crate::traps::dice::Dice;

const LINES: usize = 56;
const DAYS: [&str; 4] = ["mon-fri", "sat", "sun", "holiday"];

fn departures(dice: &mut Dice) -> String {
    let mut minutes = 300 + dice.below(40);
    let mut times = String::new();
    while minutes < 1380 {
        let _ = write!(times, "<td>{:02}:{:02}</td>", minutes / 60, minutes % 60);
        minutes += 30 + dice.below(50);
    }
    format!("<table><tr>{times}</tr></table>\n")
}

pub(super) fn drafts(seed: u64) -> Vec<Draft> {
    let mut rows = Vec::new();
    for line in 1..=LINES {
        for direction in ["out", "back"] {
            for day in DAYS {
                let target = format!("/departures?line={line}&dir={direction}&day={day}");
                let mut dice = Dice::new(seed, &target);
                let main = format!("<h1>Departures</h1>\n{}", departures(&mut dice));
                rows.push(Draft::new(
                    target,
                    format!("Line {line} – Departures"),
                    main,
                ));
            }
        }
    }
    Linking::from_seed(seed).weave(rows, "Timetable", |page| format!("/lines?page={page}"))
}
