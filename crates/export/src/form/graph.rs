//! The graph of links: `nodes.csv`, `edges.csv` and `graph.graphml`.
//!
//! Owns which links are edges: those between two URLs that were settled and that filters let
//! through, each with its kind. `PageRank` counts links that people follow. Invariants: numbers
//! of nodes are those of the order of the crawl; 20 bytes are held for each node and 8 for each
//! edge, up to [`MOST_NODES`] and [`MOST_EDGES`], and what lies beyond has no rank.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::io::ErrorKind;

use clewline_core::key::Key;
use clewline_core::link::LinkKind;
use clewline_core::rank::page_rank;
use clewline_job::escape;
use clewline_job::log::links;
use clewline_job::pages::PageNeeds;
use clewline_job::record::Record;

use crate::draft::{Draft, DraftFile};
use crate::error::ExportError;
use crate::export::{ExportContext, Output, Sink};
use crate::form::csv::CsvRow;
use crate::pages::filtered;

/// Nodes of the graph.
const MOST_NODES: usize = 8_000_000;
/// Edges that ranks follow.
const MOST_EDGES: usize = 64_000_000;
/// Rounds of ranks.
const ROUNDS: usize = 40;
/// A file with this ending is the graph in this form alone.
const ENDING: &str = "graphml";
const NODE_COLUMNS: [&str; 7] = [
    "id", "url", "status", "depth", "inlinks", "outlinks", "pagerank",
];
const EDGE_COLUMNS: [&str; 3] = ["source", "target", "kind"];

const HEAD: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="url" for="node" attr.name="url" attr.type="string"/>
<key id="title" for="node" attr.name="title" attr.type="string"/>
<key id="status" for="node" attr.name="status" attr.type="int"/>
<key id="depth" for="node" attr.name="depth" attr.type="int"/>
<key id="inlinks" for="node" attr.name="inlinks" attr.type="int"/>
<key id="outlinks" for="node" attr.name="outlinks" attr.type="int"/>
<key id="pagerank" for="node" attr.name="pagerank" attr.type="double"/>
<key id="kind" for="edge" attr.name="kind" attr.type="string"/>
<graph id="links" edgedefault="directed">
"#;
const FOOT: &str = "</graph>\n</graphml>\n";

pub(super) fn write(work: &mut ExportContext<'_>, output: Output<'_>) -> Result<(), ExportError> {
    let folder = match output {
        Output::Path(path, existing) if path.extension().is_none_or(|end| end != ENDING) => {
            Some((path, existing))
        }
        _ => None,
    };
    let Some((path, existing)) = folder else {
        let sink = Sink::open(output)?;
        let tables = None;
        return write_graph(work, Writers { sink, tables });
    };
    let draft = Draft::folder(path, existing)?;
    let file = |name: &str| DraftFile::create(&draft.place().join(name));
    let tables = Some((file("nodes.csv")?, file("edges.csv")?));
    let graph = draft.place().join("graph.graphml");
    let sink = Sink::open(Output::Path(&graph, existing))?;
    write_graph(work, Writers { sink, tables })?;
    work.finish(draft)
}

fn write_graph(work: &mut ExportContext<'_>, mut writers: Writers<'_>) -> Result<(), ExportError> {
    let graph = Graph::read(work)?;
    let ranks = page_rank(graph.keys.len(), &graph.followed, ROUNDS);
    writers.begin()?;
    let mut records = filtered(work.job, &work.options.filters, PageNeeds::default())?;
    for rank in ranks {
        let Some(record) = records.next() else {
            break;
        };
        let record = record?.record;
        work.done.rows += 1;
        work.tell_of(records.offset());
        let number = work.done.rows as usize - 1;
        writers.node(&record, graph.degrees[number], rank, work.done.rows)?;
    }
    each_link(work, |work, source, target, kind| {
        let (Some(source), Some(target)) = (graph.number(source), graph.number(target)) else {
            return Ok(());
        };
        work.done.links += 1;
        writers.edge(source, target, kind)
    })?;
    writers.end()
}

/// Calls with every link of the log.
fn each_link(
    work: &mut ExportContext<'_>,
    mut take: impl FnMut(&mut ExportContext<'_>, Key, Key, LinkKind) -> Result<(), ExportError>,
) -> Result<(), ExportError> {
    for link in work.job.links()?.into_iter().flatten() {
        match link {
            Ok((source, target, kind)) => take(work, source, target, kind)?,
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => break,
            Err(error) => {
                let path = work.job.path().join(links::FILE);
                return Err(ExportError::input(&path)(error));
            }
        }
    }
    Ok(())
}

/// Links to and from a page, each other page once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Degrees {
    inlinks: u32,
    outlinks: u32,
}

/// Who links to whom.
#[derive(Debug, Default)]
struct Graph {
    /// Sorted, with the number of the node.
    keys: Vec<(Key, u32)>,
    degrees: Vec<Degrees>,
    /// Links that people follow, each pair once.
    followed: Vec<(u32, u32)>,
}

impl Graph {
    fn read(work: &mut ExportContext<'_>) -> Result<Self, ExportError> {
        let mut graph = Self::default();
        let records = filtered(work.job, &work.options.filters, PageNeeds::default())?;
        for (number, record) in (0_u32..).zip(records.take(MOST_NODES)) {
            graph.keys.push((record?.record.key, number));
        }
        graph.keys.sort_unstable();
        graph.degrees = vec![Degrees::default(); graph.keys.len()];
        let mut page = None;
        let mut targets = HashSet::new();
        each_link(work, |_, source, target, kind| {
            let ends = (graph.number(source), graph.number(target));
            let (Some(source), Some(target)) = ends else {
                return Ok(());
            };
            if page != Some(source) {
                page = Some(source);
                targets.clear();
            }
            if kind.is_followed() && source != target && targets.insert(target) {
                graph.add(source, target);
            }
            Ok(())
        })?;
        Ok(graph)
    }

    fn add(&mut self, source: u32, target: u32) {
        self.degrees[source as usize].outlinks += 1;
        self.degrees[target as usize].inlinks += 1;
        if self.followed.len() < MOST_EDGES {
            self.followed.push((source, target));
        }
    }

    fn number(&self, key: Key) -> Option<u32> {
        let found = self.keys.binary_search_by_key(&key, |(key, _)| *key);
        found.ok().map(|found| self.keys[found].1)
    }
}

/// The files of a graph.
struct Writers<'a> {
    sink: Sink<'a>,
    /// Nodes and edges.
    tables: Option<(DraftFile, DraftFile)>,
}

impl Writers<'_> {
    fn begin(&mut self) -> Result<(), ExportError> {
        self.sink.write(HEAD.as_bytes())?;
        if let Some((nodes, edges)) = &mut self.tables {
            for (file, columns) in [(nodes, &NODE_COLUMNS[..]), (edges, &EDGE_COLUMNS)] {
                let mut row = CsvRow::default();
                for column in columns {
                    row.text(column);
                }
                file.put(row.end())?;
            }
        }
        Ok(())
    }

    fn node(
        &mut self,
        record: &Record,
        degrees: Degrees,
        rank: f64,
        id: u64,
    ) -> Result<(), ExportError> {
        let url = record.url.as_str();
        let Degrees { inlinks, outlinks } = degrees;
        let mut node = format!("<node id=\"n{id}\">{}", data("url", url));
        if let Some(title) = &record.title {
            node.push_str(&data("title", title));
        }
        if let Some(status) = record.status {
            node.push_str(&data("status", &status.to_string()));
        }
        node.push_str(&data("depth", &record.depth.to_string()));
        node.push_str(&data("inlinks", &inlinks.to_string()));
        node.push_str(&data("outlinks", &outlinks.to_string()));
        node.push_str(&data("pagerank", &format!("{rank:.6}")));
        node.push_str("</node>\n");
        self.sink.write(node.as_bytes())?;
        let Some((nodes, _)) = &mut self.tables else {
            return Ok(());
        };
        let mut row = CsvRow::default();
        row.shown(id);
        row.text(url);
        row.text(
            &record
                .status
                .map(|status| status.to_string())
                .unwrap_or_default(),
        );
        row.shown(record.depth);
        row.shown(inlinks);
        row.shown(outlinks);
        row.shown(format_args!("{rank:.6}"));
        nodes.put(row.end())
    }

    fn edge(&mut self, source: u32, target: u32, kind: LinkKind) -> Result<(), ExportError> {
        // Nodes are counted from 1 where people see them.
        let (source, target) = (source + 1, target + 1);
        let mut edge = String::new();
        let kind = kind.name();
        let _ = writeln!(
            edge,
            "<edge source=\"n{source}\" target=\"n{target}\">{}</edge>",
            data("kind", kind)
        );
        self.sink.write(edge.as_bytes())?;
        let Some((_, edges)) = &mut self.tables else {
            return Ok(());
        };
        edges.put(&format!("{source},{target},{kind}\r\n"))
    }

    fn end(mut self) -> Result<(), ExportError> {
        self.sink.write(FOOT.as_bytes())?;
        if let Some((nodes, edges)) = self.tables {
            nodes.close()?;
            edges.close()?;
        }
        self.sink.finish()
    }
}

fn data(key: &str, value: &str) -> String {
    format!("<data key=\"{key}\">{}</data>", escape::html(value))
}
