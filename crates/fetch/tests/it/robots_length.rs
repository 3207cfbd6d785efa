//! A robots.txt that is too long or endless is read up to its limit.

use std::time::Duration;

use lycosa_fetch::robots::line::MAX_ROBOTS_BYTES;
use lycosa_fetch::robots::{Robots, RobotsFetch, RobotsPolicy, RobotsStep};
use lycosa_fetch::{Request, RequestKind};

use crate::server::{Server, Step, fetcher, send};

const RULE: &str = "User-agent: *\nDisallow: /private\n";

#[tokio::test]
async fn a_robots_txt_that_is_too_long_or_endless_is_read_up_to_its_limit() {
    let filler = "# nothing of interest in this line\n".repeat(1_000).into_bytes();
    let mut chunk = format!("{:x}\r\n", filler.len()).into_bytes();
    chunk.extend(&filler);
    chunk.extend(b"\r\n");
    let chunked = format!("{:x}\r\n{RULE}\r\n", RULE.len());
    for (head, begin, more) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", RULE, filler.clone()),
        ("HTTP/1.1 200 OK\r\n\r\n", RULE, filler.clone()),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", chunked.as_str(), chunk),
    ] {
        let script = vec![Step::Read, send(head), send(begin), Step::Drip(more, Duration::ZERO)];
        let server = Server::once(script).await;
        let fetcher = fetcher();
        let url = server.url("/robots.txt");
        let visit = fetcher.fetch(&Request::new(&url, RequestKind::Robots)).await;
        let response = visit.result.as_ref().unwrap_or_else(|failure| panic!("{head:?}: {failure}"));
        assert!(response.body.len() >= 500 * 1024, "{head:?}: {}", response.body.len());
        assert!(response.body.len() <= 2 * MAX_ROBOTS_BYTES, "{head:?}: {}", response.body.len());
        assert_eq!(fetcher.idle_connections(), 0, "more was on its way: {head:?}");
        let fetch = RobotsFetch { url: &url, result: &visit.result, redirects: 0, unreachable_for_ms: 0 };
        let RobotsStep::Settled(RobotsPolicy::Rules(robots)) = RobotsPolicy::from_fetch(fetch, "lycosa")
        else {
            panic!("{head:?}: no rules");
        };
        let robots: Robots = robots;
        assert!(!robots.decide("/private").allowed && robots.decide("/public").allowed, "{head:?}");
    }
}
