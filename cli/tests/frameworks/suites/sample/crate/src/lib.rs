//! Tests of each outcome, as Cargo runs them.
#![cfg(test)]

use std::io::Write;

/// What a kernel prints is not caught.
#[test]
fn passes() {
    std::io::stdout().write_all(b"of a kernel\n").unwrap();
    assert!(std::env::var("WARPGRIND_SESSION").is_ok());
}

#[test]
#[should_panic = "as it should"]
fn panics() {
    panic!("as it should");
}

#[test]
fn fails() {
    println!("a word before");
    assert_eq!(1 + 1, 3, "the sum is wrong");
}

#[test]
#[ignore = "not today"]
fn skipped() {}
