//! A row of the file of facts.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_check::fuzzing::facts(data));
