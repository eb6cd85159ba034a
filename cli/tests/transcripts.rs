//! What the command line prints, kept as transcripts; those in README.md are among them.
//!
//! `TRYCMD=overwrite cargo test -p warpgrind-cli --test transcripts` writes what is printed now.

#[test]
fn transcripts() {
    // Paths in transcripts are relative to the root of the repository.
    std::env::set_current_dir("..").unwrap();
    trycmd::TestCases::new()
        .register_bin("warpgrind", trycmd::cargo::cargo_bin!("warpgrind"))
        .case("cli/tests/cmd/*.trycmd")
        .case("cli/DEBUG.md")
        .case("cli/LAUNCH.md")
        .case("cli/LITMUS.md")
        .case("cli/RACECHECK.md")
        .case("cli/REPORT.md")
        .case("cli/SUPPRESSIONS.md")
        .case("README.md");
}
