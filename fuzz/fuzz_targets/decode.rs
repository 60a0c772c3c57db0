//! Content codings.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::http1::decode(data));
