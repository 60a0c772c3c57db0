//! WARC files: records, messages, captures, findings.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_warc::fuzzing::fuzz_warc(data));
