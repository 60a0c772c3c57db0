//! HTML and unlabelled pages.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::extract::html(data));
