//! HTML by both faces of the tokenizer.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_html::fuzzing::tokens(data));
