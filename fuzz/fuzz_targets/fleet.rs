//! Messages between members of a fleet.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::fleet::messages(data));
