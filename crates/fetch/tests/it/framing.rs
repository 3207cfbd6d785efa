//! Where a response ends, and what becomes of its bytes.

use lycosa_fetch::{Protocol, Request};
use lycosa_types::Failure;

use crate::server::{Server, Step, answer, fetcher, get, ok, send, visit};

#[tokio::test]
async fn a_plain_page_comes_back_byte_for_byte() {
    let head = "HTTP/1.1 200 Fine\r\ncontent-type: text/html\r\nContent-Length: 5\r\nETag: \"e\"\r\n\r\n";
    let server = Server::once(answer(&format!("{head}hello"))).await;
    let visit = get(&fetcher(), &server, "/a?b").await;
    let response = visit.result.unwrap();
    assert_eq!(response.status, 200);
    assert_eq!(response.protocol, Protocol::Http11);
    assert_eq!(response.raw(), head);
    assert_eq!(response.raw_body, "hello");
    assert_eq!(response.body, "hello");
    assert_eq!(response.etag(), Some("\"e\""));
    assert_eq!(visit.bytes_received as usize, head.len() + 5);
    assert_eq!(visit.ip, Some(server.address.ip()));
    assert_eq!(server.requests()[0].as_bytes(), visit.request_head);
    let timing = visit.timing;
    assert!(
        timing.sent.unwrap() <= timing.first_byte.unwrap() && timing.first_byte.unwrap() <= timing.finished
    );
    assert!(timing.started.0 > 1_600_000_000_000);
}

#[tokio::test]
async fn conditions_are_sent_and_304_has_no_body() {
    let server = Server::once(answer("HTTP/1.1 304 Not Modified\r\nETag: \"e\"\r\n\r\n")).await;
    let url = server.url("/");
    let request = Request {
        if_none_match: Some("\"e\""),
        if_modified_since: Some("Sun, 06 Nov 1994 08:49:37 GMT"),
        ..Request::page(&url)
    };
    let fetcher = fetcher();
    let response = fetcher.fetch(&request).await.result.unwrap();
    assert_eq!((response.status, response.body.len()), (304, 0));
    assert_eq!(fetcher.idle_connections(), 1);
    let sent = &server.requests()[0];
    assert!(sent.contains("\r\nIf-None-Match: \"e\"\r\n"));
    assert!(sent.contains("\r\nIf-Modified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n"));
}

#[tokio::test]
async fn statuses_are_data() {
    for status in [204, 301, 404, 410, 429, 500, 503] {
        let text =
            format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\nRetry-After: 7\r\nLocation: /n\r\n\r\n");
        let visit = visit(answer(&text)).await;
        let response = visit.result.unwrap();
        assert_eq!(response.status, status);
        assert_eq!(response.retry_after_ms(visit.timing.started), Some(7_000));
        assert_eq!(response.location(), Some("/n"));
    }
}

#[tokio::test]
async fn chunked_bodies_keep_their_framing_beside_their_data() {
    let framed = "3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nT: 1\r\n\r\n";
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let server = Server::once(answer(&format!("{head}{framed}"))).await;
    let fetcher = fetcher();
    let response = get(&fetcher, &server, "/").await.result.unwrap();
    assert_eq!(response.raw_body, framed);
    assert_eq!(response.payload, "abcde");
    assert_eq!(response.body, "abcde");
    assert_eq!(fetcher.idle_connections(), 1);
}

#[tokio::test]
async fn chunks_in_pieces() {
    let mut script = vec![Step::Read];
    for byte in "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nwiki\r\n0\r\n\r\n".bytes() {
        script.push(Step::Send(vec![byte]));
    }
    assert_eq!(visit(script).await.result.unwrap().body, "wiki");
}

#[tokio::test]
async fn both_framings_are_read_as_chunked_and_not_trusted_further() {
    let text =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    let server = Server::once(answer(text)).await;
    let fetcher = fetcher();
    assert_eq!(get(&fetcher, &server, "/").await.result.unwrap().body, "a");
    assert_eq!(fetcher.idle_connections(), 0);
}

#[tokio::test]
async fn a_body_without_length_ends_with_the_connection() {
    let visit = visit(answer("HTTP/1.0 200 OK\r\n\r\nold and long")).await;
    let response = visit.result.unwrap();
    assert_eq!(response.protocol, Protocol::Http10);
    assert_eq!(response.body, "old and long");
}

#[tokio::test]
async fn interim_responses_are_passed_over() {
    let early = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
    let text = format!("HTTP/1.1 100 Continue\r\n\r\n{early}{}", ok("x"));
    let response = visit(answer(&text)).await.result.unwrap();
    assert_eq!(response.body, "x");
    assert!(response.raw().starts_with(b"HTTP/1.1 200"));
    let endless = early.repeat(20);
    assert_eq!(visit(answer(&endless)).await.result.unwrap_err(), Failure::BadResponse);
    let switch = "HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n";
    assert_eq!(visit(answer(switch)).await.result.unwrap_err(), Failure::BadResponse);
}

#[tokio::test]
async fn what_ends_early_is_told_apart() {
    let cases = [
        ("", Failure::ConnectionLost),
        ("HTTP/1.1 200 OK\r\nConte", Failure::ConnectionLost),
        ("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", Failure::Truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhell", Failure::Truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n", Failure::Truncated),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnot chunked", Failure::BadResponse),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", Failure::BadResponse),
        ("SSH-2.0-OpenSSH_9.0\r\n", Failure::BadResponse),
        ("<html>no head</html>", Failure::BadResponse),
    ];
    for (text, expected) in cases {
        let visit = visit(answer(text)).await;
        assert_eq!(visit.result.unwrap_err(), expected, "{text:?}");
        assert_eq!(visit.bytes_received as usize, text.len());
    }
}

#[tokio::test]
async fn a_reset_is_a_lost_connection() {
    let script = vec![Step::Read, send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf"), Step::Reset];
    let failure = visit(script).await.result.unwrap_err();
    assert!(matches!(failure, Failure::ConnectionLost | Failure::Truncated), "{failure}");
}

#[tokio::test]
async fn damaged_responses_end_one_way_or_another() {
    let sound = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let mut random = 0x2545_f491_u32;
    let mut next = || {
        random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        usize::try_from(random >> 8).unwrap()
    };
    let scripts: Vec<_> = (0..300)
        .map(|_| {
            let mut bytes = sound.as_bytes().to_vec();
            for _ in 0..=next() % 3 {
                let at = next() % bytes.len();
                bytes[at] = u8::try_from(next() % 256).unwrap();
            }
            bytes.truncate(bytes.len() - next() % 4);
            vec![Step::Read, Step::Send(bytes)]
        })
        .collect();
    let count = scripts.len();
    let server = Server::start(scripts).await;
    let (mut good, mut bad) = (0, 0);
    for _ in 0..count {
        // A fetcher each, so that every damaged response meets a first request.
        match get(&fetcher(), &server, "/").await.result {
            Ok(_) => good += 1,
            Err(_) => bad += 1,
        }
    }
    assert!(good > 0 && bad > 0, "{good} good, {bad} bad");
    assert_eq!(server.requests().len(), count);
}
