//! Pages in passages.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_content::fuzzing::passages(data));
