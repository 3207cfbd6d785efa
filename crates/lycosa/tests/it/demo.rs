//! `lycosa demo`.

use crate::binary::lycosa;

#[test]
fn a_demo_shows_what_it_found_and_leaves_a_crawl() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("demo");
    let data = data.to_str().unwrap();
    let run = lycosa(&["demo", "--pages", "1500", "-d", data, "--json"]).expect_code(0);
    let demo = run.json();
    assert!(demo["report"]["totals"]["pages"].as_u64() > Some(1000));
    assert_eq!(demo["findings"]["most_linked"].as_array().unwrap().len(), 5);
    let kinds: Vec<&str> = demo["findings"]["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|answer| answer["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["forbidden", "duplicate", "redirect", "failure"]);
    let url = demo["findings"]["most_linked"][0]["url"].as_str().unwrap();
    assert!(lycosa(&["cat", url, "-d", data]).expect_code(0).out.contains("<html"));

    // A second demo replaces the first and keeps what is not its own.
    std::fs::write(dir.path().join("demo/notes.txt"), "mine").unwrap();
    let run = lycosa(&["demo", "--pages", "300", "-d", data, "--quiet"]).expect_code(0);
    for part in ["most linked pages", "why, for one URL of each kind", "try next", "lycosa export"] {
        assert!(run.out.contains(part), "{part} is missing in\n{}", run.out);
    }
    // What is printed can be copied into a shell, wherever the program lies.
    let hints: Vec<&str> = run.out.split("try next\n").nth(1).unwrap().lines().collect();
    assert!(hints.len() >= 8, "{hints:?}");
    for hint in hints {
        let command = hint.trim().split("  ").next().unwrap();
        let mut shell = std::process::Command::new("sh");
        let ran = shell.args(["-c", command]).current_dir(dir.path()).output().unwrap();
        assert!(ran.status.success(), "{command}: {}", String::from_utf8_lossy(&ran.stderr));
    }
    assert_eq!(lycosa(&["report", data, "--json"]).json()["totals"]["runs"], 1);
    assert!(dir.path().join("demo/notes.txt").exists());
}

#[test]
fn a_directory_that_is_no_demo_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.txt"), "years of work").unwrap();
    let run = lycosa(&["demo", "-d", dir.path().to_str().unwrap()]).expect_code(1);
    assert!(run.err.contains("-d DIR"), "{}", run.err);
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}
