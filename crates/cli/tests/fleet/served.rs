//! A fleet in the app: shown as one job in the words of `status`, and steered.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;

/// What stands for a password; it may be seen nowhere.
const SECRET: &str = "hush-hush-4711";

/// A server of a fleet, that is killed with the test.
struct FleetApp {
    child: Child,
    address: String,
    token: String,
}

impl FleetApp {
    fn start(fleet: &Fleet) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_clewline"))
            .current_dir(fleet.place.path())
            .args(["serve", &fleet.url(), "--job", fleet.job])
            .args(["--port", "0", "--control"])
            .env("PGPASSWORD", SECRET)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut first).unwrap();
        assert!(!first.contains(SECRET) && !first.contains("postgres"));
        let link = first.strip_prefix("open http://").unwrap();
        let (address, rest) = link.split_once("/session?token=").unwrap();
        Self {
            child,
            address: address.to_owned(),
            token: rest.split(' ').next().unwrap().to_owned(),
        }
    }

    fn ask(&self, request: &str, body: &Value) -> (u16, String) {
        let (host, token, body) = (&self.address, &self.token, body.to_string());
        let mut stream = TcpStream::connect(host).unwrap();
        write!(
            stream,
            "{request} HTTP/1.0\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(!answer.contains(SECRET), "{answer}");
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        let body = answer.split_once("\r\n\r\n").unwrap().1;
        (status, body.to_owned())
    }

    fn read(&self, path: &str) -> String {
        let (status, body) = self.ask(&format!("GET {path}"), &Value::Null);
        assert_eq!(status, 200, "{path}: {body}");
        body
    }

    fn json(&self, path: &str) -> Value {
        serde_json::from_str(&self.read(path)).unwrap()
    }

    /// Waits until something is so of the job, as the app tells it.
    fn until(&self, what: &str, is_so: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        loop {
            let shown = self.json("/api/v1/jobs/served/fleet");
            if is_so(&shown) {
                return shown;
            }
            assert!(begun.elapsed() < PATIENCE, "never {what}: {shown}");
            std::thread::sleep(GLANCE);
        }
    }

    fn order(&self, request: &str, body: &Value) {
        let (status, told) = self.ask(request, body);
        assert!(matches!(status, 200 | 202), "{request}: {told}");
    }
}

impl Drop for FleetApp {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        let mut said = String::new();
        let mut errors = self.child.stderr.take().unwrap();
        errors.read_to_string(&mut said).unwrap();
        self.child.wait().unwrap();
        assert!(!said.contains(SECRET), "{said}");
    }
}

#[test]
fn a_fleet_is_one_job_of_the_app_and_obeys_it() {
    let Some(mut fleet) = Fleet::new("served", 20, 30, &["--shards", "8", "--lease", "20s"]) else {
        return;
    };
    let workers = fleet.two_workers();
    let app = FleetApp::start(&fleet);
    app.until("two workers with four shards each", |shown| {
        let members = shown["members"].as_array().unwrap();
        members.len() == 2 && members.iter().all(|member| member["shards"] == 4)
    });
    app.order(
        "POST /api/v1/jobs/served/actions",
        &json!({"action": "pause"}),
    );
    assert!(fleet.until("paused", |status| status.paused).paused);
    let page = app.read("/");
    let status = fleet.clewline(&["status", &fleet.url(), "--job", fleet.job]);
    let told = printed(&status);
    assert!(told.starts_with("served: paused\n"), "{told}");
    // Times and rates change between two looks; who has what does not while nothing is asked.
    let shares = told
        .lines()
        .find(|line| line.contains(" have an owner"))
        .unwrap();
    assert!(shares.starts_with("8 of 8 shards"), "{told}");
    assert!(page.contains("8 of 8 shards have an owner"), "{page}");
    for line in told.lines().filter(|line| line.starts_with("  ")) {
        let worker = line.split_whitespace().next().unwrap();
        assert!(page.contains(worker), "{worker}: {page}");
    }
    assert!(page.contains("<form class=buttons method=post"), "{page}");
    assert!(page.contains("clewline fleet merge"), "{page}");
    let shown = app.json("/api/v1/jobs/served/fleet");
    assert!(shown["job"].get("spec").is_none() && shown["job"].get("seed").is_none());
    let metrics = app.read("/metrics");
    assert!(metrics.contains("clewline_fleet_workers{job=\"served\",state=\"live\"} 2"));
    let rate = json!({"rate": "1000/s", "delay": "1ms"});
    app.order("PATCH /api/v1/jobs/served/settings", &rate);
    let orders = fleet.database.sql("select count(*) from clewline.orders");
    assert_eq!(orders, "2");
    app.order(
        "POST /api/v1/jobs/served/actions",
        &json!({"action": "continue"}),
    );
    app.until("at work again", |shown| shown["paused"] == false);
    app.order(
        "POST /api/v1/jobs/served/actions",
        &json!({"action": "stop"}),
    );
    app.until("ended", |shown| shown["phase"] == "done");
    let audit = std::fs::read_to_string(fleet.place.path().join("audit.log")).unwrap();
    let actions: Vec<Value> = audit
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let actions: Vec<&str> = actions
        .iter()
        .map(|line| line["action"].as_str().unwrap())
        .collect();
    assert_eq!(
        actions,
        ["pause", "settings", "settings", "continue", "stop"]
    );
    assert!(!audit.contains(SECRET));
    for worker in workers {
        worker.wait_with_output().unwrap();
    }
    // The database goes and comes back: the server tells, and goes on.
    fleet.database.kill();
    let begun = Instant::now();
    while app.ask("GET /api/v1/jobs/served/fleet", &Value::Null).0 != 503 {
        assert!(begun.elapsed() < PATIENCE, "it never tells");
    }
    fleet.database.restart();
    while app.ask("GET /api/v1/jobs/served/fleet", &Value::Null).0 != 200 {
        assert!(begun.elapsed() < PATIENCE, "it never comes back");
    }
}

#[test]
fn what_a_fleet_has_no_folder_for_is_refused_by_name() {
    let command = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_clewline"))
            .arg("serve")
            .args(words)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        told(&output)
    };
    let address = "postgres://crawler@127.0.0.1:1/crawls";
    assert!(command(&[address]).contains("--job"));
    assert!(command(&["--job", "news", "."]).contains("--job"));
    assert!(command(&[address, "--job", "news", "--proxy"]).contains("clewline fleet merge"));
    assert!(command(&[address, "--job", "news", "."]).contains("serve them apart"));
    let secret = format!("postgres://crawler:{SECRET}@127.0.0.1:1/crawls");
    let output = Command::new(env!("CARGO_BIN_EXE_clewline"))
        .args(["serve", &secret, "--job", "news"])
        .output()
        .unwrap();
    assert!(!output.status.success());
    assert!(!told(&output).contains(SECRET), "{}", told(&output));
}
