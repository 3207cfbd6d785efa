//! Every limit ends a visit in its own failure.

use std::time::Duration;

use lycosa_fetch::Limits;
use lycosa_types::Failure;

use crate::server::{Server, Step, answer, fetcher_with, get, send};

async fn failure(script: Vec<Step>, change: impl FnOnce(&mut Limits)) -> Failure {
    let server = Server::once(script).await;
    let fetcher = fetcher_with(|options| change(&mut options.limits));
    let visit = get(&fetcher, &server, "/").await;
    assert_eq!(fetcher.idle_connections(), 0, "a connection in doubt is not kept");
    visit.result.unwrap_err()
}

const MOMENT: Duration = Duration::from_millis(30);

#[tokio::test]
async fn heads() {
    let long = format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "x".repeat(5_000));
    let small = |limits: &mut Limits| limits.header_bytes = 4_096;
    assert_eq!(failure(answer(&long), small).await, Failure::HeaderTooLarge);
    let endless = Step::Drip(b"HTTP/1.1 200 OK\r\nA: b\r\n".repeat(200), Duration::ZERO);
    assert_eq!(failure(vec![Step::Read, endless], |_| {}).await, Failure::HeaderTooLarge);
    let many = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(30));
    let few = |limits: &mut Limits| limits.header_fields = 20;
    assert_eq!(failure(answer(&many), few).await, Failure::HeaderTooLarge);
}

#[tokio::test]
async fn bodies_by_every_framing() {
    let small = |limits: &mut Limits| limits.body_bytes = 1_000;
    // Refused on its announcement: nothing of the body is ever sent.
    let announced = vec![Step::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n"), Step::Hang];
    assert_eq!(failure(announced, small).await, Failure::BodyTooLarge);
    let huge = answer("HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n\r\n");
    assert_eq!(failure(huge, |_| {}).await, Failure::BodyTooLarge);
    for start in ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n"]
    {
        let endless = Step::Drip(vec![b'x'; 400], Duration::ZERO);
        let script = vec![Step::Read, send(start), endless];
        assert_eq!(failure(script, small).await, Failure::BodyTooLarge, "{start:?}");
    }
    let whole = format!(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n{}\r\n0\r\n\r\n",
        "x".repeat(1_001)
    );
    assert_eq!(failure(answer(&whole), small).await, Failure::BodyTooLarge);
}

#[tokio::test]
async fn a_body_at_its_limit_passes() {
    let server = Server::once(answer(&crate::server::ok(&"x".repeat(1_000)))).await;
    let fetcher = fetcher_with(|options| options.limits.body_bytes = 1_000);
    assert_eq!(get(&fetcher, &server, "/").await.result.unwrap().body.len(), 1_000);
}

#[tokio::test]
async fn no_first_byte() {
    let script = vec![Step::Read, Step::Hang];
    let end = failure(script, |limits| limits.first_byte = MOMENT).await;
    assert_eq!(end, Failure::FirstByteTimeout);
}

#[tokio::test]
async fn the_whole_takes_too_long() {
    let script = vec![
        Step::Read,
        send("HTTP/1.1 200 OK\r\n\r\n"),
        Step::Drip(b"x".to_vec(), Duration::from_millis(2)),
    ];
    assert_eq!(failure(script, |limits| limits.total = MOMENT).await, Failure::TotalTimeout);
}

#[tokio::test]
async fn a_drip() {
    for start in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: ",
        "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n",
    ] {
        let script = vec![Step::Read, send(start), Step::Drip(b"x".to_vec(), Duration::from_millis(2))];
        let end = failure(script, |limits| {
            limits.slow_grace = MOMENT;
            limits.slow_window = MOMENT;
            limits.slow_bytes_per_s = 1_000_000;
        });
        assert_eq!(end.await, Failure::TooSlow, "{start:?}");
    }
}

#[tokio::test]
async fn a_stall_after_the_head_is_slow_too() {
    let script = vec![Step::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"), Step::Hang];
    let end = failure(script, |limits| {
        limits.slow_grace = MOMENT;
        limits.slow_window = MOMENT;
    });
    assert_eq!(end.await, Failure::TooSlow);
}
