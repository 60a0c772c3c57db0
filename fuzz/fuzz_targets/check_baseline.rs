//! Baselines of a check.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_check::settings::fuzzing::baseline(data));
