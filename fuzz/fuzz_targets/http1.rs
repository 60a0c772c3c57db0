//! The framing of HTTP/1.1, requests and responses.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::http1::http1(data));
