//! The right page under the right URL: servers that leave in doubt where their responses end.

use std::time::Duration;

use lycosa_fetch::{Fetcher, Line, Request};
use lycosa_types::Failure;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use crate::server::{Server, Step, answer, fetcher, get, ok, send, url};

const INTRUDER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil";

async fn body(client: &Fetcher, server: &Server) -> String {
    let response = get(client, server, "/").await.result.unwrap();
    String::from_utf8(response.body.to_vec()).unwrap()
}

/// Answers once on each connection.
fn single_answers(bodies: &[&str]) -> Vec<Vec<Step>> {
    bodies.iter().map(|body| [answer(&ok(body)), vec![Step::Hang]].concat()).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn bytes_that_came_before_the_next_request_are_never_its_answer() {
    // The server runs elsewhere, so that its bytes are there before the fetcher's event loop hears of them.
    let (told, address) = std::sync::mpsc::channel();
    let (send_intruder, intrude) = std::sync::mpsc::channel::<()>();
    let (intruded, has_intruded) = std::sync::mpsc::channel::<()>();
    std::thread::spawn(move || {
        use std::io::{Read, Write};
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        told.send(listener.local_addr().unwrap()).unwrap();
        for body in ["first", "second", "third"] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).unwrap() > 0);
            stream.write_all(ok(body).as_bytes()).unwrap();
            if body == "first" {
                assert!(stream.read(&mut request).unwrap() > 0);
                stream.write_all(ok("again").as_bytes()).unwrap();
                intrude.recv().unwrap();
                stream.write_all(INTRUDER.as_bytes()).unwrap();
                intruded.send(()).unwrap();
            }
            // Further requests on this connection are not answered.
            std::thread::spawn(move || stream.read_to_end(&mut Vec::new()));
        }
    });
    let client = fetcher();
    let target = url(&format!("http://{}/", address.recv().unwrap()));
    let request = Request::page(&target);
    assert_eq!(client.fetch(&request).await.result.unwrap().body, "first");
    assert_eq!(client.idle_connections(), 1);
    // The server is known as one that is silent after its answers.
    assert_eq!(client.fetch(&request).await.result.unwrap().body, "again");
    // Nothing here gives way to the event loop.
    send_intruder.send(()).unwrap();
    has_intruded.recv().unwrap();
    std::thread::sleep(Duration::from_millis(50));
    assert_eq!(client.fetch(&request).await.result.unwrap().body, "second");
    assert_eq!(client.shared().doubtful_servers(), 1);
    assert_eq!(client.idle_connections(), 0, "the server gets a connection for each request from now on");
    assert_eq!(client.fetch(&request).await.result.unwrap().body, "third");
}

#[tokio::test]
async fn late_extra_bytes_are_nobodys_page() {
    // After every answer the server sends one more, ten milliseconds late.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut request = [0; 4096];
                while let Ok(1..) = stream.read(&mut request).await {
                    let text = String::from_utf8_lossy(&request).into_owned();
                    let path = text.split(' ').nth(1).unwrap_or_default().to_owned();
                    stream.write_all(ok(&path).as_bytes()).await.unwrap();
                    tokio::time::sleep(Duration::from_millis(10)).await;
                    if stream.write_all(INTRUDER.as_bytes()).await.is_err() {
                        return;
                    }
                }
            });
        }
    });
    let client = fetcher();
    let mut wrong = 0;
    for number in 0..300 {
        let path = format!("/{number}");
        let target = url(&format!("http://{address}{path}"));
        let visit = client.fetch(&Request::page(&target)).await;
        wrong += usize::from(visit.result.is_ok_and(|response| response.body != path));
    }
    assert_eq!(wrong, 0, "of 300 pages");
    assert_eq!(client.shared().doubtful_servers(), 1);
}

#[tokio::test]
async fn a_server_that_showed_a_fault_gets_one_request_per_connection() {
    let evil_after = |text: &str| format!("{text}{INTRUDER}");
    let both =
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n";
    let faults = [
        ("extra bytes", evil_after(&ok("a"))),
        ("both framings", both.to_owned()),
        ("204 with a length", "HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n".to_owned()),
        ("204 with a body", "HTTP/1.1 204 No Content\r\n\r\nevil".to_owned()),
        ("304 with a body", "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nevil".to_owned()),
        ("two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na".to_owned()),
        ("no http", "nonsense\r\n\r\n".to_owned()),
    ];
    for (fault, text) in faults {
        let first = vec![[answer(&text), vec![Step::Hang]].concat()];
        let server = Server::start([first, single_answers(&["b", "c", "d", "e"])].concat()).await;
        let client = fetcher();
        let _ = get(&client, &server, "/").await;
        assert_eq!((client.idle_connections(), client.shared().doubtful_servers()), (0, 1), "{fault}");
        assert_eq!([body(&client, &server).await, body(&client, &server).await], ["b", "c"], "{fault}");
        // Nor are requests sent together.
        let targets = [server.url("/d"), server.url("/e")];
        let mut line = Line::default();
        for (at, wanted) in ["d", "e"].into_iter().enumerate() {
            let following = targets.get(at + 1..).unwrap_or_default().iter().map(Request::page);
            let visit = client.fetch_in_line(&mut line, &Request::page(&targets[at]), following).await;
            assert_eq!(visit.result.unwrap().body, wanted, "{fault}");
        }
        assert_eq!(server.connections(), 5, "{fault}");
    }
}

#[tokio::test]
async fn a_304_that_names_a_length_ends_its_connection_but_is_no_fault() {
    let text = "HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\n";
    let first = vec![[answer(text), vec![Step::Hang]].concat()];
    let server = Server::start([first, single_answers(&["b"])].concat()).await;
    let client = fetcher();
    assert_eq!(get(&client, &server, "/").await.result.unwrap().status, 304);
    assert_eq!((client.idle_connections(), client.shared().doubtful_servers()), (0, 0));
    assert_eq!(body(&client, &server).await, "b");
    assert_eq!(client.idle_connections(), 1);
}

#[tokio::test]
async fn nonsense_in_line_is_a_fault() {
    let rest = [vec![Step::Read, Step::Read, send(&ok("a")), Step::Pause, send("what?")], vec![Step::Hang]];
    let first = [answer(&ok("first")), rest.concat()].concat();
    let server = Server::start([vec![first], single_answers(&["b", "c"])].concat()).await;
    let client = fetcher();
    assert_eq!(body(&client, &server).await, "first");
    let targets = [server.url("/a"), server.url("/b")];
    let mut line = Line::default();
    let request = Request::page(&targets[0]);
    let first = client.fetch_in_line(&mut line, &request, targets[1..].iter().map(Request::page));
    assert_eq!(first.await.result.unwrap().body, "a");
    let second = client.fetch_in_line(&mut line, &Request::page(&targets[1]), std::iter::empty()).await;
    assert!(second.resent);
    assert_eq!(second.result.unwrap().body, "b");
    assert_eq!((client.idle_connections(), client.shared().doubtful_servers()), (0, 1));
    assert_eq!(
        get(&client, &server, "/").await.result.map(|response| response.status),
        Ok::<_, Failure>(200)
    );
}
