//! The data that a page carries as JSON-LD.
//!
//! Owns how scripts become a flat list of nodes, and which of them tell about the page. It
//! refuses to resolve contexts. Invariant: bounded in nodes and in bytes; a script that is not
//! JSON is no data.

use serde_json::Value;

/// Nodes that are kept of a page.
const MOST_NODES: usize = 1000;
/// A longer script is not read.
const LONGEST_SCRIPT: usize = 1 << 20;

/// Adds the nodes of a script: lists and graphs are opened, nodes inside nodes stay there.
pub(crate) fn collect(script: &str, nodes: &mut Vec<Value>) {
    if script.len() > LONGEST_SCRIPT {
        return;
    }
    // The parser refuses to nest deeper than 128, so the recursion below is bounded.
    if let Ok(value) = serde_json::from_str(script.trim()) {
        flatten(value, nodes);
    }
}

fn flatten(value: Value, nodes: &mut Vec<Value>) {
    match value {
        Value::Array(values) => values.into_iter().for_each(|value| flatten(value, nodes)),
        Value::Object(mut object) => {
            let graph = object.remove("@graph");
            let is_wrapper = object
                .keys()
                .all(|key| matches!(key.as_str(), "@context" | "@id"));
            if (graph.is_none() || !is_wrapper) && nodes.len() < MOST_NODES {
                nodes.push(Value::Object(object));
            }
            if let Some(graph) = graph {
                flatten(graph, nodes);
            }
        }
        _ => {}
    }
}

/// The first text under one of these names in any node: a string, or the name of a thing.
pub(crate) fn text_of(nodes: &[Value], names: &[&str]) -> Option<String> {
    let found = names
        .iter()
        .flat_map(|name| nodes.iter().filter_map(move |node| node.get(name)));
    found.filter_map(plain).find(|text| !text.is_empty())
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Object(object) => object
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_owned),
        Value::Array(values) => {
            let names: Vec<_> = values
                .iter()
                .filter(|value| !value.is_array())
                .filter_map(plain)
                .collect();
            (!names.is_empty()).then(|| names.join(", "))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn graphs_and_lists_are_flattened() {
        let mut nodes = Vec::new();
        let script = r#"{"@context": "x", "@graph": [{"a": 1}, [{"b": {"c": 2}}]]}"#;
        collect(script, &mut nodes);
        collect(r#"[{"d": 3}, 4]"#, &mut nodes);
        collect("{broken", &mut nodes);
        collect(&"[".repeat(100_000), &mut nodes);
        assert_eq!(
            nodes,
            [json!({"a": 1}), json!({"b": {"c": 2}}), json!({"d": 3})]
        );
    }

    #[test]
    fn texts_are_strings_or_names() {
        let nodes = [json!({"author": [{"name": "A"}, "B"], "headline": " T "})];
        assert_eq!(text_of(&nodes, &["author"]).as_deref(), Some("A, B"));
        assert_eq!(text_of(&nodes, &["name", "headline"]).as_deref(), Some("T"));
        assert_eq!(text_of(&nodes, &["name"]), None);
    }
}
