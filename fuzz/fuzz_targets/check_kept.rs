//! The findings that a job folder keeps.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_check::fuzzing::kept(data));
