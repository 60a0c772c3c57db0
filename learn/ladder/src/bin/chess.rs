//! The chess exhibition: what waiting costs, without a computer.
//!
//! A master plays many boards. She moves in seconds, her opponents think much longer. If she
//! plays one board after the other, she waits for every single answer. If she walks from board
//! to board, her opponents think while she plays elsewhere. Nobody moves faster, and yet she is
//! home for lunch.
//!
//! Nothing here is computed by a formula: both exhibitions are played, move by move, in virtual
//! time. The way of playing is the only difference.
#![expect(clippy::print_stdout, reason = "the result is what the program is for")]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use clap::Parser;

/// Plays an exhibition twice, in virtual time
#[derive(Clone, Copy, Debug, Parser)]
#[command(version, max_term_width = 100)]
struct Exhibition {
    /// Boards, each with an opponent
    #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    boards: u32,
    /// Moves of each side in a game
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=1000))]
    moves: u32,
    /// Seconds that the master takes for a move
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(..86_400))]
    master: u64,
    /// Seconds that an opponent takes for a move
    #[arg(long, default_value_t = 55, value_parser = clap::value_parser!(u64).range(..86_400))]
    opponent: u64,
}

/// How an exhibition went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Outcome {
    time: Duration,
    /// How much of it the master did nothing but wait.
    waited: Duration,
    moves: u64,
}

/// A board where it is the master's turn from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    since: Duration,
    board: u32,
    played: u32,
}

impl Exhibition {
    /// One board after the other: the master stays until the game is over.
    fn synchronous(&self) -> Outcome {
        let mut hall = Hall::default();
        for board in 0..self.boards {
            let mut turn = Turn {
                since: hall.now,
                board,
                played: 0,
            };
            while let Some(next) = hall.play(turn, self) {
                turn = next;
            }
            // The last answer belongs to the game.
            hall.wait_until(hall.last_answer);
        }
        hall.outcome()
    }

    /// From board to board: the master goes where an answer is ready, or will be first.
    fn asynchronous(&self) -> Outcome {
        let mut hall = Hall::default();
        let mut turns: BinaryHeap<Reverse<Turn>> = BinaryHeap::new();
        turns.extend((0..self.boards).map(|board| {
            Reverse(Turn {
                since: Duration::ZERO,
                board,
                played: 0,
            })
        }));
        while let Some(Reverse(turn)) = turns.pop() {
            turns.extend(hall.play(turn, self).map(Reverse));
        }
        hall.wait_until(hall.last_answer);
        hall.outcome()
    }
}

/// The hall with its clock.
#[derive(Clone, Copy, Debug, Default)]
struct Hall {
    now: Duration,
    waited: Duration,
    moves: u64,
    last_answer: Duration,
}

impl Hall {
    fn wait_until(&mut self, moment: Duration) {
        self.waited += moment.saturating_sub(self.now);
        self.now = self.now.max(moment);
    }

    /// The master moves as soon as it is her turn, and her opponent begins to think. Answers
    /// when it will be her turn again, unless the game is over.
    fn play(&mut self, turn: Turn, exhibition: &Exhibition) -> Option<Turn> {
        self.wait_until(turn.since);
        self.now += Duration::from_secs(exhibition.master);
        self.moves += 1;
        let answer = self.now + Duration::from_secs(exhibition.opponent);
        self.last_answer = self.last_answer.max(answer);
        let played = turn.played + 1;
        (played < exhibition.moves).then_some(Turn {
            since: answer,
            played,
            ..turn
        })
    }

    fn outcome(self) -> Outcome {
        Outcome {
            time: self.now,
            waited: self.waited,
            moves: self.moves,
        }
    }
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    format!(
        "{}:{:02}:{:02}",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60
    )
}

fn main() {
    let exhibition = Exhibition::parse();
    let Exhibition {
        boards,
        moves,
        master,
        opponent,
    } = exhibition;
    println!(
        "{boards} boards, {moves} moves each; a move takes the master {master} s, an opponent {opponent} s."
    );
    let (one, all) = (exhibition.synchronous(), exhibition.asynchronous());
    for (name, outcome) in [("synchronous", one), ("asynchronous", all)] {
        let share = 100.0 * outcome.waited.as_secs_f64() / outcome.time.as_secs_f64().max(1e-9);
        let hours = outcome.time.as_secs_f64() / 3600.0;
        let exact = clock(outcome.time);
        println!("{name:>13}: {hours:.1} hours ({exact}), of which the master waits {share:.0} %");
    }
    let factor = one.time.as_secs_f64() / all.time.as_secs_f64().max(1e-9);
    println!("{:>13}: {factor:.1} times", "faster");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhibitions_take_as_long_as_they_must() {
        let check = |words: &str, synchronous: &str, asynchronous: &str| {
            let exhibition = Exhibition::parse_from(words.split(' '));
            let (one, all) = (exhibition.synchronous(), exhibition.asynchronous());
            let found = (clock(one.time), clock(all.time));
            assert_eq!(
                found,
                (synchronous.to_owned(), asynchronous.to_owned()),
                "{words}"
            );
            let moves = u64::from(exhibition.boards * exhibition.moves);
            assert_eq!((one.moves, all.moves), (moves, moves), "{words}");
        };
        // The master never waits but for the last answer: 24 × 5 s a round are more than 60 s.
        check("chess", "12:00:00", "1:00:55");
        // One opponent: walking does not help.
        check("chess --boards 1", "0:30:00", "0:30:00");
        // Six boards: she has to wait for the first opponent in each round.
        check("chess --boards 6", "3:00:00", "0:30:25");
        // Opponents that answer at once cannot be overlapped.
        check("chess --opponent 0", "1:00:00", "1:00:00");
        check("chess --moves 1 --boards 2", "0:02:00", "0:01:05");
    }
}
