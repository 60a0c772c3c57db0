//! The whole configuration, written down and read back.

use std::time::Duration;

use super::*;

/// Every field named and none at its default, so that a new one cannot be forgotten here.
fn unusual() -> Config {
    let politeness = PolitenessConfig {
        speed: Some(Speed::Gentle),
        delay: Some(Duration::from_micros(1_234_567)),
        rate: Some(0.3),
        host_concurrency: Some(3),
        ignore_crawl_delay: true,
        shared_addresses: vec!["10.0.0.0/8".parse().unwrap()],
        retry_delay: Some(Duration::from_secs(7)),
        max_retry_after: Some(Duration::from_secs(9)),
        max_gap: Some(Duration::from_secs(10)),
        robots_retry: Some(Duration::from_millis(5)),
        hosts: vec![HostOverride {
            host: "*.a.test".into(),
            speed: Some(Speed::Max),
            delay: Some(Duration::from_nanos(1)),
            rate: Some(2.5),
            host_concurrency: Some(9),
            ignore_crawl_delay: Some(false),
            ignore_robots: Some(true),
            max_pages: Some(11),
        }],
    };
    let limits = Limits {
        concurrency: 1,
        tries: 2,
        redirects: 3,
        depth: Some(4),
        pages: Some(5),
        pages_per_host: Some(6),
        bytes: Some(7),
        time: Some(Duration::from_secs(8)),
        url_length: 9,
        repeated_segments: 10,
        host_failures: 11,
        failed_pages: 12,
    };
    let scope = ScopeConfig {
        reach: Reach::Any,
        include: vec![r"a\d'\u{1b}".into()],
        exclude: vec!["b\"".into(), "(".into()],
        page_requisites: true,
        accept_types: vec!["text/*".into()],
        drop_params: vec!["utm_*".into()],
        follow_nofollow: true,
        sitemaps: false,
        robots: false,
        traps: false,
        foreign_roots: true,
    };
    Config {
        roots: vec![
            Root::parse("a.test").unwrap(),
            Root::parse("http://b.test/").unwrap(),
        ],
        scope,
        politeness,
        limits,
        fetch: unusual_fetch(),
        extract: ExtractConfig {
            max_links: 12,
            lazy_images: false,
            script_links: true,
        },
        render: unusual_render(),
        output: OutputConfig {
            folder: Some("some/folder".into()),
            overwrite: true,
            in_memory: true,
            rescope: true,
            repair: true,
            memory: Memory(13),
            min_free: MinFree(14),
            archive: ArchiveConfig {
                write: false,
                compression: Compression::Zstd,
                file_size: 15,
                keep_secrets: true,
                update_from: Some("earlier".into()),
                dedup_from: vec!["others".into()],
            },
            views: vec!["markdown".into()],
            rules: Some("rules.toml".into()),
        },
    }
}

fn unusual_fetch() -> FetchConfig {
    FetchConfig {
        user_agent: Some("bot/1".into()),
        contact: Some("me@a.test".into()),
        headers: vec![("X-Key".into(), Secret::new("hunter2"))],
        host_headers: vec![HostHeaders {
            host: "*".into(),
            headers: vec![("X-All".into(), Secret::new("hunter2"))],
        }],
        user: Some(Secret::new("me:hunter2")),
        proxy: Some(Secret::new("http://me:hunter2@p.test:3128")),
        no_proxy: vec!["localhost".into()],
        insecure: true,
        cacert: Some("ca.pem".into()),
        resolve: vec!["a.test:80:127.0.0.1".into()],
        connect_to: vec!["a:1:b:2".into()],
        dns: Some("127.0.0.1:53".parse().unwrap()),
        allow_private: vec!["::1/128".parse().unwrap()],
        cookies: false,
        cookie_file: Some("cookies.txt".into()),
        timeout: Duration::from_millis(1),
        connect_timeout: Duration::from_millis(2),
        first_byte_timeout: Duration::from_millis(7),
        max_body: 3,
        max_head: 4,
        min_rate: 5,
        idle_connections: 6,
        http2: Http2Use::Never,
    }
}

fn unusual_render() -> RenderConfig {
    RenderConfig {
        when: RenderUse::Always,
        limit: Some(16),
        timeout: Duration::from_secs(17),
        tabs: Some(18),
        screenshot: Some(PictureArea::Full),
        behaviors: vec![PageBehavior::Autoscroll, PageBehavior::Autoclick],
        clicks: vec!["#accept".into()],
        browser: Some("some/browser".into()),
        no_sandbox: true,
    }
}

fn written_and_read(config: &Config) -> Config {
    let text = toml::to_string(config).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    toml::from_str(&text).unwrap()
}

#[test]
fn the_compression_of_an_earlier_version_is_known() {
    for (written, expected) in [
        ("gzip", Compression::Balanced),
        ("zstd", Compression::Zstd),
        ("fast", Compression::Fast),
    ] {
        let text = format!("compression = \"{written}\"");
        let archive: ArchiveConfig = toml::from_str(&text).unwrap();
        assert_eq!(archive.compression, expected);
    }
}

#[test]
fn every_setting_is_read_back() {
    let config = unusual();
    let back = written_and_read(&config);
    let mut expected = config.clone();
    expected.fetch.headers = vec![("X-Key".into(), Secret::default())];
    expected.fetch.host_headers[0].headers = vec![("X-All".into(), Secret::default())];
    expected.fetch.user = Some(Secret::default());
    expected.fetch.proxy = Some(Secret::default());
    assert_eq!(back, expected);
    // No field of the written form stands at its default, nested ones included.
    let written = toml::Table::try_from(&config).unwrap();
    let usual = toml::Table::try_from(Config::default()).unwrap();
    for (stage, value) in &written {
        let Some(table) = value.as_table() else {
            continue;
        };
        for (key, value) in table {
            assert_ne!(usual[stage].get(key), Some(value), "{stage}.{key} is usual");
        }
    }
    assert_eq!(written_and_read(&Config::default()), Config::default());
}

#[test]
fn a_proxy_without_a_password_is_no_secret() {
    let mut config = Config::default();
    config.fetch.proxy = Some(Secret::new("socks5://p.test:1080"));
    assert_eq!(written_and_read(&config), config);
}

#[test]
fn what_is_withheld_is_named_with_its_flag() {
    let back = written_and_read(&unusual());
    let told: Vec<String> = back.withheld().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "header: is not kept in the job folder; give it again: -H 'X-Key: …'",
            "header: is not kept in the job folder; give it again: repeat the command that began the \
             crawl, which reads the file ('X-All: …' of [[host]] *)",
            "user: is not kept in the job folder; give it again: -u USER:PASS",
            "proxy: is not kept in the job folder; give it again: --proxy URL, with its password",
        ]
    );
    assert!(
        back.validate()
            .iter()
            .any(|problem| problem.setting == "user")
    );
    assert!(unusual().withheld().is_empty());
}

#[test]
fn a_folder_of_an_older_version_lacks_what_is_new() {
    let old: Config = toml::from_str("format = 1\n[limits]\n[fetch]\n").unwrap();
    assert_eq!(old, Config::default());
}
