//! Header fields that name links.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::extract::header_links(data));
