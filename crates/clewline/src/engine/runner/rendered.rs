//! What a browser adds to a page.
//!
//! Owns the way of a page that was fetched through the browser and back: the DOM is read as a page is,
//! and what it and the browser tell completes the result of the page. It refuses to know which pages
//! are rendered. Invariant: whatever a rendering brings or lacks, what the answer alone said is kept.

use std::sync::Arc;

use bytes::Bytes;
use clewline_core::link::LinkKind;
use clewline_core::url::CrawlUrl;
use clewline_job::archive::{PICTURED, RENDERED, THUMBNAIL};
use clewline_render::{PartFetcher, RenderError, RenderInput, Rendering, RequestFate};
use encoding_rs::{Encoding, UTF_8};

use super::super::look::LookReader;
use super::super::rendering::Gain;
use super::joined_links::JoinedLinks;
use super::page_links::{self, PageLinks};
use super::reading::{TURN, finish_apart};
use super::{JobResult, JobRunner};
use crate::entry::ArchivedView;
use crate::extract::{Extracted, PageHead, shell};
use crate::headers::Headers;
use crate::record::RenderedPage;
use crate::render::RenderPage;

/// How a PNG begins.
const PNG: &[u8] = b"\x89PNG";

/// How often a browser may die of one page.
const DEATHS: u32 = 3;

/// A page has more text in a browser if it has this many bytes more, …
const MORE_TEXT: usize = 200;
/// … and more by one part of so many.
const PARTS_MORE: usize = 5;

/// A page that is to be rendered.
pub(in crate::engine) struct RenderJob {
    pub(in crate::engine) render: RenderPage,
    pub(in crate::engine) page: RenderInput,
    pub(in crate::engine) parts: Arc<dyn PartFetcher>,
    pub(in crate::engine) url: CrawlUrl,
    /// How the page was named.
    pub(in crate::engine) kind: LinkKind,
}

impl JobRunner {
    /// Renders a page and completes its result; answers what that was good for, if it succeeded.
    pub(in crate::engine) async fn render(
        &self,
        job: RenderJob,
        result: &mut JobResult,
    ) -> Option<Gain> {
        let mut rendering = match render(&job).await {
            Ok(rendering) => rendering,
            Err(error) => {
                result.rendered = Some(RenderedPage {
                    error: Some(error.to_string()),
                    ..RenderedPage::default()
                });
                return None;
            }
        };
        let extracted = self.read_dom(&job.url, &rendering.html, result).await;
        let before = shell::text_size(&String::from_utf8_lossy(&job.page.body));
        let after = shell::text_size(&rendering.html);
        let has_more_text = after > before + MORE_TEXT.max(before / PARTS_MORE);
        let (new_links, new_pages) = self.complete(&job, result, &rendering, extracted);
        let dom = Bytes::from(std::mem::take(&mut rendering.html));
        if let Some(whole) = result.whole.as_mut().filter(|_| self.keeps_whole) {
            if let Some(share) = &mut result.share {
                // It is here already, and stays within the bound of a DOM.
                share.hold((whole.body.len() + dom.len()) as u64).ok();
            }
            whole.rendered = Some(dom.clone());
        }
        if self.spool.is_some() {
            result.views = views(dom, &mut rendering);
        }
        result.rendered = Some(facts(&rendering, new_links));
        Some(if has_more_text || new_pages > 0 {
            Gain::Something
        } else {
            Gain::Nothing
        })
    }

    /// Reads the DOM as if a server had sent it, in the encoding of the page: references to a query are
    /// resolved in that (HTML standard, "encoding-parsing a URL").
    async fn read_dom(&self, url: &CrawlUrl, html: &str, page: &JobResult) -> Extracted {
        let label = page.charset.as_deref().unwrap_or("utf-8");
        let encoding = Encoding::for_label(label.as_bytes()).unwrap_or(UTF_8);
        // What the encoding lacks becomes a character reference.
        let (html, encoding, _) = encoding.output_encoding().encode(html);
        let mut headers = Headers::default();
        let kind = format!("text/html; charset={}", encoding.name());
        headers.push("Content-Type", kind.as_bytes());
        let mut extraction = self.extractor.begin(PageHead {
            url,
            status: 200,
            headers: &headers,
            sitemap: false,
        });
        for piece in html.chunks(TURN) {
            extraction.feed(piece);
            tokio::task::yield_now().await;
        }
        finish_apart(extraction).await
    }

    /// Adds to the result what the rendering tells; answers how many links are new, and how many of them
    /// a visitor could follow.
    fn complete(
        &self,
        job: &RenderJob,
        result: &mut JobResult,
        rendering: &Rendering,
        extracted: Extracted,
    ) -> (u32, u32) {
        let Some(whole) = &mut result.whole else {
            return (0, 0);
        };
        let JoinedLinks {
            all,
            new_links,
            new_pages,
        } = JoinedLinks::new(&whole.links, &extracted.links, rendering);
        whole.links = all.to_vec();
        result.title = rendering
            .title
            .clone()
            .or(extracted.title)
            .or_else(|| result.title.take());
        result.noindex |= extracted.noindex;
        // Pages that their scripts build look alike before.
        if let Some(answer) = result.answer_mut()
            && answer.look.is_some()
        {
            let mut look = LookReader::new(&job.url);
            look.feed(rendering.html.as_bytes());
            answer.look = Some(Box::new(look.finish()));
        }
        let nofollow = result.answer().is_some_and(|answer| answer.nofollow);
        let page_links = PageLinks::of_rendering(
            job.kind,
            Extracted {
                links: all,
                nofollow: nofollow || extracted.nofollow,
                ..Extracted::default()
            },
        );
        page_links::take(self, &page_links, result);
        (new_links, new_pages)
    }
}

/// Renders a page; a browser that dies is not the page's fault at first.
async fn render(job: &RenderJob) -> Result<Rendering, RenderError> {
    let mut deaths = 0;
    loop {
        let rendered = (job.render)(job.page.clone(), Arc::clone(&job.parts)).await;
        deaths += 1;
        // One that dies while it starts has not even seen the page.
        let has_died = matches!(
            rendered,
            Err(RenderError::Crashed | RenderError::NotLaunched(_))
        );
        if !has_died || deaths >= DEATHS {
            return rendered;
        }
    }
}

/// The DOM, and the pictures if some were taken.
fn views(dom: Bytes, rendering: &mut Rendering) -> Vec<ArchivedView> {
    let dom = ArchivedView {
        prefix: RENDERED,
        media_type: "text/html; charset=utf-8",
        bytes: dom,
    };
    let picture = rendering.screenshot.take().map(|bytes| ArchivedView {
        prefix: PICTURED,
        media_type: if bytes.starts_with(PNG) {
            "image/png"
        } else {
            "image/jpeg"
        },
        bytes: bytes.into(),
    });
    let thumbnail = rendering.thumbnail.take().map(|bytes| ArchivedView {
        prefix: THUMBNAIL,
        media_type: "image/jpeg",
        bytes: bytes.into(),
    });
    let all = std::iter::once(dom).chain(picture).chain(thumbnail);
    all.collect()
}

fn facts(rendering: &Rendering, new_links: u32) -> RenderedPage {
    let requested = rendering.requested.iter();
    let answered = requested.filter(|requested| requested.fate == RequestFate::Answered);
    RenderedPage {
        new_links,
        parts: answered.count() as u32,
        refused: rendering.refused + rendering.over_limit,
        unsent: rendering.unsent,
        incomplete: rendering.is_incomplete(),
        cpu_millis: rendering.cpu.as_millis() as u64,
        error: None,
    }
}
