//! The protocol.
//!
//! Owns the server on standard input and output, and is the only module that knows the crate `rmcp`.
//! It refuses to know what tools do. Invariant: standard output holds messages of the protocol and
//! nothing else; a call never blocks the messages that follow it.

use std::io;
use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServiceExt, transport};

use crate::answer::ToolAnswer;
use crate::door::AssistantDoor;
use crate::tools::{INSTRUCTIONS, ToolSheet, sheets};

/// Calls that are at work at a time; others wait.
const MOST_CALLS: usize = 4;
/// Threads for standard input, standard output, and one to spare.
const STREAM_THREADS: usize = 3;

/// Why the door closed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DoorError {
    /// The runtime did not start.
    #[error("cannot start: {0}")]
    Runtime(#[from] io::Error),
    /// Whoever opened the door did not speak the protocol.
    #[error("the client does not speak the Model Context Protocol: {0}")]
    Protocol(String),
}

/// Serves a client on standard input and output until it leaves.
pub fn serve(door: &Arc<AssistantDoor>) -> Result<(), DoorError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(MOST_CALLS + STREAM_THREADS)
        .enable_all()
        .build()?;
    let served = runtime.block_on(async {
        let service = ProtocolService {
            door: Arc::clone(door),
            calls: Arc::new(tokio::sync::Semaphore::new(MOST_CALLS)),
        };
        let running = service.serve(transport::stdio()).await;
        let running = running.map_err(|error| DoorError::Protocol(error.to_string()))?;
        let left = running.waiting().await;
        left.map(|_| ())
            .map_err(|error| DoorError::Protocol(error.to_string()))
    });
    door.close();
    // Reading from a client that keeps its end open cannot be cancelled.
    runtime.shutdown_background();
    served
}

/// The tools, for one client.
#[derive(Debug, Clone)]
struct ProtocolService {
    door: Arc<AssistantDoor>,
    calls: Arc<tokio::sync::Semaphore>,
}

impl ServerHandler for ProtocolService {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut info = ServerConfig::new(capabilities).with_instructions(INSTRUCTIONS);
        info.server_info = Implementation::new("clewline", env!("CARGO_PKG_VERSION"));
        info
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = sheets().iter().map(tool).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let broken = |why: &dyn std::fmt::Display| ErrorData::internal_error(why.to_string(), None);
        let permit = Arc::clone(&self.calls).acquire_owned().await;
        let permit = permit.map_err(|error| broken(&error))?;
        let door = Arc::clone(&self.door);
        let called = tokio::task::spawn_blocking(move || {
            let answer = door.call(&request.name, &request.arguments.unwrap_or_default());
            drop(permit);
            answer
        });
        let answer = called.await.map_err(|error| broken(&error))?;
        Ok(result(answer).into())
    }
}

fn result(answer: ToolAnswer) -> CallToolResult {
    let content = vec![ContentBlock::text(answer.text)];
    if answer.is_error {
        CallToolResult::error(content)
    } else {
        CallToolResult::success(content)
    }
}

fn tool(sheet: &ToolSheet) -> Tool {
    let marks = ToolAnnotations::new()
        .read_only(sheet.is_reading)
        .destructive(false)
        .open_world(sheet.is_open_world);
    Tool::new(sheet.name, sheet.description, Arc::new(sheet.schema())).annotate(marks)
}
