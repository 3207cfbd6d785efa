//! A crawl that lies where nothing may be written can still be asked about.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;

use crate::binary::{Run, command, finish, lycosa};
use crate::serving::{Pages, Serving, html};

/// Somebody without rights, if the test has them all.
const NOBODY: u32 = 65_534;

/// Takes away or gives back the right to write, here and below.
fn set_writable(path: &Path, is_writable: bool) {
    let is_dir = path.is_dir();
    let mode = match (is_dir, is_writable) {
        (true, true) => 0o755,
        (true, false) => 0o555,
        (false, true) => 0o644,
        (false, false) => 0o444,
    };
    if is_writable {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    if is_dir {
        for entry in std::fs::read_dir(path).unwrap() {
            set_writable(&entry.unwrap().path(), is_writable);
        }
    }
    if !is_writable {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
}

#[test]
fn a_read_only_directory_can_be_asked_everything() {
    let mut pages = Pages::new();
    pages.insert("/".into(), html(b"<title>home</title><a href='/a'>a</a><p>The wolf lives in the wood."));
    pages.insert("/a".into(), html(b"<title>a</title><a href='/'>home</a><p>A spider lives in the house."));
    let site = Serving::start(pages);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (seed, d) = (site.url("/"), data.to_str().unwrap());
    let open = ["--allow-net", "127.0.0.0/8", "--delay", "0", "--ip-delay", "0"];
    lycosa(&[&["crawl", &seed, "-d", d, "--index", "-q"][..], &open].concat()).expect_code(0);
    // The user without rights must reach the program, the crawl and a directory of its own.
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let temporary = dir.path().join("tmp");
    std::fs::DirBuilder::new().mode(0o777).create(&temporary).unwrap();
    std::fs::set_permissions(&temporary, std::fs::Permissions::from_mode(0o777)).unwrap();
    let program = dir.path().join("lycosa");
    std::fs::copy(env!("CARGO_BIN_EXE_lycosa"), &program).unwrap();
    set_writable(&data, false);
    let is_root = nix::unistd::geteuid().is_root();
    let ask = |args: &[&str]| -> Run {
        let mut asked = command(args);
        let mut own = std::process::Command::new(&program);
        if is_root {
            own.uid(NOBODY).gid(NOBODY);
        }
        own.args(asked.get_args()).env("TMPDIR", &temporary).current_dir(&temporary);
        asked = own;
        use std::process::Stdio;
        finish(asked.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    // That it is closed indeed.
    ask(&["submit", &seed, "-d", d]).expect_code(1);
    let other = dir.path().join("tmp/out.jsonl");
    for (args, word) in [
        (&["status", d][..], "2 pages"),
        (&["report", d], "fetched"),
        (&["why", &seed, "-d", d], "fetched with status 200"),
        (&["cat", &seed, "-d", d], "The wolf"),
        (&["links", &seed, "-d", d], "links to 1 page"),
        (&["rank", d], "home"),
        (&["seeds", "-d", d], "http"),
        (&["history", &seed, "-d", d], "first"),
        (&["search", "wolf", "-d", d], "1 page"),
        (&["export", "-f", "jsonl", "-d", d], "The wolf"),
        (&["export", "-f", "urls", "-d", d], "fetched"),
        (&["export", "-f", "cdxj", "-d", d], "127"),
        (&["export", "-f", "wacz", "-d", d, "-o", other.to_str().unwrap()], "2 pages"),
    ] {
        let run = ask(args);
        assert_eq!(run.code, 0, "{args:?}: {}", run.err);
        assert!(run.out.contains(word), "{args:?}: {}", run.out);
    }
    // Nothing is left behind but what was asked for.
    let left: Vec<_> =
        std::fs::read_dir(&temporary).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["out.jsonl"], "{left:?}");
    set_writable(&data, true);
}

#[test]
fn warnings_of_libraries_have_no_colours_and_a_failing_index_fails_the_crawl() {
    let mut pages = Pages::new();
    pages.insert("/".into(), html(b"<title>home</title><p>The wolf lives in the wood."));
    let site = Serving::start(pages);
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data");
    let (seed, d) = (site.url("/"), data.to_str().unwrap());
    let crawl = [
        "crawl",
        &seed,
        "-d",
        d,
        "--index",
        "-q",
        "--allow-net",
        "127.0.0.0/8",
        "--delay",
        "0",
        "--ip-delay",
        "0",
    ];
    // An index that is none.
    std::fs::create_dir(&data).unwrap();
    std::fs::write(data.join("lycosa.toml"), "").unwrap();
    let run = lycosa(&crawl);
    assert_eq!((run.code, run.err.as_str()), (0, ""));
    std::fs::write(data.join("index/meta.json"), "{}").unwrap();
    let run = lycosa(&crawl).expect_code(1);
    assert!(run.err.contains("index") && !run.err.contains('\u{1b}'), "{}", run.err);
    let run = lycosa(&["index", "-d", d, "-vv"]);
    assert!(run.code == 1 && !run.err.contains('\u{1b}'), "{}", run.err);
}

#[test]
fn bitmaps_are_compared_as_images() {
    let dir = tempfile::tempdir().unwrap();
    // Sixteen by sixteen, 24 bits, one colour; the second has a white half.
    let bitmap = |white: bool| {
        let mut file = b"BM".to_vec();
        file.extend(822u32.to_le_bytes());
        file.extend([0; 4]);
        file.extend(54u32.to_le_bytes());
        file.extend(40u32.to_le_bytes());
        file.extend(16i32.to_le_bytes());
        file.extend(16i32.to_le_bytes());
        file.extend([1, 0, 24, 0]);
        file.extend([0; 24]);
        for row in 0..16 {
            file.extend([if white && row > 7 { 0xff } else { 0x20 }; 48]);
        }
        file
    };
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("a.bmp"), bitmap(false)).unwrap();
    std::fs::write(path("b.bmp"), bitmap(true)).unwrap();
    let run = lycosa(&["compare", &path("a.bmp"), &path("b.bmp"), "--json"]).expect_code(0).json();
    assert_eq!(run["kind"], "image", "{run}");
    assert_eq!(run["old_picture"]["width"], 16, "{run}");
}
