//! The body of a request is taken, or refused in the form of its dialect.
#![no_main]

use jackfield_dialect_openai::chat::serve::ChatCompletions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|body: &[u8]| jackfield_fuzz::request(&ChatCompletions::new(), body));
