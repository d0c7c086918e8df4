//! The events of a provider are a reply or a failure.
#![no_main]

use jackfield_dialect_claude::stream::Decoder;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| jackfield_fuzz::stream(
    || Decoder::new(jackfield_fuzz::owner()),
    bytes
));
