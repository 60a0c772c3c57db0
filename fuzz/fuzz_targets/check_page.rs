//! A page, read for the facts that rules ask for.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_check::fuzzing::page(data));
