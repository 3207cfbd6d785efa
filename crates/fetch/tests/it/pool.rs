//! Keeping, reusing and giving up connections.

use std::time::Duration;

use lycosa_fetch::Request;
use lycosa_types::Failure;

use crate::server::{Server, Step, answer, fetcher, fetcher_with, get, ok, send};

/// Reads and answers this many requests on one connection.
fn answers(count: usize) -> Vec<Step> {
    (0..count).flat_map(|number| answer(&ok(&number.to_string()))).collect()
}

#[tokio::test]
async fn one_connection_serves_many_requests() {
    let mut script = answers(20);
    script.push(Step::Hang);
    let server = Server::start(vec![script]).await;
    let fetcher = fetcher();
    for number in 0..20 {
        let visit = get(&fetcher, &server, "/").await;
        assert_eq!(visit.reused_connection, number > 0);
        assert_eq!(visit.result.unwrap().body, number.to_string());
    }
    assert_eq!(server.connections(), 1);
    assert_eq!(fetcher.shared().open_connections(), 1);
    fetcher.close_idle();
    assert_eq!(fetcher.shared().open_connections(), 0);
}

#[tokio::test]
async fn a_connection_the_server_closed_is_replaced_unseen() {
    let server = Server::start(vec![answers(1), answers(1), answers(1)]).await;
    let fetcher = fetcher();
    for _ in 0..3 {
        assert_eq!(get(&fetcher, &server, "/").await.result.unwrap().body, "0");
    }
    assert_eq!(server.connections(), 3);
    assert_eq!(server.requests().len(), 3, "no request arrived twice");
}

#[tokio::test]
async fn a_request_that_met_a_closing_connection_is_sent_once_more_and_no_more() {
    // Both close on the second request after reading it: the server cannot tell that from a connection it timed out.
    let closes_late = || [answers(1), vec![Step::Read]].concat();
    let server = Server::start(vec![closes_late(), answers(1)]).await;
    let client = fetcher();
    get(&client, &server, "/").await.result.unwrap();
    let visit = get(&client, &server, "/").await;
    assert!(visit.resent && !visit.reused_connection);
    assert_eq!(visit.result.unwrap().body, "0");

    let server = Server::start(vec![closes_late(), vec![Step::Read], answers(1)]).await;
    let client = fetcher();
    get(&client, &server, "/").await.result.unwrap();
    let visit = get(&client, &server, "/").await;
    assert_eq!(visit.result.unwrap_err(), Failure::ConnectionLost);
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_response_that_began_is_never_asked_for_again() {
    let breaks = [answers(1), vec![Step::Read, send("HTTP/1.1 200")]].concat();
    let server = Server::start(vec![breaks, answers(1)]).await;
    let fetcher = fetcher();
    get(&fetcher, &server, "/").await.result.unwrap();
    let visit = get(&fetcher, &server, "/").await;
    assert_eq!(visit.result.unwrap_err(), Failure::ConnectionLost);
    assert!(!visit.resent);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_silent_kept_connection_is_not_asked_twice() {
    let silent = [answers(1), vec![Step::Read, Step::Hang]].concat();
    let server = Server::start(vec![silent, answers(1)]).await;
    let fetcher = fetcher_with(|options| options.limits.first_byte = Duration::from_millis(40));
    get(&fetcher, &server, "/").await.result.unwrap();
    let visit = get(&fetcher, &server, "/").await;
    assert_eq!(visit.result.unwrap_err(), Failure::FirstByteTimeout);
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn bytes_nobody_asked_for_end_a_connection() {
    let extra = format!("{}HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil", ok("x"));
    let server = Server::start(vec![[answer(&extra), vec![Step::Hang]].concat(), answers(1)]).await;
    let fetcher = fetcher();
    let response = get(&fetcher, &server, "/").await.result.unwrap();
    assert_eq!((response.body, response.raw_body.len()), ("x".into(), 1));
    assert_eq!(get(&fetcher, &server, "/").await.result.unwrap().body, "0");
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn connection_close_is_obeyed() {
    let close = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx";
    let server = Server::start(vec![[answer(close), vec![Step::Hang]].concat()]).await;
    let fetcher = fetcher();
    get(&fetcher, &server, "/").await.result.unwrap();
    assert_eq!(fetcher.idle_connections(), 0);
    assert_eq!(fetcher.shared().open_connections(), 0);
}

#[tokio::test]
async fn the_total_is_bounded_by_closing_the_oldest() {
    let mut servers = Vec::new();
    for _ in 0..4 {
        servers.push(Server::start(vec![[answers(2), vec![Step::Hang]].concat(); 2]).await);
    }
    let fetcher = fetcher_with(|options| options.pool.connections = 2);
    for server in &servers {
        get(&fetcher, server, "/").await.result.unwrap();
        assert!(fetcher.shared().open_connections() <= 2);
    }
    get(&fetcher, &servers[3], "/").await.result.unwrap();
    get(&fetcher, &servers[0], "/").await.result.unwrap();
    assert_eq!(servers[3].connections(), 1, "the newest was kept");
    assert_eq!(servers[0].connections(), 2, "the oldest was closed");
}

#[tokio::test]
async fn a_full_pool_makes_fetches_wait_not_fail() {
    let server = Server::start(vec![answers(1); 12]).await;
    let fetcher = fetcher_with(|options| options.pool.connections = 2);
    let url = server.url("/");
    let request = Request::page(&url);
    let one = || async { fetcher.fetch(&request).await.result.map(|response| response.status) };
    let all = tokio::join!(one(), one(), one(), one(), one(), one());
    let all = [all.0, all.1, all.2, all.3, all.4, all.5];
    assert!(all.iter().all(|outcome| *outcome == Ok(200)), "{all:?}");
    assert!(fetcher.shared().open_connections() <= 2);
}

#[tokio::test]
async fn idle_connections_are_bounded_per_origin_and_in_time() {
    let server = Server::start(vec![[answers(2), vec![Step::Hang]].concat(); 8]).await;
    let fetcher = fetcher_with(|options| {
        options.pool.idle_per_origin = 2;
        options.pool.idle = Duration::from_millis(30);
    });
    let url = server.url("/");
    let request = Request::page(&url);
    let one = || async { fetcher.fetch(&request).await.result.unwrap() };
    tokio::join!(one(), one(), one(), one());
    assert!(fetcher.idle_connections() <= 2);
    tokio::time::sleep(Duration::from_millis(60)).await;
    fetcher.expire_idle();
    assert_eq!(fetcher.idle_connections(), 0);
}
