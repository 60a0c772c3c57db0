//! HTML by the tokenizer, against a second opinion.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline::fuzzing::tokenizer::tokenizer(data));
