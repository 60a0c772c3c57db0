//! What stands at the beginning of each file: who wrote it, how, and what is not in it.

use clewline_job::archive::KEY_SEED;
use clewline_warc::warc_fields;

use crate::config::Config;

/// The block of the warcinfo record of a crawl by this configuration, whose keys have this seed.
pub(crate) fn info(config: &Config, seed: u64) -> Vec<u8> {
    let version = env!("CARGO_PKG_VERSION");
    let software = format!("clewline/{version} (+{})", crate::config::HOME);
    let robots = if config.scope.robots {
        "obey"
    } else {
        "ignore"
    };
    let secrets = if config.output.archive.keep_secrets {
        "kept"
    } else {
        "the values of Authorization, Proxy-Authorization, Cookie and of the user's own header \
         fields are replaced in request records"
    };
    // A configuration never serialises its secrets.
    let settings = serde_json::to_string(config).unwrap_or_default();
    let agent = config.fetch.agent();
    let seed = format!("{seed:016x}");
    let mut fields = vec![
        ("software", software.as_str()),
        ("format", "WARC File Format 1.1"),
        (
            "conformsTo",
            "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        ),
        ("robots", robots),
        ("http-header-user-agent", &agent),
        ("secrets", secrets),
        (KEY_SEED, &seed),
    ];
    if let Some(operator) = &config.fetch.contact {
        fields.push(("operator", operator));
    }
    fields.push(("settings", &settings));
    warc_fields(fields)
}
