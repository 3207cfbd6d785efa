//! Wrong usage is told apart from failure, and every command explains itself.

use crate::binary::lycosa;

const COMMANDS: [&str; 13] = [
    "crawl", "status", "why", "report", "export", "cat", "robots", "canon", "inspect", "demo", "links",
    "rank", "seeds",
];

#[test]
fn every_command_has_help_with_examples() {
    let overview = lycosa(&["--help"]).expect_code(0).out;
    for command in COMMANDS {
        assert!(overview.contains(&format!("  {command} ")), "{command} is not in the overview");
        let help = lycosa(&[command, "--help"]).expect_code(0).out;
        assert!(help.contains(&format!("Examples:\n  lycosa {command}")), "{help}");
        assert!(help.contains("--json"), "{command} has no --json");
    }
}

#[test]
fn wrong_usage_is_two() {
    for args in [
        &["crawl", "--no-such-option"][..],
        &["crawl", "http://a.test/", "--delay", "soon"],
        &["why"],
        &["export", "--format", "papyrus"],
        &["demo", "--pages", "0"],
        &["nonsense"],
    ] {
        lycosa(args).expect_code(2);
    }
}

#[test]
fn failures_are_one_and_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("nothing");
    let missing = missing.to_str().unwrap();
    for args in [
        &["status", missing][..],
        &["report", missing],
        &["why", "http://a.test/", "-d", missing],
        &["cat", "http://a.test/", "-d", missing],
        &["export", "-f", "urls", "-d", missing],
        &["links", "http://a.test/", "-d", missing],
        &["rank", missing],
        &["seeds", "--from", missing],
    ] {
        let run = lycosa(args).expect_code(1);
        assert!(run.err.contains("there is no crawl in") && run.err.contains("lycosa crawl"), "{}", run.err);
    }
    assert!(!std::path::Path::new(missing).exists(), "asking makes no directory");
    let run = lycosa(&["crawl", "-d", missing]).expect_code(1);
    assert!(run.err.contains("name at least one URL"), "{}", run.err);
    let run = lycosa(&["inspect", missing]).expect_code(1);
    assert!(run.err.contains("http://"), "{}", run.err);
}

/// A server that is not there is told at once, not waited for.
#[test]
fn a_wrong_nats_address_is_a_failure() {
    // Nobody listens there any more.
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let address = format!("nats://127.0.0.1:{port}");
    let run = lycosa(&["status", "--nats", &address]).expect_code(1);
    assert!(run.err.contains("no NATS server can be reached"), "{}", run.err);
    assert!(!run.err.contains("waiting"), "{}", run.err);
}

#[test]
fn a_depot_for_everybody_does_not_start() {
    let dir = tempfile::tempdir().unwrap();
    let dir = dir.path().to_str().unwrap();
    let args = ["depot", "-d", dir, "--cert", "none.pem", "--key", "none.key", "--listen", "127.0.0.1:0"];
    let run = lycosa(&args).expect_code(1);
    assert!(run.err.contains("--client-ca") && run.err.contains("LYCOSA_DEPOT_TOKEN"), "{}", run.err);
}

#[test]
fn the_configuration_can_be_printed_and_read_again() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("lycosa.toml");
    std::fs::write(&file, lycosa(&["crawl", "--print-config"]).expect_code(0).out).unwrap();
    let run = lycosa(&["canon", "--config", file.to_str().unwrap(), "http://a.test"]).expect_code(0);
    assert!(run.out.starts_with("http://a.test/  partition "), "{}", run.out);
}
