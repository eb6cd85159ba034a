//! The page of `--report FILE.html` in a real browser, clicked through; skipped aloud where no Chromium is installed
//! (`WARPGRIND_CHROMIUM` names one that is elsewhere).
#![cfg(unix)]

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// Names of the browser.
const NAMES: [&str; 5] =
    ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "chrome-headless-shell"];

fn browser() -> Option<PathBuf> {
    let named = std::env::var_os("WARPGRIND_CHROMIUM").map(PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let found = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    named.into_iter().chain(found).find(|path| path.is_file())
}

/// A browser with one page, spoken to in DevTools' protocol over two pipes: JSON objects that end with a zero byte.
struct Browser {
    child: Child,
    to: File,
    from: BufReader<File>,
    session: Option<String>,
    number: u64,
    /// What it said unasked.
    events: Vec<Value>,
}

impl Browser {
    fn open(program: &Path, profile: &Path) -> Browser {
        let pipe = || {
            let mut ends = [0; 2];
            // SAFETY: the array has room for both ends.
            assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
            // SAFETY: both are open and nobody else's.
            ends.map(|end| unsafe { <File as std::os::fd::FromRawFd>::from_raw_fd(end) })
        };
        let ([theirs_in, to], [from, theirs_out]) = (pipe(), pipe());
        let mut command = Command::new(program);
        command.args(["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe"]);
        command.arg(format!("--user-data-dir={}", profile.display())).arg("about:blank");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let ends = [theirs_in.as_raw_fd(), theirs_out.as_raw_fd()];
        // SAFETY: between fork and exec only functions are called that may be. The numbers are moved out of the way first.
        unsafe {
            command.pre_exec(move || {
                let high = ends.map(|end| libc::fcntl(end, libc::F_DUPFD, 10));
                libc::dup2(high[0], 3);
                libc::dup2(high[1], 4);
                Ok(())
            });
        }
        let child = command.spawn().unwrap();
        let mut browser =
            Browser { child, to, from: BufReader::new(from), session: None, number: 0, events: Vec::new() };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({ "targetId": target, "flatten": true }));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page.enable", "Network.enable", "Runtime.enable", "Log.enable"] {
            browser.call(domain, json!({}));
        }
        browser
    }

    fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.to.write_all(format!("{message}\0").as_bytes()).unwrap();
        loop {
            let answer = self.hear();
            if answer["id"] == self.number {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            self.events.push(answer);
        }
    }

    fn hear(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.from.read_until(0, &mut bytes).unwrap();
        assert_eq!(bytes.pop(), Some(0), "the browser has ended");
        serde_json::from_slice(&bytes).unwrap()
    }

    /// Goes to a file and waits until it is there.
    fn visit(&mut self, page: &Path) {
        self.call("Page.navigate", json!({ "url": format!("file://{}", page.display()) }));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.hear();
            self.events.push(event);
        }
    }

    /// The value of an expression on the page.
    fn value(&mut self, expression: &str) -> Value {
        let answer =
            self.call("Runtime.evaluate", json!({ "expression": expression, "returnByValue": true }));
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// A key pressed and let go.
    fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" && key.len() == 1 { key } else { "" };
            self.call("Input.dispatchKeyEvent", json!({ "type": kind, "key": key, "text": text }));
        }
    }

    /// A click into the middle of an element.
    fn click(&mut self, selector: &str) {
        let middle = self.value(&format!(
            "(() => {{ const at = document.querySelector('{selector}'); at.scrollIntoView({{ block: 'center' }}); \
             const box = at.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }})()"
        ));
        for kind in ["mousePressed", "mouseReleased"] {
            let at =
                json!({ "type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1 });
            self.call("Input.dispatchMouseEvent", at);
        }
    }
}

impl Browser {
    /// Only the page itself was asked for, and nothing was complained of.
    fn stood_alone(&self) {
        let of =
            |method: &str| self.events.iter().filter(|event| event["method"] == method).collect::<Vec<_>>();
        let asked: Vec<&Value> =
            of("Network.requestWillBeSent").into_iter().map(|of| &of["params"]["request"]["url"]).collect();
        assert_eq!(asked.len(), 1, "{asked:?}");
        assert!(
            of("Log.entryAdded").is_empty() && of("Runtime.exceptionThrown").is_empty(),
            "{:?}",
            self.events
        );
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A kernel with a race between two of its lines and a read past an end, under names that would be markup.
const PTX: &str = "\
.version 8.0
.target sm_90
.address_size 64
.visible .entry racy(.param .u64 p) {
  .reg .b64 %p; .reg .b32 %x, %t; .reg .pred %q;
  ld.param.u64 %p, [p];
  mov.u32 %t, %ctaid.x;
  setp.eq.u32 %q, %t, 0;
  @%q st.global.u32 [%p], %t;
  @!%q ld.global.u32 %x, [%p];
  ld.global.u32 %x, [%p+4000];
  ret;
}
";

#[test]
fn the_page_is_clicked_through() {
    let Some(program) = browser() else {
        eprintln!("SKIPPED: no Chromium is installed; WARPGRIND_CHROMIUM may name one");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let hostile = "<img src=x onerror=document.title='owned'>.ptx";
    std::fs::write(folder.path().join(hostile), PTX).unwrap();
    let page = folder.path().join("report.html");
    let ran = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
        .current_dir(&folder)
        .args(["run", hostile, "-g", "2", "-b", "1", "-a", "u32[4]=0", "--tool", "racecheck"])
        .args(["--report", "report.html"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(5), "{}", String::from_utf8_lossy(&ran.stderr));

    let mut browser = Browser::open(&program, &folder.path().join("profile"));
    browser.visit(&page);
    let shown =
        "[...document.querySelectorAll('.finding:not([hidden])')].map(of => of.dataset.kind).join(' ')";
    let all = browser.value(shown);
    assert_eq!(all, "data-race out-of-bounds");
    assert_eq!(browser.value("document.getElementById('shown').value"), "2 of 2 shown");
    assert_eq!(browser.value("document.querySelectorAll('img').length"), 0, "names are no markup");
    assert_eq!(browser.value("document.title"), "warpgrind run: 2 findings");

    // Both places of the race stand beside each other, and what is marked is the instruction.
    let sides =
        "[...document.querySelectorAll('[data-kind=data-race] .side')].map(of => of.getBoundingClientRect())";
    browser.call(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": false }),
    );
    assert_eq!(browser.value(&format!("(s => s.length == 2 && s[0].right <= s[1].left)({sides})")), true);
    let marks = "[...document.querySelectorAll('[data-kind=data-race] mark')].map(of => of.textContent).sort().join('|')";
    assert_eq!(browser.value(marks), "@!%q ld.global.u32 %x, [%p];|@%q st.global.u32 [%p], %t;");

    // The filter, by mouse and by keys alone.
    browser.press("/");
    assert_eq!(browser.value("document.activeElement.id"), "text");
    browser.call("Input.insertText", json!({ "text": "out-of" }));
    assert_eq!(browser.value(shown), "out-of-bounds");
    assert_eq!(browser.value("document.getElementById('shown').value"), "1 of 2 shown");
    browser.press("Escape");
    assert_eq!(browser.value(shown), all);
    browser.click("[name=status][value=new]");
    assert_eq!(browser.value(shown), "");
    browser.click("[name=status][value=new]");
    let open = "document.querySelectorAll('.finding[open]').length";
    assert_eq!(browser.value(open), 2);
    browser.click("#fold");
    assert_eq!(browser.value(open), 0);
    browser.value("document.activeElement.blur()");
    browser.press("j");
    browser.press("Enter");
    assert_eq!(browser.value("document.activeElement.closest('.finding').dataset.kind"), "data-race");

    // Colours follow what the reader's system asks for.
    let back = "getComputedStyle(document.body).backgroundColor";
    let mut colours = Vec::new();
    for scheme in ["light", "dark"] {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.call("Emulation.setEmulatedMedia", json!({ "features": features }));
        colours.push(browser.value(back));
        if let Some(folder) = std::env::var_os("WARPGRIND_SCREENSHOTS") {
            browser.value(
                "document.querySelectorAll('.finding').forEach(of => { of.open = true; }); scrollTo(0, 0)",
            );
            let picture = browser.call("Page.captureScreenshot", json!({ "captureBeyondViewport": true }));
            std::fs::write(
                Path::new(&folder).join(format!("{scheme}.png.base64")),
                picture["data"].as_str().unwrap(),
            )
            .unwrap();
        }
    }
    assert_ne!(colours[0], colours[1]);

    browser.stood_alone();
}

/// A kernel whose lines are of a file that is there, and of one whose name would be markup.
const TIMED: &str = "\
.version 8.0
.target sm_90
.address_size 64
.file 1 \"scale.cu\"
.file 2 \"<img src=x onerror=alert(1)>.cu\"
.visible .entry scale(.param .u64 p) {
  .reg .b64 %p, %a; .reg .b32 %x, %t;
  .loc 1 2 3
  ld.param.u64 %p, [p];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %a, %t, 4;
  add.u64 %p, %p, %a;
  .loc 1 3 3
  ld.global.u32 %x, [%p];
  .loc 2 7 1
  add.u32 %x, %x, 1;
  st.global.u32 [%p], %x;
  ret;
}
";

const LAUNCH: &str = "\
modules = [\"scale.ptx\"]

[buffers.p]
type = \"u32\"
shape = 64

[[launch]]
kernel = \"scale\"
grid = 4
block = 64
args = [\"p\"]
";

#[test]
fn the_page_of_a_profile_is_looked_at() {
    let Some(program) = browser() else {
        eprintln!("SKIPPED: no Chromium is installed; WARPGRIND_CHROMIUM may name one");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("scale.ptx"), TIMED).unwrap();
    std::fs::write(folder.path().join("scale.cu"), "// <b>\nint i = threadIdx.x;\np[i] += 1; // & more\n")
        .unwrap();
    std::fs::write(folder.path().join("launch.toml"), LAUNCH).unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_warpgrind"))
        .current_dir(&folder)
        .env_remove("CUDA_HOME")
        .env("PATH", "")
        .args(["profile", "launch.toml", "--report", "report.html", "--metrics", "launch__block_size"])
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", String::from_utf8_lossy(&ran.stderr));

    let mut browser = Browser::open(&program, &folder.path().join("profile"));
    browser.visit(&folder.path().join("report.html"));
    assert_eq!(browser.value("document.querySelectorAll('section').length"), 1);
    let headline = browser.value("document.querySelector('.headline').textContent");
    assert!(headline.as_str().unwrap().starts_with("1 launch: "), "{headline}");
    let sources = "[...document.querySelectorAll('.heat .cuda .source')].map(of => of.textContent).join('|')";
    assert_eq!(browser.value(sources), "int i = threadIdx.x;|p[i] += 1; // & more|");
    assert_eq!(
        browser.value("document.querySelectorAll('img, b:not(.unit b)').length"),
        0,
        "texts are no markup"
    );
    // A line opens to what it was made into; what the compiler adds is of none.
    let added = "document.querySelector('.heat > .ptx .source').textContent";
    assert_eq!(browser.value(added), "added by the compiler");
    let made = "[...document.querySelectorAll('.heat .ptx')].filter(of => of.checkVisibility()).length";
    assert_eq!(browser.value(made), 1);
    browser.click(".heat summary.cuda");
    assert_eq!(browser.value(made), 3);
    // Shares are of one whole.
    let shares = "[...document.querySelectorAll('.heat .ptx .hot')].reduce((all, of) => all + parseFloat(of.textContent), 0)";
    let all = browser.value(shares).as_f64().unwrap();
    assert!((all - 100.0).abs() < 0.5, "{all}");
    // Bars are as long as what they say.
    let bars = "[...document.querySelectorAll('.charts figure:first-child .fill')].map(of => of.getBoundingClientRect().width)";
    let widths = browser.value(bars);
    let widths: Vec<f64> = widths.as_array().unwrap().iter().map(|width| width.as_f64().unwrap()).collect();
    assert!(widths.len() > 2 && widths.is_sorted_by(|a, b| a >= b), "{widths:?}");
    for scheme in ["light", "dark"] {
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.call("Emulation.setEmulatedMedia", json!({ "features": features }));
        for width in [1280, 480] {
            let size = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false });
            browser.call("Emulation.setDeviceMetricsOverride", size);
            let fits = "document.documentElement.scrollWidth <= innerWidth";
            assert_eq!(browser.value(fits), true, "{scheme}, {width}");
        }
    }
    browser.stood_alone();
}
