//! Several requests on their way over one connection.

use std::time::Duration;

use lycosa_fetch::{Fetcher, Line, Request, Visit};
use lycosa_types::{CanonUrl, Failure};

use crate::server::{Server, Step, answer, fetcher, fetcher_with, get, ok, send};

/// Fetches these paths in line.
async fn get_in_line(fetcher: &Fetcher, server: &Server, paths: &[&str]) -> Vec<Visit> {
    let urls: Vec<CanonUrl> = paths.iter().map(|path| server.url(path)).collect();
    let mut line = Line::default();
    let mut visits = Vec::new();
    for (at, url) in urls.iter().enumerate() {
        let following = urls[at + 1..].iter().map(Request::page);
        visits.push(fetcher.fetch_in_line(&mut line, &Request::page(url), following).await);
    }
    visits
}

/// What the visits brought; a failure by its name.
fn bodies(visits: &[Visit]) -> Vec<String> {
    let body = |visit: &Visit| match &visit.result {
        Ok(response) => String::from_utf8(response.body.to_vec()).unwrap(),
        Err(failure) => format!("{failure:?}"),
    };
    visits.iter().map(body).collect()
}

/// Answers a request by itself, so that the connection is one that is known to be kept; then does the rest.
fn after_one(rest: Vec<Step>) -> Vec<Step> {
    [answer(&ok("first")), rest].concat()
}

/// A server, and a fetcher that has one connection to it.
async fn connected(scripts: Vec<Vec<Step>>, fetcher: &Fetcher) -> Server {
    let server = Server::start(scripts).await;
    assert_eq!(get(fetcher, &server, "/").await.result.unwrap().body, "first");
    server
}

#[tokio::test]
async fn requests_leave_together_and_answers_come_in_order() {
    let long = "x".repeat(100_000);
    let bodies_sent = ["a".to_owned(), long, String::new(), "d".to_owned()];
    let answers: Vec<String> = bodies_sent.iter().map(|body| ok(body)).collect();
    // All four are read before one is answered.
    let script = [vec![Step::Read; 4], vec![send(&answers.concat())], answer(&ok("e")), vec![Step::Hang]];
    let client = fetcher();
    let server = connected(vec![after_one(script.concat())], &client).await;
    let visits = get_in_line(&client, &server, &["/a", "/b", "/c", "/d"]).await;
    assert_eq!(bodies(&visits), bodies_sent);
    for ((visit, answer), path) in visits.iter().zip(&answers).zip(["/a", "/b", "/c", "/d"]) {
        assert_eq!(visit.bytes_received, answer.len() as u64);
        assert!(visit.request_head.starts_with(format!("GET {path} HTTP/1.1\r\n").as_bytes()));
        assert!(visit.request_head.ends_with(b"\r\n\r\n") && visit.timing.first_byte.is_some());
        assert!(visit.reused_connection && !visit.resent);
    }
    assert_eq!(get(&client, &server, "/e").await.result.unwrap().body, "e");
    assert_eq!((server.connections(), client.idle_connections()), (1, 1));
}

#[tokio::test]
async fn the_first_request_to_a_server_goes_alone() {
    let script = vec![
        Step::Read,
        Step::Silence,
        send(&ok("a")),
        Step::Read,
        Step::Read,
        send(&ok("b")),
        send(&ok("c")),
    ];
    let server = Server::once(script).await;
    let visits = get_in_line(&fetcher(), &server, &["/a", "/b", "/c"]).await;
    assert_eq!(bodies(&visits), ["a", "b", "c"]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn old_servers_get_their_requests_one_at_a_time() {
    let old = |body: &str| {
        let text = format!("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\n{body}");
        vec![Step::Read, Step::Silence, send(&text)]
    };
    let server = Server::once([old("a"), old("b"), old("c")].concat()).await;
    let visits = get_in_line(&fetcher(), &server, &["/a", "/b", "/c"]).await;
    assert_eq!(bodies(&visits), ["a", "b", "c"]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_line_is_only_so_long() {
    let path = format!("/{}", "x".repeat(5000));
    let two = vec![Step::Read, Step::Read, Step::Silence, send(&ok("a")), send(&ok("b"))];
    let script = [two, vec![Step::Read, send(&ok("c")), Step::Hang]].concat();
    let client = fetcher();
    let server = connected(vec![after_one(script)], &client).await;
    let visits = get_in_line(&client, &server, &[&path, &path, &path]).await;
    assert_eq!(bodies(&visits), ["a", "b", "c"]);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn answers_may_break_anywhere() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let both = [chunked, &ok("second")].concat();
    for cut in (1..both.len()).step_by(3) {
        let (head, tail) = both.split_at(cut);
        let rest = vec![Step::Read, Step::Read, send(head), Step::Pause, send(tail), Step::Hang];
        let client = fetcher();
        let server = connected(vec![after_one(rest)], &client).await;
        let visits = get_in_line(&client, &server, &["/a", "/b"]).await;
        assert_eq!(bodies(&visits), ["abc", "second"], "cut at {cut}");
        assert_eq!(visits.iter().map(|visit| visit.bytes_received).sum::<u64>(), both.len() as u64);
    }
}

#[tokio::test]
async fn what_a_closed_connection_left_unanswered_is_asked_again() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\na";
    let rest = vec![Step::Read, Step::Read, Step::Read, send(close)];
    let again = [answer(&ok("b")), vec![Step::Read, Step::Silence, send(&ok("c")), Step::Hang]].concat();
    let client = fetcher();
    let server = connected(vec![after_one(rest), again], &client).await;
    let visits = get_in_line(&client, &server, &["/a", "/b", "/c"]).await;
    assert_eq!(bodies(&visits), ["a", "b", "c"]);
    assert_eq!(visits.iter().map(|visit| visit.resent).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_kept_connection_that_was_closed_meanwhile_costs_nothing() {
    // Closed after the requests were read: nothing tells that from a connection that was given up before.
    let lost = after_one(vec![Step::Read, Step::Read]);
    let again = [answer(&ok("a")), vec![Step::Read, send(&ok("b"))]].concat();
    let in_line = vec![Step::Read, Step::Read, send(&ok("c")), send(&ok("d")), Step::Hang];
    let client = fetcher();
    let server = connected(vec![lost, [again, in_line].concat()], &client).await;
    assert_eq!(bodies(&get_in_line(&client, &server, &["/a", "/b"]).await), ["a", "b"]);
    assert_eq!(bodies(&get_in_line(&client, &server, &["/c", "/d"]).await), ["c", "d"], "no line was broken");
    assert_eq!(server.connections(), 2);
}

/// The server does `rest` with two requests in line; both must be answered in the end, and it gets no more lines.
async fn breaks_a_line(rest: Vec<Step>, client: &Fetcher) {
    let single = |body: &str| vec![Step::Read, Step::Silence, send(&ok(body))];
    let alone = [single("a"), single("b"), single("c"), single("d")].concat();
    let without_first = alone[3..].to_vec();
    let first_came =
        rest.iter().any(|step| matches!(step, Step::Send(bytes) if bytes.ends_with(b"\r\n\r\na")));
    let second = if first_came { without_first } else { alone };
    let server = connected(vec![after_one(rest), [second, vec![Step::Hang]].concat()], client).await;
    let visits = get_in_line(client, &server, &["/a", "/b"]).await;
    assert_eq!(bodies(&visits), ["a", "b"]);
    assert!(visits[1].resent && visits[0].resent != first_came);
    assert_eq!(bodies(&get_in_line(client, &server, &["/c", "/d"]).await), ["c", "d"]);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_server_that_loses_an_answer_gets_no_more_lines() {
    let read = || vec![Step::Read, Step::Read];
    let with = |steps: Vec<Step>| [read(), steps].concat();
    // Closed without a word after the first; the first cut off by a reset.
    breaks_a_line(with(vec![send(&ok("a"))]), &fetcher()).await;
    breaks_a_line(
        with(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhal"), Step::Reset]),
        &fetcher(),
    )
    .await;
    // Only the first request was heard.
    let hasty = fetcher_with(|options| options.limits.first_byte = Duration::from_millis(300));
    breaks_a_line(with(vec![send(&ok("a")), Step::Hang]), &hasty).await;
}

#[tokio::test]
async fn an_answer_beyond_its_limits_fails_alone() {
    let client = fetcher_with(|options| options.limits.body_bytes = 100);
    let rest = vec![Step::Read, Step::Read, send(&ok(&"x".repeat(101))), send(&ok("b"))];
    let server = connected(vec![after_one(rest), answer(&ok("b"))], &client).await;
    let visits = get_in_line(&client, &server, &["/a", "/b"]).await;
    assert_eq!(visits[0].result.as_ref().err(), Some(&Failure::BodyTooLarge));
    assert_eq!(visits[1].result.as_ref().unwrap().body, "b");
    assert!(visits[1].resent && !visits[0].resent);
}
