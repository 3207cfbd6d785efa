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
    let run = lycosa(&["crawl", "-d", missing]).expect_code(2);
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

/// The commands as the program's own overview lists them, so that no new one is forgotten.
pub fn all_commands() -> Vec<String> {
    let overview = lycosa(&["--help"]).expect_code(0).out;
    let list = overview.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let names = list.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let names: Vec<String> = names.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect();
    assert!(names.len() >= 24, "{names:?}");
    names.into_iter().filter(|name| name != "help").collect()
}

/// For each command something that cannot be meant.
#[test]
fn exit_codes_are_as_documented_for_every_command() {
    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (page, robots) = (file("page.html", "<p>x"), file("robots.txt", "User-agent: *\n"));
    let site =
        crate::serving::Serving::start([("/".to_owned(), crate::serving::html(b"<title>x</title>x"))].into());
    let data = dir.path().join("data");
    let d = data.to_str().unwrap();
    let url = site.url("/");
    let open = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "0", "--index", "-q"];
    lycosa(&[&["crawl", &url, "-d", d][..], &open[..]].concat()).expect_code(0);
    for command in all_commands() {
        let wrong: &[&[&str]] = match command.as_str() {
            "crawl" => &[
                &["http://", "-d", d],
                &["http://exa mple/", "-d", d],
                &["ftp://example.org/", "-d", d],
                &["http://a.test/", "-d", d, "--set", "politeness.no_such=1"],
                &["http://a.test/", "-d", d, "--set", "nonsense"],
                &["http://a.test/", "-d", d, "--allow-net", "nonsense"],
                &["http://a.test/", "-d", d, "--allow-net", "10.0.0.0/99"],
                &["http://a.test/", "-d", d, "--resolve", "nonsense"],
                &["http://a.test/", "-d", d, "--exclude", "re:("],
                &["http://a.test/", "-d", d, "--config", "no-such-file"],
            ],
            "refresh" => &[&["-d", d, "--set", "nonsense=1"], &["-d", d, "--allow-net", "x"]],
            "node" => &[&["--set", "nonsense=1"], &["--nats", "nats://h", "--no-such"]],
            "coordinator" => &[&["--allocation", "nonsense"]],
            "depot" => &[&["-d", d]],
            "submit" => &[&["http://", "-d", d], &["nonsense", "-d", d], &["-d", d]],
            "status" => &[&["a", "b"]],
            "why" => &[&["http://", "-d", d], &["nonsense", "-d", d]],
            "history" | "diff" | "links" | "cat" => &[&["http://", "-d", d], &["nonsense", "-d", d]],
            "report" => &[&["--svg", "x"]],
            "index" => &[&["--no-such"]],
            "search" => {
                &[&["(wolf", "-d", d], &["wolf NEAR/", "-d", d], &["wolf", "--limit", "99999999", "-d", d]]
            }
            "eval" => &[&[]],
            "rank" => &[&["--damping", "2"], &["a", "b"]],
            "seeds" => &[&["-n", "many"]],
            "export" => &[&["-f", "papyrus", "-d", d], &["-f", "wacz", "-o", "-", "-d", d]],
            "mirror" => &[&["--from", d], &["--from", d, "--out", d, "--missing", "nonsense"]],
            "robots" => &[&["http://"], &["http://127.0.0.1/", "--allow-net", "nonsense"]],
            "canon" => &[&["--base", "nonsense", "x"], &["--seed", "nonsense", "http://a.test/"]],
            "inspect" => &[&["http://"], &[&page, "--base", "nonsense"], &[&url, "--allow-net", "nonsense"]],
            "compare" => &[&["-", "-"], &[&page, &page, "--k", "0"]],
            "demo" => &[&["--pages", "0"]],
            other => panic!("say here what wrong usage of `lycosa {other}` is"),
        };
        for args in wrong {
            let run = lycosa(&[&[command.as_str()], *args].concat());
            assert_eq!(run.code, 2, "{command} {args:?}\nout: {}\nerr: {}", run.out, run.err);
            assert!(!run.err.is_empty() || command == "why", "{command} {args:?} says nothing");
        }
    }
    // What is right stays right, and what fails is no wrong usage.
    lycosa(&["robots", &robots, "/x"]).expect_code(0);
    lycosa(&["why", &url, "-d", d]).expect_code(0);
    lycosa(&["cat", "http://elsewhere.test/", "-d", d]).expect_code(1);
    lycosa(&["inspect", "http://127.0.0.1:9/"]).expect_code(1);
    lycosa(&["search", "wolf", "-d", &format!("{d}/nothing")]).expect_code(1);
}
