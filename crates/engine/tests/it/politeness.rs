use lycosa_engine::bookkeeper::Stop;
use lycosa_simweb::{ServerConfig, WorldConfig};

use crate::site::Site;

/// The shortest pause between two requests to one host, measured at the server, across a stop and a resume.
#[test]
fn no_host_is_asked_before_its_time() {
    let mut world = WorldConfig::full(5, 30, 300);
    world.features.faults = false;
    world.features.traps = false;
    let site = Site::start(world);
    let mut config = site.config();
    config.politeness.delay_ms = 40;
    config.politeness.per_host = 1;
    config.politeness.max_delay_ms = 100;
    let mut limited = config.clone();
    limited.limits.max_pages = 120;
    assert_eq!(site.crawl(limited, &site.world.seeds(1)).stop, Stop::MaxPages);
    assert_eq!(site.crawl(config, &[]).stop, Stop::Exhausted);
    let gaps = site.server.ledger.min_gap_us_per_host();
    assert!(gaps.len() > 10);
    for (host, gap_us) in gaps {
        assert!(gap_us >= 40_000, "{host} was asked again after {gap_us} µs");
    }
    for (host, most) in site.server.ledger.max_concurrent_per_host() {
        assert!(most <= 1, "{host} had {most} requests at once");
    }
}

/// Answers take their time here: a pause that ran from the start of a request would be over before its end.
#[test]
fn a_pause_runs_from_the_end_of_a_request() {
    let mut world = WorldConfig::clean(11, 6, 60);
    world.latency_ms = 60;
    let site = Site::start(world);
    let mut config = site.config();
    config.politeness.delay_ms = 50;
    config.politeness.per_host = 1;
    config.politeness.slow_factor = 0;
    assert_eq!(site.crawl(config, &site.world.seeds(1)).stop, Stop::Exhausted);
    // An answer leaves 60 ms after its request came, so the next request comes 110 ms after it at the earliest.
    let gaps = site.server.ledger.min_gap_us_per_host();
    assert!(gaps.len() >= 5, "{gaps:?}");
    for (host, gap_us) in gaps {
        assert!(gap_us >= 110_000, "{host} was asked again after {gap_us} µs");
    }
}

/// Hosts that share an address share its pace.
#[test]
fn no_address_is_asked_before_its_time() {
    let site = Site::start_on(WorldConfig::clean(9, 12, 60), ServerConfig::loopbacks(3));
    let mut config = site.config();
    config.politeness.delay_ms = 20;
    config.politeness.ip_delay_ms = 30;
    config.politeness.per_host = 1;
    let port = site.server.port();
    // Names that end in an even digit live on one address, the rest on another.
    config.fetch.resolve = vec![
        format!("h0.sim:80:127.0.0.2:{port}"),
        format!("h2.sim:80:127.0.0.2:{port}"),
        format!("h4.sim:80:127.0.0.2:{port}"),
        format!("*:80:127.0.0.3:{port}"),
    ];
    assert_eq!(site.crawl(config, &site.world.seeds(1)).stop, Stop::Exhausted);
    let gaps = site.server.ledger.min_gap_us_per_ip();
    assert_eq!(gaps.len(), 2, "{gaps:?}");
    for (address, gap_us) in gaps {
        assert!(gap_us >= 30_000, "{address} was asked again after {gap_us} µs");
    }
}
