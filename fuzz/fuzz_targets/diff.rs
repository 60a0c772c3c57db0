//! Two pages, compared.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_diff::fuzzing::pages(data));
