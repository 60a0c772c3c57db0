//! Pages read at every speed, and rules on them.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_content::fuzzing::content(data));
