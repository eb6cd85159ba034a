//! Pictures of executions and of candidates that are cut.

use memory_model::{Options, check, parse};

/// The tags of a text are closed in the order in which they are opened.
fn is_balanced(text: &str) -> bool {
    let mut open: Vec<&str> = Vec::new();
    for tag in text.split('<').skip(1) {
        let Some((inner, _)) = tag.split_once('>') else { return false };
        let name = inner.trim_start_matches('/').split([' ', '/']).next().unwrap_or("");
        match inner {
            inner if inner.starts_with('!') || inner.ends_with('/') => {}
            _ if ["meta", "input"].contains(&name) => {}
            inner if inner.starts_with('/') => {
                if open.pop() != Some(name) {
                    return false;
                }
            }
            _ => open.push(name),
        }
    }
    open.is_empty()
}

fn number(tag: &str, name: &str) -> f64 {
    let from = tag.find(&format!(" {name}=\"")).expect("an attribute") + name.len() + 3;
    tag[from..].split('"').next().and_then(|n| n.parse().ok()).expect("a number")
}

/// Boxes of events: left, top, right, bottom.
fn boxes(svg: &str) -> Vec<[f64; 4]> {
    let rects = svg.split("<g class=\"event\"><rect").skip(1);
    rects
        .map(|tag| {
            let [x, y, width, height] = ["x", "y", "width", "height"].map(|name| number(tag, name));
            [x, y, x + width, y + height]
        })
        .collect()
}

/// Labels of edges: middle, line, half the width.
fn labels(svg: &str) -> Vec<(f64, f64, f64)> {
    let groups = svg.split("<g class=\"edge ").skip(1).filter_map(|group| group.split("</g>").next());
    let texts = groups.flat_map(|group| group.split("<text").skip(1));
    texts
        .map(|text| {
            let label = text.split('>').nth(1).and_then(|rest| rest.split('<').next()).expect("a label");
            (number(text, "x"), number(text, "y"), label.chars().count() as f64 * 3.65)
        })
        .collect()
}

#[test]
fn every_shape_is_drawn() {
    let folder = format!("{}/testdata/litmus", env!("CARGO_MANIFEST_DIR"));
    let (mut executions, mut cuts) = (0, 0);
    for entry in std::fs::read_dir(&folder).expect("the shapes") {
        let path = entry.expect("a file").path();
        if path.extension().is_none_or(|extension| extension != "litmus") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("readable");
        let litmus = parse(&text).unwrap_or_else(|errors| panic!("{}", errors[0].render("shape", &text)));
        let verdict = check(&litmus, &Options { explain: true, ..Options::default() });
        let (svg, html, edges) = match (&verdict.witness, verdict.cuts.first()) {
            (Some(shown), _) => {
                executions += 1;
                let edges = shown.relations.iter().map(|(_, edges)| edges.len()).sum();
                (shown.svg("a < b & c"), shown.html("a < b & c"), Some(edges))
            }
            (None, Some(cut)) => {
                cuts += 1;
                let svg = cut.svg("a < b & c");
                let (_, cycle) = svg.split_once("<g class=\"edge cycle\">").expect("a cycle");
                let cycle = cycle.split("</g>").next().expect("its end");
                assert_eq!(cycle.matches("<path").count(), cut.cycle.len(), "{}", path.display());
                (svg, cut.html("a < b & c"), None)
            }
            (None, None) => continue,
        };
        assert!(is_balanced(&svg) && is_balanced(&html), "{}", path.display());
        assert!(svg.contains("a &lt; b &amp; c") && svg.contains("prefers-color-scheme:dark"));
        // Programs that know no variables in styles show it, too; and no label is on another one.
        assert!(!svg.contains("var("));
        let labels = labels(&svg);
        for (at, a) in labels.iter().enumerate() {
            let apart = |b: &(f64, f64, f64)| (a.0 - b.0).abs() >= a.2 + b.2 || (a.1 - b.1).abs() >= 12.9;
            assert!(labels[..at].iter().all(apart), "{}", path.display());
        }
        if let Some(edges) = edges {
            assert_eq!(svg.matches("marker-end").count(), edges, "{}", path.display());
        }
        // Each relation of the page has its switch.
        for class in html.split("<g class=\"edge ").skip(1).filter_map(|rest| rest.split('"').next()) {
            assert!(html.contains(&format!("id=\"show-{class}\"")), "{class}");
        }
        let [width, height] = ["width", "height"].map(|name| number(&svg, name));
        let boxes = boxes(&svg);
        for (at, a) in boxes.iter().enumerate() {
            assert!(a[0] >= 0.0 && a[1] >= 0.0 && a[2] <= width && a[3] <= height, "{}", path.display());
            let apart = |b: &[f64; 4]| a[2] <= b[0] || b[2] <= a[0] || a[3] <= b[1] || b[3] <= a[1];
            assert!(boxes[..at].iter().all(apart), "{}", path.display());
        }
    }
    assert!(executions > 30 && cuts > 30, "{executions} executions, {cuts} candidates");
}
