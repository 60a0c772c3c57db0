//! The budget of pages of a job, changed while it runs or after it was spent.
//!
//! Owns what changes with it. Invariants: the budget is what is left, what shards have and what was
//! fetched; what a shard has is never taken back from it.

use crate::bus::gone;
use crate::fault::CallFault;
use crate::phases;
use crate::rows::{self, bits};
use crate::session::Connection;

const LOOK: &str = "\
    select pages, pages - pages_left as dealt, phase, ended from clewline.job where id = $1";

const CHANGE: &str = "\
    update clewline.job set pages_left = pages_left + $2 - pages, pages = $2 where id = $1";

/// Gives a job another budget of pages. One that had spent its budget goes on.
pub(crate) async fn change(
    connection: &mut Connection,
    job: i64,
    pages: u64,
) -> Result<(), CallFault> {
    connection.begin().await?;
    connection.query(phases::LOCK, &[&job]).await?;
    let row = connection.query_one(LOOK, &[&job]).await?;
    let row = row.ok_or_else(gone)?;
    let dealt: Option<u64> = rows::maybe(&row, "dealt");
    let refused = match dealt {
        None => Some("the job was made without --max-pages, and its workers count none".to_owned()),
        Some(dealt) if pages < dealt => Some(format!(
            "pages fetched or dealt out to shards already: {dealt}; name that number or a larger one"
        )),
        Some(_) => None,
    };
    if let Some(why) = refused {
        connection.roll_back().await?;
        return Err(CallFault::unusable(why));
    }
    connection.query(CHANGE, &[&job, &bits(pages)]).await?;
    let ended: Option<&str> = row.get("ended");
    if ended == Some(phases::SPENT) && dealt.is_some_and(|dealt| pages > dealt) {
        phases::reopen(connection, job).await?;
    }
    connection.commit().await
}
