//! The bill of materials: `CycloneDX` 1.5 as JSON.
//!
//! Owns the form. It refuses to know where the facts come from. Invariant: the same crates and the
//! same commit give the same bytes.

use anyhow::Result;
use serde_json::{Value, json};

use super::dependencies::{Dependencies, Linked};
use super::revision::Revision;

/// The document.
pub(super) fn json(dependencies: &Dependencies, revision: &Revision) -> Result<String> {
    let command = &dependencies.command;
    let mut application = component(command, "application");
    application["name"] = json!("clewline");
    let all = std::iter::once(command).chain(&dependencies.crates);
    let all: Vec<&Linked> = all.collect();
    let reference = |id: &String| {
        let found = all.iter().find(|it| it.id == *id);
        found.map(|it| package_url(it))
    };
    let edges = all.iter().map(|it| {
        let mut needs: Vec<String> = it.needs.iter().filter_map(reference).collect();
        needs.sort();
        json!({"ref": package_url(it), "dependsOn": needs})
    });
    let libraries = dependencies
        .crates
        .iter()
        .map(|it| component(it, "library"));
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": revision.iso, "component": application},
        "components": libraries.collect::<Vec<_>>(),
        "dependencies": edges.collect::<Vec<_>>(),
    });
    Ok(format!("{}\n", serde_json::to_string_pretty(&document)?))
}

fn component(it: &Linked, kind: &str) -> Value {
    let mut component = json!({
        "type": kind,
        "bom-ref": package_url(it),
        "name": it.name,
        "version": it.version,
        "purl": package_url(it),
        "licenses": [{"expression": it.licence.replace('/', " OR ")}],
    });
    if let Some(checksum) = &it.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

/// The name of a crate everywhere.
fn package_url(it: &Linked) -> String {
    format!("pkg:cargo/{}@{}", it.name, it.version)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn crates_and_their_needs_are_named() {
        let linked = |name: &str, needs: &[&str]| Linked {
            is_macro: false,
            id: name.to_owned(),
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT/Apache-2.0".to_owned(),
            source: None,
            folder: "folder".into(),
            checksum: Some("ab".to_owned()),
            needs: needs
                .iter()
                .map(|&need| need.to_owned())
                .collect::<BTreeSet<_>>(),
        };
        let dependencies = Dependencies {
            command: linked("clewline-cli", &["a"]),
            crates: vec![linked("a", &[])],
        };
        let revision = Revision {
            seconds: 0,
            iso: "1970-01-01T00:00:00Z".to_owned(),
            mail: String::new(),
        };
        let text = json(&dependencies, &revision).unwrap();
        let found: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(found["metadata"]["component"]["name"], "clewline");
        let component = &found["components"][0];
        assert_eq!(component["purl"], "pkg:cargo/a@1.0.0");
        assert_eq!(component["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(component["hashes"][0]["content"], "ab");
        let needs = &found["dependencies"][0]["dependsOn"];
        assert_eq!(*needs, json!(["pkg:cargo/a@1.0.0"]));
    }
}
