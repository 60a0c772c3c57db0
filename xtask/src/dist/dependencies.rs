//! What the command is made of: the crates that are linked into it.
//!
//! Owns the reading of `cargo metadata` and the rules for crates of others: where they come from
//! and under which terms. It refuses to know packages. Invariant: crates are sorted by name and
//! version, and each is there once.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::{licences, said};
use crate::stage::{Counts, Ending, say};
use crate::{Workspace, cargo};

/// The package of the command.
const COMMAND: &str = "clewline-cli";

/// The only place that crates of others may come from.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// A crate in the command.
#[derive(Debug, Clone)]
pub(super) struct Linked {
    pub(super) id: String,
    pub(super) name: String,
    pub(super) version: String,
    /// The terms, as an SPDX expression.
    pub(super) licence: String,
    /// Where it comes from; nothing for crates of the workspace.
    pub(super) source: Option<String>,
    pub(super) folder: PathBuf,
    /// The SHA-256 digest that `Cargo.lock` has.
    pub(super) checksum: Option<String>,
    /// The crates that it names, by their ids.
    pub(super) needs: BTreeSet<String>,
    /// It runs inside the compiler: neither it nor what it needs is in the command.
    pub(super) is_macro: bool,
}

impl Linked {
    pub(super) fn is_ours(&self) -> bool {
        self.source.is_none()
    }
}

/// The command and everything that is linked into it.
#[derive(Debug)]
pub(super) struct Dependencies {
    pub(super) command: Linked,
    /// Everything but the command, ours and others'.
    pub(super) crates: Vec<Linked>,
}

impl Dependencies {
    /// Asks cargo what the command needs on a target.
    pub(super) fn read(workspace: &Workspace, target: &str) -> Result<Self> {
        let mut command = cargo::command(workspace);
        let words = ["metadata", "--format-version", "1", "--locked"];
        let text = said(command.args(words).args(["--filter-platform", target]))?;
        let metadata: Value = serde_json::from_str(&text).context("cargo metadata")?;
        let lock = fs::read_to_string(workspace.root.join("Cargo.lock"))?;
        Self::from_metadata(&metadata, &checksums(&lock)).context("the form of cargo metadata")
    }

    fn from_metadata(metadata: &Value, checksums: &Checksums) -> Option<Self> {
        let nodes = metadata["resolve"]["nodes"].as_array()?;
        let edges: BTreeMap<&str, BTreeSet<String>> = nodes
            .iter()
            .filter_map(|node| Some((node["id"].as_str()?, linked_by(node))))
            .collect();
        let packages: BTreeMap<&str, &Value> = metadata["packages"]
            .as_array()?
            .iter()
            .filter_map(|package| Some((package["id"].as_str()?, package)))
            .collect();
        let root = packages.iter().find(|(_, it)| it["name"] == COMMAND)?.0;
        let mut found = BTreeSet::from([(*root).to_owned()]);
        let mut open = vec![(*root).to_owned()];
        while let Some(id) = open.pop() {
            let needs = edges.get(id.as_str())?.iter().cloned();
            open.extend(needs.filter(|need| found.insert(need.clone())));
        }
        let crates = found.iter().map(|id| {
            let needs = edges.get(id.as_str())?.clone();
            linked(packages.get(id.as_str())?, needs, checksums)
        });
        let mut crates = crates.collect::<Option<Vec<_>>>()?;
        let place = crates.iter().position(|it| it.name == COMMAND)?;
        let command = crates.remove(place);
        let key = |it: &Linked| (it.name.clone(), it.version.clone());
        crates.sort_by_key(key);
        Some(Self { command, crates })
    }

    pub(super) fn version(&self) -> &str {
        &self.command.version
    }

    /// The crates of others.
    pub(super) fn foreign(&self) -> impl Iterator<Item = &Linked> {
        self.crates.iter().filter(|it| !it.is_ours())
    }

    /// The crates of others whose code is in the command.
    fn foreign_code(&self) -> impl Iterator<Item = &Linked> {
        let by_id: BTreeMap<&str, &Linked> =
            self.crates.iter().map(|it| (it.id.as_str(), it)).collect();
        let mut found = BTreeSet::new();
        let mut open = vec![&self.command];
        while let Some(next) = open.pop() {
            let needs = next.needs.iter().filter_map(|id| by_id.get(id.as_str()));
            let code = needs.filter(|it| !it.is_macro);
            open.extend(code.filter(|it| found.insert(it.id.as_str())));
        }
        self.foreign()
            .filter(move |it| found.contains(it.id.as_str()))
    }
}

/// The crates that a node links: neither those of its tests nor those of its build script.
fn linked_by(node: &Value) -> BTreeSet<String> {
    let is_linked = |need: &&Value| {
        let kinds = need["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"].is_null()))
    };
    let needs = node["deps"].as_array().into_iter().flatten();
    let names = needs.filter(is_linked).filter_map(|it| it["pkg"].as_str());
    names.map(str::to_owned).collect()
}

fn linked(package: &Value, needs: BTreeSet<String>, checksums: &Checksums) -> Option<Linked> {
    let text = |name: &str| package[name].as_str().map(str::to_owned);
    let (name, version) = (text("name")?, text("version")?);
    let manifest = PathBuf::from(text("manifest_path")?);
    let targets = package["targets"].as_array().into_iter().flatten();
    let mut kinds = targets
        .filter_map(|target| target["kind"].as_array())
        .flatten();
    Some(Linked {
        is_macro: kinds.any(|kind| kind == "proc-macro"),
        id: text("id")?,
        licence: text("license").unwrap_or_default(),
        source: text("source"),
        folder: manifest.parent()?.to_owned(),
        checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
        name,
        version,
        needs,
    })
}

/// Digests by name and version.
type Checksums = BTreeMap<(String, String), String>;

/// The digests in a `Cargo.lock`.
fn checksums(lock: &str) -> Checksums {
    let value = |table: &str, key: &str| {
        let start = format!("{key} = \"");
        let line = table.lines().find_map(|line| line.strip_prefix(&start))?;
        line.strip_suffix('"').map(str::to_owned)
    };
    let entry = |table: &str| {
        let name = (value(table, "name")?, value(table, "version")?);
        Some((name, value(table, "checksum")?))
    };
    lock.split("[[package]]").filter_map(entry).collect()
}

/// Checks where every crate of others comes from and under which terms, and names crates that are
/// linked in two versions. Advisories are not checked: their database can't be had offline.
pub(crate) fn check(workspace: &Workspace) -> Result<Ending> {
    let target = super::compile::host()?;
    let dependencies = Dependencies::read(workspace, &target)?;
    let mut broken = Vec::new();
    for it in dependencies.foreign() {
        let name = format!("{} {}", it.name, it.version);
        if it.source.as_deref() != Some(REGISTRY) {
            broken.push(format!("{name} comes from {:?}", it.source));
        }
        if !licences::permits(&it.licence) {
            broken.push(format!("the terms of {name} are {:?}", it.licence));
        }
    }
    broken.extend(too_many_twins(&dependencies));
    for row in &broken {
        say(&format!("dependencies: {row}"));
    }
    let count = dependencies.foreign().count();
    say(&format!("{count} crates of others; advisories not checked"));
    Ok(Ending::Ran(if broken.is_empty() {
        Counts::PASSED
    } else {
        Counts::FAILED
    }))
}

/// Crates whose code may be in the command in several versions. This number may only shrink.
const MOST_TWINS: usize = 19;

fn too_many_twins(dependencies: &Dependencies) -> Option<String> {
    let mut versions: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in dependencies.foreign_code() {
        versions.entry(&it.name).or_default().push(&it.version);
    }
    versions.retain(|_, versions| versions.len() > 1);
    let names: Vec<String> = versions
        .iter()
        .map(|(name, versions)| format!("{name} {}", versions.join(" and ")))
        .collect();
    say(&format!("in several versions: {}", names.join(", ")));
    (names.len() > MOST_TWINS).then(|| {
        let count = names.len();
        format!("{count} crates are linked in several versions, at most {MOST_TWINS} may be")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn package(name: &str, source: Option<&str>) -> Value {
        json!({"id": name, "name": name, "version": "1.0.0", "license": "MIT",
               "source": source, "manifest_path": format!("/a/{name}/Cargo.toml")})
    }

    fn need(name: &str, kind: Option<&str>) -> Value {
        json!({"pkg": name, "dep_kinds": [{"kind": kind}]})
    }

    #[test]
    fn only_what_is_linked_counts() {
        let metadata = json!({
            "packages": [package("clewline-cli", None), package("core", None),
                         package("serde", Some(REGISTRY)), package("cc", Some(REGISTRY)),
                         package("lonely", None)],
            "resolve": {"nodes": [
                {"id": "clewline-cli", "deps": [need("core", None), need("cc", Some("build"))]},
                {"id": "core", "deps": [need("serde", None), need("lonely", Some("dev"))]},
                {"id": "serde", "deps": []}, {"id": "cc", "deps": []},
                {"id": "lonely", "deps": []}]},
        });
        let lock = "[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\nchecksum = \"abc\"\n";
        let found = Dependencies::from_metadata(&metadata, &checksums(lock)).unwrap();
        let names: Vec<&str> = found.crates.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["core", "serde"]);
        let foreign: Vec<&Linked> = found.foreign().collect();
        assert_eq!(foreign.len(), 1);
        assert_eq!(foreign[0].checksum.as_deref(), Some("abc"));
        assert_eq!(foreign[0].folder, PathBuf::from("/a/serde"));
    }
}
