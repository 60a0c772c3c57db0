//! Languages in one alphabet: two letters (ISO 639-1) where there are two, else three (639-3).
//!
//! Owns the way from what pages declare (`de-AT`, `ger`, `en_US`) and from what is detected to
//! one code. It refuses to know how a language is detected. Invariant: a code is lower-case, and
//! no language has two.

/// Three letters (639-3, and 639-2 as libraries write it) and the two that stand for them.
const SHORT: [&str; 205] = [
    "aaraa", "abkab", "afraf", "akaak", "albsq", "amham", "araar", "argan", "armhy", "asmas",
    "avaav", "aveae", "aymay", "azeaz", "bakba", "bambm", "baqeu", "belbe", "benbn", "bihbh",
    "bisbi", "bodbo", "bosbs", "brebr", "bulbg", "burmy", "catca", "cescs", "chach", "chece",
    "chizh", "chucu", "chvcv", "corkw", "cosco", "crecr", "cymcy", "czecs", "danda", "deude",
    "divdv", "dutnl", "dzodz", "ellel", "engen", "epoeo", "estet", "euseu", "eweee", "faofo",
    "fasfa", "fijfj", "finfi", "frafr", "frefr", "fryfy", "fulff", "geoka", "gerde", "glagd",
    "glega", "glggl", "glvgv", "greel", "grngn", "gujgu", "hatht", "hauha", "hbssh", "hebhe",
    "herhz", "hinhi", "hmoho", "hrvhr", "hunhu", "hyehy", "iboig", "iceis", "idoio", "iiiii",
    "ikuiu", "ileie", "inaia", "indid", "ipkik", "islis", "itait", "javjv", "jpnja", "kalkl",
    "kankn", "kasks", "katka", "kaukr", "kazkk", "khmkm", "kikki", "kinrw", "kirky", "komkv",
    "konkg", "korko", "kuakj", "kurku", "laolo", "latla", "lavlv", "limli", "linln", "litlt",
    "ltzlb", "lublu", "luglg", "macmk", "mahmh", "malml", "maomi", "marmr", "mayms", "mkdmk",
    "mlgmg", "mltmt", "monmn", "mrimi", "msams", "myamy", "nauna", "navnv", "nblnr", "ndend",
    "ndong", "nepne", "nldnl", "nnonn", "nobnb", "norno", "nyany", "ocioc", "ojioj", "orior",
    "ormom", "ossos", "panpa", "perfa", "plipi", "polpl", "porpt", "pusps", "quequ", "rohrm",
    "ronro", "rumro", "runrn", "rusru", "sagsg", "sansa", "sinsi", "slksk", "slosk", "slvsl",
    "smese", "smosm", "snasn", "sndsd", "somso", "sotst", "spaes", "sqisq", "srdsc", "srpsr",
    "sswss", "sunsu", "swasw", "swesv", "tahty", "tamta", "tattt", "telte", "tgktg", "tgltl",
    "thath", "tibbo", "tirti", "tonto", "tsntn", "tsots", "tuktk", "turtr", "twitw", "uigug",
    "ukruk", "urdur", "uzbuz", "venve", "vievi", "volvo", "welcy", "wlnwa", "wolwo", "xhoxh",
    "yidyi", "yoryo", "zhaza", "zhozh", "zulzu",
];

/// Members of a language that has two letters, as detectors and pages name them.
const MEMBERS: [(&str, &str); 14] = [
    ("arb", "ar"),
    ("azj", "az"),
    ("cmn", "zh"),
    ("ekk", "et"),
    ("khk", "mn"),
    ("lvs", "lv"),
    ("npi", "ne"),
    ("ory", "or"),
    ("pes", "fa"),
    ("plt", "mg"),
    ("swh", "sw"),
    ("uzn", "uz"),
    ("ydd", "yi"),
    ("zsm", "ms"),
];

/// Two letters that are no longer used, and what stands for them.
const FORMER: [(&str, &str); 4] = [("in", "id"), ("iw", "he"), ("ji", "yi"), ("mo", "ro")];

/// Codes that name no language.
const NONE: [&str; 4] = ["mis", "mul", "und", "zxx"];

/// The code of a language tag or a code; nothing if it names none.
pub(crate) fn code_of(tag: &str) -> Option<String> {
    let first = tag.trim().split(['-', '_']).next()?;
    let code = first.to_ascii_lowercase();
    let is_code = code.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_code || NONE.contains(&code.as_str()) {
        return None;
    }
    let listed = |list: &[(&str, &'static str)]| {
        let found = list.iter().find(|(name, _)| *name == code);
        found.map(|(_, short)| (*short).to_owned())
    };
    match code.len() {
        2 => listed(&FORMER).or_else(|| is_short(&code).then_some(code)),
        3 => listed(&MEMBERS).or_else(|| Some(short(&code).map_or(code, ToOwned::to_owned))),
        _ => None,
    }
}

fn short(code: &str) -> Option<&'static str> {
    let found = SHORT.binary_search_by(|known| known[..3].cmp(code)).ok()?;
    Some(&SHORT[found][3..])
}

fn is_short(code: &str) -> bool {
    SHORT.iter().any(|known| &known[3..] == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(SHORT.is_sorted_by(|one, other| one[..3] < other[..3]));
        assert!(SHORT.iter().all(|known| known.len() == 5));
    }

    #[test]
    fn every_spelling_has_one_code() {
        for (tag, expected) in [
            ("en", Some("en")),
            ("eng", Some("en")),
            ("EN_us", Some("en")),
            (" de-AT ", Some("de")),
            ("ger", Some("de")),
            ("deu", Some("de")),
            ("zh-Hant-TW", Some("zh")),
            ("cmn", Some("zh")),
            ("iw", Some("he")),
            ("nds", Some("nds")),
            ("xx", None),
            ("und", None),
            ("english", None),
            ("", None),
            ("%lang%", None),
        ] {
            assert_eq!(code_of(tag).as_deref(), expected, "{tag}");
        }
    }

    #[test]
    fn what_is_detected_has_a_code() {
        for language in whatlang::Lang::all() {
            let code = code_of(language.code()).unwrap();
            assert!(is_short(&code), "{language} is {code}");
        }
    }
}
