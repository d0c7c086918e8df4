//! The end of an input that another process reads.

use std::io::Write as _;
use std::os::fd::AsFd as _;
use std::time::Duration;

use jackfield_guard::for_tests::is_closed;

#[test]
fn unread_input_is_no_end_of_it() {
    let (input, mut output) = std::io::pipe().unwrap();
    output.write_all(b"unread").unwrap();
    let at_once = Some(Duration::ZERO);
    assert!(!is_closed(input.as_fd(), at_once));
    drop(output);
    assert!(is_closed(input.as_fd(), at_once));
    // Without a limit, too.
    assert!(is_closed(input.as_fd(), None));
}
