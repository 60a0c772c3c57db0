//! Set-Cookie fields and cookie files.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_core::fuzzing::fuzz_cookies(data));
