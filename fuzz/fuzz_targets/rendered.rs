//! What a browser tells of a page: its DOM and what its scripts did.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::rendered::rendered(data));
