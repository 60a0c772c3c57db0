//! URLs, references and keys.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_core::fuzzing::fuzz_url(data));
