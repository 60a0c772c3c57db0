//! Text for pages: titles, sentences and paragraphs in a few languages.
//!
//! Owns the vocabulary. Refuses to know pages. Invariant: two streams of numbers make texts that
//! share words and hardly ever a sentence, as two articles of one site do.

use super::dice::Dice;

/// What a language has to make sentences from.
pub(super) struct Language {
    /// The tag of the language.
    pub(super) code: &'static str,
    nouns: &'static [&'static str],
    verbs: &'static [&'static str],
    adjectives: &'static [&'static str],
    /// An article, the word for "and", the one for "because".
    small: [&'static str; 3],
}

/// The language of sites that say nothing else.
pub(super) const ENGLISH: &Language = &LANGUAGES[0];

/// All languages.
pub(super) const LANGUAGES: [Language; 4] = [
    Language {
        code: "en",
        nouns: &[
            "kettle", "valley", "engine", "garden", "letter", "bridge", "harbour", "lantern",
            "orchard", "compass", "theatre", "mountain", "carpet", "window", "violin", "library",
            "glacier", "workshop", "festival", "recipe", "machine", "island", "signal", "painting",
            "railway", "granite", "village", "journal", "forest", "market", "clock", "river",
            "council", "museum", "teacher", "weaver", "baker", "captain", "farmer", "student",
            "answer", "question", "method", "pattern", "shadow", "voyage", "harvest", "winter",
            "summer", "evening", "copper", "timber", "pocket", "ladder", "mirror", "needle",
            "anchor", "barrel", "saddle", "feather",
        ],
        verbs: &[
            "follows",
            "carries",
            "repairs",
            "crosses",
            "measures",
            "explains",
            "paints",
            "remembers",
            "collects",
            "describes",
            "changes",
            "supports",
            "replaces",
            "protects",
            "improves",
            "needs",
            "finds",
            "opens",
            "keeps",
            "builds",
            "moves",
            "shows",
            "holds",
            "meets",
        ],
        adjectives: &[
            "quiet", "narrow", "early", "heavy", "bright", "common", "local", "modern", "ancient",
            "simple", "useful", "northern", "wooden", "careful", "sudden", "famous", "empty",
            "patient", "rough", "gentle", "hollow", "steady", "distant", "honest",
        ],
        small: ["the", "and", "because"],
    },
    Language {
        code: "de",
        nouns: &[
            "Kessel",
            "Garten",
            "Brief",
            "Hafen",
            "Laterne",
            "Kompass",
            "Theater",
            "Teppich",
            "Fenster",
            "Geige",
            "Werkstatt",
            "Rezept",
            "Insel",
            "Gemälde",
            "Bahnhof",
            "Granit",
            "Dorf",
            "Wald",
            "Markt",
            "Uhr",
            "Fluss",
            "Lehrer",
            "Weber",
            "Bauer",
            "Frage",
            "Antwort",
            "Muster",
            "Ernte",
            "Winter",
            "Abend",
            "Kupfer",
            "Leiter",
            "Spiegel",
            "Anker",
            "Sattel",
            "Feder",
        ],
        verbs: &[
            "folgt",
            "trägt",
            "repariert",
            "misst",
            "erklärt",
            "malt",
            "sammelt",
            "ändert",
            "ersetzt",
            "schützt",
            "braucht",
            "findet",
            "öffnet",
            "behält",
            "baut",
            "zeigt",
        ],
        adjectives: &[
            "still",
            "eng",
            "früh",
            "schwer",
            "hell",
            "einfach",
            "nützlich",
            "alt",
            "berühmt",
            "leer",
            "geduldig",
            "rau",
            "hohl",
            "fern",
            "ehrlich",
            "neu",
        ],
        small: ["das", "und", "weil"],
    },
    Language {
        code: "fr",
        nouns: &[
            "jardin",
            "lettre",
            "pont",
            "port",
            "lanterne",
            "verger",
            "boussole",
            "tapis",
            "fenêtre",
            "violon",
            "glacier",
            "atelier",
            "recette",
            "machine",
            "île",
            "tableau",
            "gare",
            "granit",
            "village",
            "forêt",
            "marché",
            "horloge",
            "rivière",
            "musée",
            "boulanger",
            "question",
            "réponse",
            "voyage",
            "récolte",
            "hiver",
            "soir",
            "cuivre",
            "échelle",
            "miroir",
            "ancre",
            "plume",
        ],
        verbs: &[
            "suit", "porte", "répare", "traverse", "mesure", "explique", "peint", "décrit",
            "change", "remplace", "protège", "cherche", "trouve", "ouvre", "garde", "montre",
        ],
        adjectives: &[
            "calme",
            "étroit",
            "lourd",
            "clair",
            "simple",
            "utile",
            "ancien",
            "célèbre",
            "vide",
            "rude",
            "creux",
            "lointain",
            "honnête",
            "moderne",
            "local",
            "doux",
        ],
        small: ["le", "et", "car"],
    },
    Language {
        code: "es",
        nouns: &[
            "jardín",
            "carta",
            "puente",
            "puerto",
            "linterna",
            "huerto",
            "brújula",
            "alfombra",
            "ventana",
            "violín",
            "taller",
            "receta",
            "máquina",
            "isla",
            "cuadro",
            "estación",
            "granito",
            "pueblo",
            "bosque",
            "mercado",
            "reloj",
            "río",
            "museo",
            "maestro",
            "pregunta",
            "respuesta",
            "viaje",
            "cosecha",
            "invierno",
            "tarde",
            "cobre",
            "escalera",
            "espejo",
            "aguja",
            "ancla",
            "pluma",
        ],
        verbs: &[
            "sigue",
            "lleva",
            "repara",
            "cruza",
            "mide",
            "explica",
            "pinta",
            "recuerda",
            "cambia",
            "apoya",
            "protege",
            "necesita",
            "encuentra",
            "abre",
            "guarda",
            "muestra",
        ],
        adjectives: &[
            "quieto", "estrecho", "pesado", "claro", "simple", "útil", "antiguo", "famoso",
            "vacío", "áspero", "hueco", "lejano", "honesto", "moderno", "local", "suave",
        ],
        small: ["el", "y", "porque"],
    },
];

impl Language {
    /// Three or four words for a title.
    pub(super) fn title(&self, dice: &mut Dice) -> String {
        let (adjective, first) = (dice.pick(self.adjectives), dice.pick(self.nouns));
        let [_, and, _] = self.small;
        let title = match dice.below(3) {
            0 => format!("{adjective} {first}"),
            1 => format!("{first} {and} {}", dice.pick(self.nouns)),
            _ => format!("{adjective} {first} {and} {}", dice.pick(self.nouns)),
        };
        capital(&title)
    }

    /// One sentence.
    pub(super) fn sentence(&self, dice: &mut Dice) -> String {
        let [the, and, because] = self.small;
        let phrase = |dice: &mut Dice| {
            let noun = dice.pick(self.nouns);
            match dice.below(2) {
                0 => format!("{the} {noun}"),
                _ => format!("{the} {} {noun}", dice.pick(self.adjectives)),
            }
        };
        let (subject, object) = (phrase(dice), phrase(dice));
        let verb = dice.pick(self.verbs);
        let tail = match dice.below(3) {
            0 => String::new(),
            1 => format!(" {and} {} {}", dice.pick(self.verbs), phrase(dice)),
            _ => format!(
                ", {because} {} {} {}",
                phrase(dice),
                dice.pick(self.verbs),
                phrase(dice)
            ),
        };
        capital(&format!("{subject} {verb} {object}{tail}."))
    }

    /// Paragraphs of four to seven sentences each.
    pub(super) fn prose(&self, dice: &mut Dice, paragraphs: usize) -> String {
        let mut text = String::new();
        for _ in 0..paragraphs {
            text += "<p>";
            for _ in 0..4 + dice.below(4) {
                text += &self.sentence(dice);
                text.push(' ');
            }
            text += "</p>\n";
        }
        text
    }

    /// One noun.
    pub(super) fn noun(&self, dice: &mut Dice) -> &'static str {
        let nouns: &[&'static str] = self.nouns;
        nouns[dice.below(nouns.len())]
    }
}

/// A title as it stands in a path.
pub(super) fn slug(title: &str) -> String {
    let letters = title
        .chars()
        .filter(|letter| letter.is_ascii() || *letter == ' ');
    let lower = letters.map(|letter| letter.to_ascii_lowercase());
    lower
        .map(|letter| if letter == ' ' { '-' } else { letter })
        .collect()
}

pub(super) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
