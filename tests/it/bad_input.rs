//! Bad input: what a person gives.

use crate::harness::jackfield;

#[tokio::test]
async fn standard_input_that_is_not_utf_8_is_told_with_its_byte_and_the_way_to_convert_it() {
    let ask = jackfield(["ask", "What is this?"]).configured("");
    let ran = ask.stdin(b"caf\xe9").run().await;
    ran.fails(2, "standard input is not UTF-8: byte 3", "iconv");
}
