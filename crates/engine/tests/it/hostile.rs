use lycosa_simweb::{Fault, ServerConfig, WorldConfig};
use lycosa_types::{Failure, Outcome};

use crate::site::Site;

#[test]
fn every_fault_ends_in_its_outcome() {
    crawl_every_fault(1);
}

#[test]
fn every_fault_ends_in_its_outcome_also_in_line_with_others() {
    crawl_every_fault(4);
}

/// Every hostile response ends in its typed outcome, within its limit.
fn crawl_every_fault(pipeline: usize) {
    let mut world = WorldConfig::full(13, 4, 40);
    world.faults.bomb_bytes = 16 << 20;
    // Bombs are built when first asked for: with several threads the other faults need not wait for them.
    let server = ServerConfig { threads: 4, ..ServerConfig::loopbacks(1) };
    let site = Site::start_on(world, server);
    let mut config = site.config();
    config.politeness.max_tries = 4;
    config.fetch.first_byte_timeout_ms = 4000;
    config.fetch.total_timeout_ms = 8000;
    config.fetch.slow_grace_ms = 500;
    config.fetch.min_bytes_per_s = 2000;
    config.fetch.max_body_bytes = 2 << 20;
    config.fetch.max_decoded_bytes = 4 << 20;
    config.fetch.concurrency = 64;
    config.fetch.pipeline = pipeline;
    let seeds = site.world.fault_seeds();
    site.crawl(config, &seeds);
    let outcomes = site.outcomes();
    let mut wrong = Vec::new();
    for &fault in Fault::ALL {
        for url in site.world.fault_urls(fault) {
            match outcomes.get(&url) {
                Some(outcome) if agrees(fault, outcome) => {}
                other => wrong.push(format!("{fault:?} {url}: {other:?}")),
            }
        }
    }
    // The private network behind a redirect was not entered.
    let private = &outcomes["http://10.255.255.1/admin"];
    assert_eq!(*private, Outcome::Failed(Failure::PrivateAddress));
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn agrees(fault: Fault, outcome: &Outcome) -> bool {
    use Failure::*;
    let fetched = matches!(outcome, Outcome::Fetched { status: 200 });
    let failed =
        |expected: &[Failure]| matches!(outcome, Outcome::Failed(failure) if expected.contains(failure));
    match fault {
        // A page can still be had from these.
        Fault::Slow
        | Fault::HtmlAsBinary
        | Fault::BinaryAsHtml
        | Fault::EncodingLie
        | Fault::EncodingUnknown
        | Fault::LengthTooShort
        | Fault::DeepNesting
        | Fault::HugeAttribute
        | Fault::BrokenMarkup
        | Fault::Flaky
        | Fault::TooMany
        | Fault::RetryDate => fetched,
        Fault::Hang => failed(&[FirstByteTimeout]),
        Fault::HangInBody => failed(&[TotalTimeout, TooSlow]),
        Fault::SlowDrip => failed(&[TooSlow]),
        Fault::EmptyReply | Fault::Reset => failed(&[ConnectionLost]),
        Fault::ResetInBody => failed(&[ConnectionLost, Truncated]),
        Fault::LengthTooLong | Fault::ChunkTruncated => failed(&[Truncated]),
        Fault::LengthTwice | Fault::ChunkGarbage | Fault::Garbage => failed(&[BadResponse]),
        Fault::InterimFlood => failed(&[BadResponse, HeaderTooLarge]),
        Fault::GzipTruncated => failed(&[BadEncoding, Truncated]),
        Fault::BombGzip | Fault::BombBrotli | Fault::BombZstd => failed(&[DecodedTooLarge]),
        Fault::EndlessBody | Fault::EndlessRaw | Fault::HugePage => failed(&[BodyTooLarge]),
        Fault::EndlessHeaders | Fault::HugeHeader | Fault::ManyHeaders => failed(&[HeaderTooLarge]),
        Fault::ServerError => failed(&[ServerError { status: 500 }, Overloaded { status: 503 }]),
        Fault::RedirectSelf | Fault::RedirectEndless | Fault::RedirectPrivate => {
            matches!(outcome, Outcome::Redirected { .. })
        }
        Fault::RedirectNowhere | Fault::RedirectScheme => failed(&[BadRedirect]),
    }
}
