//! The translations that a page names.
//!
//! Owns what can be said of one page's list. Whether translations name each other is a matter of the
//! site. It refuses to know which languages pages are in.

use std::collections::BTreeMap;
use std::io;

use clewline_core::url::CrawlUrl;

use super::PageView;
use crate::facts::HtmlFacts;
use crate::probe::ProbeRow;
use crate::rules::bag::FindingBag;
use crate::rules::registry::index as rules;
use crate::site::RowFlags;
use crate::verdict::CheckVerdict;

/// ISO 639-1.
const LANGUAGES: &str = "aa ab ae af ak am an ar as av ay az ba be bg bh bi bm bn bo br bs ca ce ch co \
    cr cs cu cv cy da de dv dz ee el en eo es et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho \
    hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki kj kk kl km kn ko kr ks ku kv kw ky la \
    lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no nr nv ny oc oj om or \
    os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg si sk sl sm sn so sq sr ss st su sv sw ta te tg \
    th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu";
/// ISO 3166-1 alpha-2, and XK, which everybody uses for Kosovo.
const REGIONS: &str = "AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM \
    BN BO BQ BR BS BT BV BW BY BZ CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM \
    DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW \
    GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA \
    LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO MP MQ MR MS MT MU MV MW MX MY MZ \
    NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW PY QA RE RO RS RU RW \
    SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM TN TO TR \
    TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS XK YE YT ZA ZM ZW";

/// Whether a list has an entry for everybody else.
pub(in crate::rules) fn is_default(code: &str) -> bool {
    code.trim().eq_ignore_ascii_case("x-default")
}

pub(super) fn judge(view: &PageView<'_>, html: &HtmlFacts, bag: &mut FindingBag) -> io::Result<()> {
    if html.translations.is_empty() {
        return Ok(());
    }
    let keyer = view.ends.site.keyer();
    let mut by_code: BTreeMap<String, &CrawlUrl> = BTreeMap::new();
    let mut names_itself = false;
    for (code, url) in &html.translations {
        if !is_code(code) {
            let finding = view.finding(&rules::HREFLANG_CODE, format!("{code:?} is no language"));
            bag.list(finding.with_subject(&**code));
        }
        let url = match url {
            Ok(url) => url,
            Err(written) => {
                let finding = view.finding(&rules::HREFLANG_TARGET, "it is no address");
                bag.list(finding.with_subject(&**written));
                continue;
            }
        };
        let code = code.trim().to_ascii_lowercase();
        if let Some(other) = by_code.get(&code).filter(|other| **other != url) {
            let evidence = format!("{other} and {url}");
            let finding = view.finding(&rules::HREFLANG_SEVERAL, evidence);
            bag.list(finding.with_subject(&*code));
        }
        by_code.entry(code).or_insert(url);
        if keyer.key(url) == view.record.key {
            names_itself = true;
        } else {
            judge_target(view, url, bag)?;
        }
    }
    let has_default = by_code.keys().any(|code| is_default(code));
    if !names_itself {
        bag.gather(view.finding(&rules::HREFLANG_SELF, "it names others and not itself"));
    }
    if !has_default && by_code.len() > 1 {
        bag.gather(view.finding(&rules::HREFLANG_DEFAULT, "no x-default"));
    }
    Ok(())
}

fn judge_target(view: &PageView<'_>, url: &CrawlUrl, bag: &mut FindingBag) -> io::Result<()> {
    let site = view.ends.site;
    let row = site.row_of(url).filter(|row| site.has_host(row.key.host()));
    let evidence = match row {
        None => {
            let probe = view.ends.probes.row(url);
            let dead = probe.filter(|probe| probe.verdict() == CheckVerdict::Broken);
            dead.map(ProbeRow::evidence)
        }
        Some(row) => {
            let judged = view.ends.own(row.key)?;
            if judged.verdict == CheckVerdict::Broken {
                Some(judged.evidence.clone())
            } else if !judged.hops.is_empty() {
                Some(view.ends.hops_in_words(&judged))
            } else if row.is(RowFlags::NOINDEX) {
                Some("it says noindex".to_owned())
            } else if row.is(RowFlags::CANONICAL_ELSEWHERE) {
                Some("it names another page as canonical".to_owned())
            } else {
                None
            }
        }
    };
    if let Some(evidence) = evidence {
        let finding = view.finding(&rules::HREFLANG_TARGET, evidence);
        bag.list(finding.with_target(url.as_str()));
    }
    Ok(())
}

/// A language, with a script and a region at most (BCP 47, as search engines read it).
fn is_code(code: &str) -> bool {
    if is_default(code) {
        return true;
    }
    let mut parts = code.trim().split('-').peekable();
    let language = parts.next().unwrap_or_default().to_ascii_lowercase();
    let is_letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_known = LANGUAGES
        .split_ascii_whitespace()
        .any(|known| known == language);
    let is_rare = language.len() == 3 && is_letters(&language);
    if !is_known && !is_rare {
        return false;
    }
    parts.next_if(|part| part.len() == 4 && is_letters(part));
    let is_region = |part: &&str| {
        let region = part.to_ascii_uppercase();
        let is_area = part.len() == 3 && part.bytes().all(|byte| byte.is_ascii_digit());
        is_area
            || REGIONS
                .split_ascii_whitespace()
                .any(|known| known == region)
    };
    parts.next_if(is_region);
    parts.next().is_none()
}
