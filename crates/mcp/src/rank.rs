//! Which passages of some pages answer a question.
//!
//! Owns the weighing: rare words count more than frequent ones, a word that occurs often counts little
//! more than one that occurs once, long passages count less (Okapi BM25), and a heading counts like
//! three words. A word in the text counts more than one in the headings alone. Of each page the best
//! passage comes first, and what else it holds behind those of all pages: a short answer would else be
//! one long page. It refuses to know where the passages come from.
//! Invariant: the order depends on nothing but the question and the passages.

use std::collections::{HashMap, HashSet};

use clewline_content::words;

/// How soon more of the same word stops to count.
const SATURATION: f64 = 1.2;
/// How much the length counts.
const LENGTH: f64 = 0.9;
/// Words that one in the path counts for.
const PATH_WEIGHT: f64 = 3.0;
/// How much the place of its page among the results counts: the last of many pages keeps this share.
const LAST_PAGE: f64 = 0.7;
/// What a passage gets for each word of the question that it holds, and what for one that its text holds.
const PER_WORD: f64 = 1.0;
const IN_TEXT: f64 = 1.0;
/// How much more rare words count. All candidates come from pages that the question was found in, so what
/// is rare among them says little.
const RARITY: f64 = 0.3;

/// A passage that may be an answer.
#[derive(Debug)]
pub(crate) struct PassageCandidate<'t> {
    /// The headings above it and the title of its page.
    pub(crate) path: &'t str,
    pub(crate) words: &'t str,
    /// The place of its page among the results, from 0 on.
    pub(crate) page: usize,
}

/// The words of a question as they are compared.
pub(crate) fn question_words(question: &str) -> Vec<String> {
    let mut found: Vec<String> = words(question).map(str::to_lowercase).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// The numbers of the candidates that hold a word of the question, the best first.
pub(crate) fn ranked(question: &[String], candidates: &[PassageCandidate<'_>]) -> Vec<usize> {
    let counted: Vec<_> = candidates.iter().map(|one| counts(question, one)).collect();
    let mean = counted.iter().map(|one| one.length).sum::<f64>() / counted.len().max(1) as f64;
    let rarity: Vec<f64> = (0..question.len())
        .map(|word| {
            let spread = counted.iter().filter(|one| one.of_word[word] > 0.0).count() as f64;
            let all = counted.len() as f64;
            (1.0 + (all - spread + 0.5) / (spread + 0.5))
                .ln()
                .powf(RARITY)
        })
        .collect();
    let pages = candidates
        .iter()
        .map(|one| one.page)
        .max()
        .unwrap_or(0)
        .max(1) as f64;
    let score = |number: usize| {
        let one = &counted[number];
        let long = 1.0 - LENGTH + LENGTH * one.length / mean.max(1.0);
        let words = one
            .of_word
            .iter()
            .zip(&rarity)
            .filter(|(count, _)| **count > 0.0);
        let sum: f64 = words
            .map(|(count, rarity)| {
                let weight = count * (SATURATION + 1.0) / (count + SATURATION * long);
                (weight + PER_WORD) * rarity
            })
            .sum();
        let sum = sum + IN_TEXT * one.in_text as f64;
        sum * (1.0 - (1.0 - LAST_PAGE) * candidates[number].page as f64 / pages)
    };
    let mut scores: Vec<_> = (0..candidates.len())
        .map(|number| (score(number), number))
        .filter(|(score, _)| *score > 0.0)
        .collect();
    scores.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let order = scores.into_iter().map(|(_, number)| number);
    spread(order, candidates)
}

/// The same, with the best passage of each page before the rest of any.
fn spread(order: impl Iterator<Item = usize>, candidates: &[PassageCandidate<'_>]) -> Vec<usize> {
    let mut pages = HashSet::new();
    let (mut best, rest): (Vec<usize>, Vec<usize>) =
        order.partition(|number| pages.insert(candidates[*number].page));
    best.extend(rest);
    best
}

/// How often the words of the question occur.
struct Counts {
    of_word: Vec<f64>,
    length: f64,
    /// Words of the question that the text itself holds.
    in_text: usize,
}

fn counts(question: &[String], candidate: &PassageCandidate<'_>) -> Counts {
    let numbers: HashMap<&str, usize> = question.iter().map(String::as_str).zip(0..).collect();
    let mut found = Counts {
        of_word: vec![0.0; question.len()],
        length: 0.0,
        in_text: 0,
    };
    let add = |found: &mut Counts, text, weight| {
        for word in words(text) {
            found.length += 1.0;
            if let Some(number) = numbers.get(word.to_lowercase().as_str()) {
                found.of_word[*number] += weight;
            }
        }
    };
    add(&mut found, candidate.words, 1.0);
    found.in_text = found.of_word.iter().filter(|count| **count > 0.0).count();
    add(&mut found, candidate.path, PATH_WEIGHT);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rare_words_headings_and_whole_questions_come_first() {
        let candidate = |path, words| PassageCandidate {
            path,
            words,
            page: 0,
        };
        let order = |question: &str, candidates: &[PassageCandidate<'_>]| {
            ranked(&question_words(question), candidates)
        };
        let found = [
            candidate("", "the map of the map of the map"),
            candidate("", "the map is Weak"),
            candidate("", "the set"),
            candidate("", "nothing of it"),
        ];
        assert_eq!(order("weak map", &found), [1, 0]);
        let by_path = [
            candidate("Other", "put a key"),
            candidate("Map > put", "put a key"),
            candidate("Map > put", "adds a key"),
        ];
        assert_eq!(order("put", &by_path), [1, 0, 2]);
        assert!(order("absent", &found).is_empty());
        assert!(order("", &found).is_empty());
        assert!(order("map", &[]).is_empty());
    }

    #[test]
    fn one_page_does_not_hide_the_others() {
        let candidate = |page, words| PassageCandidate {
            path: "",
            words,
            page,
        };
        let found = [
            candidate(0, "weak map"),
            candidate(0, "weak map weak map"),
            candidate(0, "weak map of weak map"),
            candidate(1, "a map that is large and holds many words beside"),
        ];
        let mut order = ranked(&question_words("weak map"), &found);
        assert_eq!(order[1], 3, "{order:?}");
        order.sort_unstable();
        assert_eq!(order, [0, 1, 2, 3]);
    }
}
