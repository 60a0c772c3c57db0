//! Workers of different versions: one that would not understand the others is refused by name, and
//! changes nothing.

use super::*;

#[test]
fn a_worker_of_another_format_is_refused_by_name() {
    let Some(mut fleet) = Fleet::new("formats", 2, 2, &[]) else {
        return;
    };
    end(fleet.worker(Start::Job));
    let merged = fleet.merged();
    fleet.check_whole(&merged);
    let format: u32 = fleet
        .database
        .sql("select format from clewline.job")
        .parse()
        .unwrap();
    let number: i32 = fleet
        .database
        .sql("select number from clewline.version")
        .parse()
        .unwrap();
    for (change, back, code, words) in [
        (
            format!("update clewline.job set format = {}", format + 1),
            format!("update clewline.job set format = {format}"),
            2,
            format!(
                "is of another version ({}; this command has {format})",
                format + 1
            ),
        ),
        (
            format!("update clewline.job set format = {}", format - 1),
            format!("update clewline.job set format = {format}"),
            2,
            format!(
                "is of another version ({}; this command has {format})",
                format - 1
            ),
        ),
        (
            format!("update clewline.version set number = {}", number + 1),
            format!("update clewline.version set number = {number}"),
            3,
            format!(
                "a later clewline made the fleet's tables (number {}",
                number + 1
            ),
        ),
        (
            format!("update clewline.version set number = {}", number - 1),
            format!("update clewline.version set number = {number}"),
            3,
            format!("the fleet's tables have number {}", number - 1),
        ),
    ] {
        fleet.database.sql(&change);
        for does in [Start::Job, Start::Join] {
            let output = fleet.worker(does).wait_with_output().unwrap();
            let talk = told(&output);
            assert_eq!(output.status.code(), Some(code), "{change}: {talk}");
            assert!(talk.contains(&words), "{change}: {talk}");
        }
        fleet.database.sql(&back);
    }
    end(fleet.worker(Start::Join));
}
