//! The block that a client's settings need.
//!
//! Owns its form, which is that of the file `.mcp.json` and its relatives. It writes no file.

use std::path::Path;

use serde_json::json;

/// What to paste into the settings of a client, as JSON: the command, and what it is called with
/// behind `mcp`.
///
/// ```
/// let block = clewline_mcp::client_block("clewline".as_ref(), &["/data/crawls".to_owned()]);
/// assert!(block.contains("\"mcp\""));
/// ```
pub fn client_block(command: &Path, arguments: &[String]) -> String {
    let mut words = vec!["mcp".to_owned()];
    words.extend_from_slice(arguments);
    let block = json!({
        "mcpServers": { "clewline": { "command": command, "args": words } }
    });
    serde_json::to_string_pretty(&block).unwrap_or_default() + "\n"
}
