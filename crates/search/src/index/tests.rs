//! Searches in small indexes.

use super::*;
use crate::document::Document;
use crate::writer::{Writer, WriterLock, WriterResources};

fn document(url: &str, title: &str, body: &str) -> Document {
    let host = url.split('/').nth(2).unwrap_or_default();
    Document {
        url: url.into(),
        host: host.into(),
        title: title.into(),
        body: body.into(),
        language: "en".into(),
        content_type: "text/html".into(),
        ..Document::default()
    }
}

fn open_writer(folder: &Path) -> Result<Writer, SearchError> {
    Writer::open(WriterLock::take(folder)?, WriterResources::ALONE)
}

/// An index of documents, in a folder that lives as long.
fn index(documents: Vec<Document>) -> (tempfile::TempDir, Index) {
    let place = tempfile::tempdir().unwrap();
    let mut writer = open_writer(place.path()).unwrap();
    for document in documents {
        writer.put(document).unwrap();
    }
    let standing = IndexCheckpoint::new("file".into(), 1);
    writer.commit(&standing).unwrap();
    writer.close().unwrap();
    let index = Index::in_folder(place.path()).unwrap().unwrap();
    (place, index)
}

/// The last letters of the URLs that a query finds, in order.
fn found(index: &Index, query: &str) -> String {
    let query = Query::parse(query).unwrap_or_else(|error| panic!("{query}: {error}"));
    let results = index.search(&query).unwrap();
    results
        .hits
        .iter()
        .filter_map(|hit| hit.url.chars().last())
        .collect()
}

fn sorted(index: &Index, query: &str) -> String {
    let mut letters: Vec<char> = found(index, query).chars().collect();
    letters.sort_unstable();
    letters.into_iter().collect()
}

fn library() -> (tempfile::TempDir, Index) {
    let mut german = document(
        "https://b.test/c",
        "Straßenkarte",
        "Die Karte der Städte im Café",
    );
    german.language = "de".into();
    german.fetched_at = 86_400 * 365;
    let mut japanese = document("https://www.b.test/d", "東京都", "京都の地図と東京の地図");
    japanese.language = "ja".into();
    let mut plain = document(
        "https://a.test/notes/e",
        "",
        "A red-black tree is a balanced map",
    );
    plain.content_type = "text/plain".into();
    plain.headings = "Balance".into();
    index(vec![
        document(
            "https://a.test/a",
            "Hash map",
            "A hash map stores pairs of keys and values",
        ),
        document(
            "https://a.test/b",
            "Trees",
            "Unlike a hash, a tree map keeps the order of keys",
        ),
        german,
        japanese,
        plain,
    ])
}

#[test]
fn the_language_of_queries_finds_what_it_says() {
    let (_place, index) = library();
    for (query, expected) in [
        ("hash", "ab"),
        ("hash map", "abe"),
        ("\"hash map\"", "a"),
        ("title:hash", "a"),
        ("heading:balance", "e"),
        ("url:notes", "e"),
        ("body:trees", ""),
        ("+hash -pairs", "b"),
        ("map AND tree", "be"),
        ("hash AND NOT tree", "a"),
        ("pairs OR balanced", "ae"),
        ("(pairs OR balanced) AND red", "e"),
        ("bal*", "e"),
        ("hsah~", "ab"),
        ("strassenkarte", "c"),
        ("stadte cafe", "c"),
        ("red-black", "e"),
        ("\"red tree\"", ""),
        ("東京", "d"),
        ("京", "d"),
        ("都", "d"),
        ("地図と東京", "d"),
        ("図地", ""),
        ("map host:a.test", "abe"),
        ("host:b.test", "cd"),
        ("host:www.b.test", "d"),
        ("lang:de", "c"),
        ("map type:text", "e"),
        ("type:html lang:ja", "d"),
        ("after:1970-06-01", "c"),
        ("map before:1970-06-01", "abe"),
        ("-map -lang:ja", "c"),
        ("absent", ""),
    ] {
        assert_eq!(sorted(&index, query), expected, "{query}");
    }
}

#[test]
fn titles_count_more_and_all_words_come_first() {
    let (_place, index) = library();
    assert!(found(&index, "hash").starts_with('a'));
    let (_place, index) = index_of_tiers();
    assert_eq!(found(&index, "alpha beta"), "ba");
    assert_eq!(found(&index, "alpha"), "ab");
}

/// The first page is far better for one word, the second has both.
fn index_of_tiers() -> (tempfile::TempDir, Index) {
    let filler = "word ".repeat(200);
    index(vec![
        document("https://a.test/a", "Alpha alpha", "alpha alpha alpha"),
        document(
            "https://a.test/b",
            "Other",
            &format!("{filler} alpha {filler} beta"),
        ),
    ])
}

#[test]
fn the_same_content_is_shown_once() {
    let mut documents = Vec::new();
    for letter in ['a', 'b', 'c'] {
        let mut same = document(&format!("https://a.test/{letter}"), "Same", "equal words");
        same.likeness.digest = 7;
        documents.push(same);
    }
    documents.push(document("https://a.test/d", "Else", "equal words here"));
    let (_place, index) = index(documents);
    let results = index.search(&Query::parse("equal").unwrap()).unwrap();
    assert_eq!((results.total, results.hits.len()), (4, 2));
    let same = results.hits.iter().find(|hit| hit.title == "Same").unwrap();
    assert_eq!((same.alike, same.also.len()), (2, 2));
    let each = Query::parse("equal").unwrap().folding(Folding::Off);
    assert_eq!(index.search(&each).unwrap().hits.len(), 4);
}

#[test]
fn queries_are_narrowed() {
    let (_place, index) = library();
    let letters = |query: &Query| -> String {
        let hits = index.search(query).unwrap().hits;
        let mut letters: Vec<char> = hits
            .iter()
            .filter_map(|hit| hit.url.chars().last())
            .collect();
        letters.sort_unstable();
        letters.into_iter().collect()
    };
    let all = Query::everything;
    let map = || Query::parse("map").unwrap();
    for (query, expected) in [
        (all(), "abcde"),
        (all().on_host("b.test"), "c"),
        (all().on_host("WWW.b.test"), "d"),
        (all().in_language("de"), "c"),
        (map().of_type("text/plain"), "e"),
        (map().on_host("a.test").of_type("text/html"), "ab"),
        (map().on_host("b.test"), ""),
    ] {
        assert_eq!(letters(&query), expected, "{query:?}");
    }
}

#[test]
fn queries_are_answered_while_they_are_written() {
    let (_place, index) = library();
    for (text, expected) in [
        ("balan", "e"),
        ("ba", ""),
        ("hash pai", "ab"),
        ("\"red bla", ""),
        ("\"red black", "e"),
        ("+hash -pai", "ab"),
        ("map AND tre", "be"),
    ] {
        let query = Query::typed(text).unwrap();
        let results = index.search(&query).unwrap();
        let mut letters: Vec<char> = results
            .hits
            .iter()
            .filter_map(|hit| hit.url.chars().last())
            .collect();
        letters.sort_unstable();
        assert_eq!(letters.into_iter().collect::<String>(), expected, "{text}");
    }
    assert!(Query::typed("hash OR").is_err() && Query::typed("").is_err());
}

#[test]
fn facets_count_all_matches() {
    let (_place, index) = library();
    let query = Query::parse("map OR karte OR 東京").unwrap().limit(1);
    let results = index.search(&query).unwrap();
    assert_eq!((results.total, results.hits.len()), (5, 1));
    let rows = |facets: &[Facet]| {
        let rows = facets
            .iter()
            .map(|facet| format!("{} {}", facet.value, facet.count));
        rows.collect::<Vec<String>>()
    };
    assert_eq!(
        rows(&results.facets.host),
        ["a.test 3", "b.test 1", "www.b.test 1"]
    );
    assert_eq!(rows(&results.facets.language), ["en 3", "de 1", "ja 1"]);
    assert_eq!(
        rows(&results.facets.content_type),
        ["text/html 4", "text/plain 1"]
    );
}

#[test]
fn pages_of_results_follow_each_other() {
    let pages = 'a'..='z';
    let (_place, index) = index(
        pages
            .map(|letter| document(&format!("https://a.test/{letter}"), "", "the same words"))
            .collect(),
    );
    let query = |offset| Query::parse("words").unwrap().limit(10).offset(offset);
    let mut urls = Vec::new();
    for offset in [0, 10, 20, 30] {
        let results = index.search(&query(offset)).unwrap();
        assert_eq!(results.total, 26);
        urls.extend(results.hits.into_iter().map(|hit| hit.url));
    }
    urls.dedup();
    assert_eq!(urls.len(), 26);
}

#[test]
fn a_page_is_what_it_became() {
    let place = tempfile::tempdir().unwrap();
    let standing = |position| IndexCheckpoint::new("file".into(), position);
    let mut writer = open_writer(place.path()).unwrap();
    writer
        .put(document("https://a.test/a", "Old", "ancient words"))
        .unwrap();
    writer
        .put(document("https://a.test/b", "Gone", "ancient words"))
        .unwrap();
    writer.commit(&standing(1)).unwrap();
    writer
        .put(document("https://a.test/a", "New", "modern words"))
        .unwrap();
    writer.remove("https://a.test/b");
    // Nothing of it counts before it is committed.
    let mut index = Index::in_folder(place.path()).unwrap().unwrap();
    assert_eq!(sorted(&index, "ancient"), "ab");
    writer.commit(&standing(2)).unwrap();
    index.reload().unwrap();
    assert_eq!(
        (found(&index, "ancient"), found(&index, "modern")),
        (String::new(), "a".into())
    );
    assert_eq!(IndexCheckpoint::read(place.path()), Some(standing(2)));
}

#[test]
fn there_is_one_writer() {
    let place = tempfile::tempdir().unwrap();
    let _writer = open_writer(place.path()).unwrap();
    assert!(matches!(
        open_writer(place.path()),
        Err(SearchError::Busy(_))
    ));
}

#[test]
fn an_index_is_begun_anew_under_the_same_lock() {
    let (place, _index) = index(vec![document("https://a.test/a", "Old", "ancient")]);
    let begin = || Writer::begin(WriterLock::take(place.path())?, WriterResources::ALONE);
    let mut writer = begin().unwrap();
    assert!(matches!(begin(), Err(SearchError::Busy(_))));
    writer
        .commit(&IndexCheckpoint::new("file".into(), 1))
        .unwrap();
    writer.close().unwrap();
    let index = Index::in_folder(place.path()).unwrap().unwrap();
    assert_eq!(index.pages(), 0);
}

#[test]
fn the_best_of_many_are_the_same_as_when_all_are_scored() {
    let mut documents = Vec::new();
    for number in 0..600_usize {
        let words = ["common "; 9][..=(number % 9)].concat();
        let rare = if number % 7 == 0 { "rare" } else { "" };
        let body = format!("{words} {rare} {}", "filler ".repeat(number % 13));
        let title = if number % 50 == 0 { "Common" } else { "Page" };
        let url = format!("https://h{}.test/{number}", number % 3);
        documents.push(document(&url, title, &body));
    }
    let (_place, index) = index(documents);
    let ask = |text: &str, limit| {
        let query = Query::parse(text)
            .unwrap()
            .folding(Folding::Off)
            .limit(limit);
        index.search(&query).unwrap()
    };
    // A filter that holds for all pages makes the engine look at each of them.
    for text in [
        "common",
        "common rare",
        "common OR rare",
        "rare common filler",
    ] {
        let pruned = ask(text, 20);
        let whole = ask(&format!("{text} lang:en"), 20);
        assert_eq!(pruned.total, whole.total, "{text}");
        assert_eq!(pruned.facets, whole.facets, "{text}");
        let order = |results: &Results| {
            let hits = results.hits.iter();
            hits.map(|hit| (hit.url.clone(), hit.has_all_words))
                .collect::<Vec<_>>()
        };
        assert_eq!(order(&pruned), order(&whole), "{text}");
    }
    let both = ask("common rare", 1000);
    let with_all = both.hits.iter().filter(|hit| hit.has_all_words).count();
    assert_eq!(with_all, 600_usize.div_ceil(7));
    assert!(both.hits[..with_all].iter().all(|hit| hit.has_all_words));
    assert_eq!(
        both.facets.host.iter().map(|host| host.count).sum::<u64>(),
        600
    );
}

#[test]
fn what_pages_hold_stays_text() {
    let hostile = document(
        "https://a.test/a",
        "<script>\u{1b}[2J\u{202e}x",
        "evil </b> \u{7}words",
    );
    let (_place, index) = index(vec![hostile]);
    let results = index.search(&Query::parse("evil").unwrap()).unwrap();
    let hit = &results.hits[0];
    assert_eq!(hit.title, "<script> [2Jx");
    assert_eq!(hit.snippet.text, "evil </b> words");
    assert_eq!(hit.snippet.marks, [(0, 4)]);
}

#[test]
fn words_that_may_have_been_meant() {
    let (_place, index) = index(vec![
        document("https://a.test/a", "Iterator", "an iterator, items, it"),
        document("https://a.test/b", "Iterators", "the iterator of a list"),
    ]);
    let words = |word: &str| index.words_like(word).unwrap();
    assert_eq!(words("iteratr"), ["iterator", "items", "iterators"]);
    assert_eq!(words("list"), ["list"]);
    assert_eq!(words("zebra"), [""; 0]);
    assert_eq!(words(""), [""; 0]);
    let query = Query::parse("Iteratr \"a phrase\" -no pre* fuz~ title:Tîtle host:a.test").unwrap();
    assert_eq!(query.words(), ["iteratr", "a", "phrase", "title"]);
}
