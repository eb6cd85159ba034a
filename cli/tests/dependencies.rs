//! Licences and versions of all dependencies, by deny.toml.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// What cargo says of the packages that this machine builds.
fn packages() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let version = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let version = String::from_utf8(version.stdout).expect("text");
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("a host");
    // What was built is there: nothing is downloaded.
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", host])
        .current_dir(root)
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let used: BTreeSet<String> =
        list(&metadata["resolve"]["nodes"]).iter().map(|node| node["id"].to_string()).collect();
    list(&metadata["packages"]).into_iter().filter(|p| used.contains(&p["id"].to_string())).collect()
}

/// The strings of an array of deny.toml.
fn configured(table: &str, key: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../deny.toml");
    let text = std::fs::read_to_string(path).expect("deny.toml");
    let config: toml::Table = text.parse().expect("TOML");
    let list = config[table][key].as_array().expect("a list").clone();
    let text =
        |value: &toml::Value| value.get("crate").unwrap_or(value).as_str().expect("a string").to_owned();
    list.iter().map(text).collect()
}

/// Whether what is allowed satisfies a licence expression (SPDX, and `/` for `OR` as it used to be written).
fn satisfied(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let (value, rest) = any(&words, allowed);
    assert!(rest.is_empty(), "{expression}");
    value
}

fn any<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let (mut value, mut rest) = all(words, allowed);
    while let ["OR", after @ ..] = rest {
        let (next, left) = all(after, allowed);
        (value, rest) = (value | next, left);
    }
    (value, rest)
}

fn all<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    let (mut value, mut rest) = one(words, allowed);
    while let ["AND", after @ ..] = rest {
        let (next, left) = one(after, allowed);
        (value, rest) = (value & next, left);
    }
    (value, rest)
}

fn one<'w>(words: &'w [&'w str], allowed: &[String]) -> (bool, &'w [&'w str]) {
    match words {
        ["(", inside @ ..] => {
            let (value, rest) = any(inside, allowed);
            (value, rest.strip_prefix(&[")"]).expect("a closing parenthesis"))
        }
        [licence, "WITH", exception, rest @ ..] => {
            (allowed.contains(&format!("{licence} WITH {exception}")), rest)
        }
        [licence, rest @ ..] => (allowed.iter().any(|known| known == licence), rest),
        [] => panic!("a licence is missing"),
    }
}

#[test]
fn licences_are_those_that_are_allowed() {
    let allowed = configured("licenses", "allow");
    let packages = packages();
    assert!(packages.len() > 50);
    let wrong: Vec<String> = packages
        .iter()
        .filter(|package| !package["license"].as_str().is_some_and(|text| satisfied(text, &allowed)))
        .map(|package| format!("{}: {}", package["name"], package["license"]))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_crate_is_there_twice_but_for_those_that_are_listed() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        let text = |key: &str| package[key].as_str().expect("a string").to_owned();
        versions.entry(text("name")).or_default().insert(text("version"));
        assert!(
            package["source"].is_null() || text("source").starts_with("registry+"),
            "{} is from {}",
            package["name"],
            package["source"]
        );
    }
    let skipped = configured("bans", "skip");
    let listed = |name: &str, version: &str| {
        skipped.iter().filter_map(|skip| skip.split_once('@')).any(|(skip, prefix)| {
            skip == name && version.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'))
        })
    };
    for (name, versions) in versions {
        let kept: Vec<&String> = versions.iter().filter(|version| !listed(&name, version)).collect();
        assert!(kept.len() <= 1, "{name}: {kept:?}");
    }
}

#[test]
fn expressions_mean_what_they_say() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(String::from);
    for (text, expected) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("GPL-3.0/MIT", true),
        ("MIT AND GPL-3.0", false),
        ("(MIT OR GPL-3.0) AND Zlib", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
    ] {
        assert_eq!(satisfied(text, &allowed), expected, "{text}");
    }
}
