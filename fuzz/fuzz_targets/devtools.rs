//! What a browser says while it renders a page.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| clewline_render::fuzzing::devtools(data));
