//! Pictures of executions: SVG that follows the reader's light or dark colours, and pages that switch relations on and off.

use super::{Cut, Shown, ShownEvent, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// A relation as it is drawn. Colours are of Okabe and Ito's palette, which colour-blind readers can tell apart; dashes and
/// labels tell the same.
struct Layer {
    name: String,
    light: &'static str,
    dark: &'static str,
    dash: &'static str,
    bold: bool,
    /// Whether a page shows it from the start.
    on: bool,
    edges: Vec<(usize, usize, String)>,
}

impl Layer {
    fn new(name: &str, edges: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (light, dark, dash, on) = match name {
            "po" => ("#767676", "#9a9a9a", "", true),
            "rf" => ("#007a5a", "#00c795", "", true),
            "co" => ("#0072b2", "#56b4e9", "7 4", true),
            "fr" => ("#8a6500", "#f0e442", "2 4", true),
            "sync" => ("#a5467f", "#e69ac3", "", true),
            "sc" => ("#6a51a3", "#b7a3e3", "9 3 2 3", true),
            _ => ("#767676", "#9a9a9a", "1 3", false),
        };
        let edges = edges.into_iter().map(|(a, b)| (a, b, name.to_owned())).collect();
        Self { name: name.to_owned(), light, dark, dash, bold: name == "sync", on, edges }
    }

    /// The cycle that forbids, in the colour that nothing else has.
    fn cycle(edges: Vec<(usize, usize, String)>) -> Self {
        let name = "cycle".to_owned();
        Self { name, light: "#d55e00", dark: "#ff8c42", dash: "", bold: true, on: true, edges }
    }
}

/// A box on the page.
#[derive(Clone, Copy)]
struct Place {
    /// Column, or none for initial writes above them all.
    column: Option<usize>,
    row: usize,
    x: f64,
    y: f64,
    width: f64,
}

const HEIGHT: f64 = 44.0;
const STEP: f64 = 92.0;
const GAP: f64 = 160.0;
const MARGIN: f64 = 64.0;
/// Width of a letter of the fixed-width font.
const LETTER: f64 = 7.4;

impl Place {
    fn middle(&self) -> f64 {
        self.x + self.width / 2.0
    }

    fn bottom(&self) -> f64 {
        self.y + HEIGHT
    }

    fn side(&self, right: bool) -> f64 {
        if right { self.x + self.width } else { self.x }
    }
}

/// Where everything stands, and how large the page is.
struct Layout {
    /// By event; those that nothing concerns have no place.
    places: Vec<Option<Place>>,
    /// The middles of the threads' names.
    heads: BTreeMap<u32, (f64, f64)>,
    width: f64,
    height: f64,
}

struct Picture<'a> {
    title: String,
    events: &'a [ShownEvent],
    layers: Vec<Layer>,
}

/// An execution.
fn of_execution<'a>(shown: &'a Shown, title: &str) -> Picture<'a> {
    let mut layers: Vec<Layer> = shown
        .relations
        .iter()
        .filter(|(_, edges)| !edges.is_empty())
        .map(|(name, edges)| Layer::new(name, edges.iter().copied()))
        .collect();
    // What follows from program order and synchronisation between threads, beyond what is drawn.
    let steps: Vec<(usize, usize)> =
        ["po", "sync", "sc"].iter().flat_map(|name| shown.edges(name).iter().copied()).collect();
    let causality = closure(shown.events.len(), &steps)
        .into_iter()
        .filter(|&(a, b)| shown.events[a].thread != shown.events[b].thread && !steps.contains(&(a, b)));
    let causality = Layer::new("causality", causality);
    layers.extend((!causality.edges.is_empty()).then_some(causality));
    Picture { title: title.to_owned(), events: &shown.events, layers }
}

/// A candidate with the cycle that cuts it.
fn of_cut<'a>(cut: &'a Cut, title: &str) -> Picture<'a> {
    let mut order: Vec<(usize, usize)> = Vec::new();
    let mut last: BTreeMap<u32, usize> = BTreeMap::new();
    for (event, thread) in cut.events.iter().enumerate().filter_map(|(e, event)| Some((e, event.thread?))) {
        order.extend(last.insert(thread, event).map(|before| (before, event)));
    }
    let cycle: Vec<(usize, usize, String)> =
        cut.cycle.iter().map(|step| (step.from, step.to, step.relation.clone())).collect();
    let in_cycle = |a: usize, b: usize| cycle.iter().any(|&(x, y, _)| (x, y) == (a, b));
    order.retain(|&(a, b)| !in_cycle(a, b));
    let reads = cut.reads_from.iter().map(|&(read, write)| (write, read)).filter(|&(w, r)| !in_cycle(w, r));
    let mut reasons = BTreeSet::new();
    cut.cycle.iter().for_each(|step| because(step, &mut reasons));
    let reads: Vec<(usize, usize)> = reads.collect();
    reasons.retain(|(a, b, relation)| {
        let drawn = relation == "rf" && reads.contains(&(*a, *b));
        !(drawn || in_cycle(*a, *b))
    });
    let mut reason = Layer::new("because", []);
    reason.edges = reasons.into_iter().collect();
    let layers = vec![Layer::new("po", order), Layer::new("rf", reads), reason, Layer::cycle(cycle)];
    let layers = layers.into_iter().filter(|layer| !layer.edges.is_empty()).collect();
    Picture { title: format!("{title}: forbidden by {}", cut.axiom), events: &cut.events, layers }
}

fn because(step: &Step, out: &mut BTreeSet<(usize, usize, String)>) {
    for reason in &step.because {
        if reason.from != reason.to {
            out.insert((reason.from, reason.to, reason.relation.clone()));
        }
        because(reason, out);
    }
}

fn closure(n: usize, edges: &[(usize, usize)]) -> BTreeSet<(usize, usize)> {
    let mut next: Vec<Vec<usize>> = vec![Vec::new(); n];
    edges.iter().for_each(|&(a, b)| next[a].push(b));
    let mut out = BTreeSet::new();
    for from in 0..n {
        let mut waiting = next[from].clone();
        while let Some(to) = waiting.pop() {
            if out.insert((from, to)) {
                waiting.extend(&next[to]);
            }
        }
    }
    out
}

pub(super) fn execution_svg(shown: &Shown, title: &str) -> String {
    of_execution(shown, title).svg(false)
}

pub(super) fn execution_page(shown: &Shown, title: &str) -> String {
    of_execution(shown, title).page(&shown.table())
}

pub(super) fn cut_svg(cut: &Cut, title: &str) -> String {
    of_cut(cut, title).svg(false)
}

pub(super) fn cut_page(cut: &Cut, title: &str) -> String {
    of_cut(cut, title).page(&cut.text())
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn lines(event: &ShownEvent) -> [String; 2] {
    let place = if event.line == 0 { String::new() } else { format!("line {}: ", event.line) };
    [format!("{}: {}", event.label, event.action), format!("{place}{}", event.text)]
}

impl Picture<'_> {
    /// Threads side by side, initial writes above them.
    fn layout(&self) -> Layout {
        let used: BTreeSet<usize> =
            self.layers.iter().flat_map(|layer| &layer.edges).flat_map(|&(a, b, _)| [a, b]).collect();
        let width = |event: &ShownEvent| {
            let longest = lines(event).iter().map(|line| line.chars().count()).max().unwrap_or(0);
            (longest as f64 * LETTER + 20.0).max(110.0)
        };
        let mut columns: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        let mut above: Vec<usize> = Vec::new();
        for (e, event) in self.events.iter().enumerate() {
            match event.thread {
                Some(thread) => columns.entry(thread).or_default().push(e),
                None if used.contains(&e) => above.push(e),
                None => {}
            }
        }
        let mut places = vec![None; self.events.len()];
        let top = if above.is_empty() { 84.0 } else { 164.0 };
        let mut heads = BTreeMap::new();
        let mut x = MARGIN;
        let mut rows = 0;
        for (column, (&thread, members)) in columns.iter().enumerate() {
            let width = members.iter().map(|&e| width(&self.events[e])).fold(0.0, f64::max);
            for (row, &e) in members.iter().enumerate() {
                let y = top + row as f64 * STEP;
                places[e] = Some(Place { column: Some(column), row, x, y, width });
            }
            rows = rows.max(members.len());
            heads.insert(thread, (x + width / 2.0, top - 16.0));
            x += width + GAP;
        }
        let all = (x - GAP + MARGIN).max(360.0).max(self.title.chars().count() as f64 * 9.0 + 40.0);
        let widths: Vec<f64> = above.iter().map(|&e| width(&self.events[e])).collect();
        let mut x = (all - widths.iter().sum::<f64>() - 60.0 * (widths.len().max(1) - 1) as f64) / 2.0;
        let mut right: f64 = all;
        for (&e, &width) in above.iter().zip(&widths) {
            let left = x.max(20.0);
            places[e] = Some(Place { column: None, row: 0, x: left, y: 48.0, width });
            x = left + width + 60.0;
            right = right.max(x);
        }
        let height = top + rows as f64 * STEP - (STEP - HEIGHT) + 40.0;
        Layout { places, heads, width: right, height }
    }

    /// With those relations alone that are shown from the start, or with all for a page's switches.
    fn svg(&self, all: bool) -> String {
        let Layout { places, heads, width, height } = self.layout();
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" \
             height=\"{height:.0}\" role=\"img\" class=\"execution\">\n<title>{}</title>\n<style>\n{}</style>\n<defs>\n",
            escaped(&self.title),
            self.style()
        );
        for layer in &self.layers {
            let _ = writeln!(
                out,
                "<marker id=\"head-{0}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" markerHeight=\"9\" \
                 markerUnits=\"userSpaceOnUse\" orient=\"auto-start-reverse\"><path class=\"head {0}\" d=\"M0 0L10 5L0 10z\"/></marker>",
                layer.name
            );
        }
        out.push_str("</defs>\n");
        let _ = writeln!(out, "<rect class=\"page\" width=\"{width:.0}\" height=\"{height:.0}\"/>");
        let _ = writeln!(out, "<text class=\"title\" x=\"20\" y=\"28\">{}</text>", escaped(&self.title));
        for (thread, (x, y)) in heads {
            let _ = writeln!(out, "<text class=\"thread\" x=\"{x:.1}\" y=\"{y:.1}\">P{thread}</text>");
        }
        let mut used: BTreeMap<(usize, bool), usize> = BTreeMap::new();
        let mut lanes: BTreeMap<usize, usize> = BTreeMap::new();
        let mut labels: Vec<(f64, f64, f64)> = Vec::new();
        for layer in self.layers.iter().filter(|layer| all || layer.on) {
            let _ = writeln!(out, "<g class=\"edge {}\">", layer.name);
            for (a, b, label) in &layer.edges {
                let (Some(Some(from)), Some(Some(to))) = (places.get(*a), places.get(*b)) else { continue };
                let (path, x, y) = route([*a, *b], [from, to], &mut used, &mut lanes);
                let (x, y) = free(beside(x, label, from, to), y, label, &mut labels);
                let _ = writeln!(out, "<path d=\"{path}\" marker-end=\"url(#head-{})\"/>", layer.name);
                let _ = writeln!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escaped(label));
            }
            out.push_str("</g>\n");
        }
        for (event, place) in self.events.iter().zip(&places) {
            let Some(place) = place else { continue };
            let [first, second] = lines(event);
            let (x, y, middle) = (place.x, place.y, place.middle());
            let _ = writeln!(
                out,
                "<g class=\"event\"><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{HEIGHT}\" rx=\"6\"/>\
                 <text x=\"{middle:.1}\" y=\"{:.1}\">{}</text><text class=\"code\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text></g>",
                place.width,
                y + 18.0,
                escaped(&first),
                y + 35.0,
                escaped(&second)
            );
        }
        out.push_str("</svg>\n");
        out
    }

    /// Colours, light and dark. They are said where they are used: many programs that show SVG know no variables in styles.
    fn style(&self) -> String {
        let mut out = String::from(
            ".execution{font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px}\n\
             .title{font-size:15px;font-weight:600}.thread{text-anchor:middle;font-weight:600}\
             .event text{text-anchor:middle}\n\
             .edge path{fill:none;stroke:currentColor;stroke-width:1.6}.edge text{fill:currentColor;text-anchor:middle;\
             paint-order:stroke;stroke-width:4px;stroke-linejoin:round}.head{fill:currentColor}\n",
        );
        out += &colours("#fff", "#1b1b1b", "#595959", "#f4f4f2", "#b9b9b4");
        for layer in &self.layers {
            let _ = write!(out, ".{}{{color:{}}}", layer.name, layer.light);
            if !layer.dash.is_empty() {
                let _ = write!(out, ".edge.{} path{{stroke-dasharray:{}}}", layer.name, layer.dash);
            }
            if layer.bold {
                let _ = write!(out, ".edge.{} path{{stroke-width:2.8}}", layer.name);
            }
            out.push('\n');
        }
        out += "@media (prefers-color-scheme:dark){";
        out += &colours("#181a1b", "#ececec", "#b4b4b0", "#26292b", "#55595c");
        for layer in &self.layers {
            let _ = write!(out, ".{}{{color:{}}}", layer.name, layer.dark);
        }
        out.push_str("}\n");
        out
    }

    /// A page with a switch for each relation, which needs no script.
    fn page(&self, text: &str) -> String {
        let mut switches = String::new();
        let mut rules = String::new();
        for layer in &self.layers {
            let name = &layer.name;
            let on = if layer.on { " checked" } else { "" };
            let _ = writeln!(
                switches,
                "<input type=\"checkbox\" id=\"show-{name}\"{on}><label for=\"show-{name}\" class=\"{name}\">{name}</label>"
            );
            let _ = writeln!(rules, "#show-{name}:not(:checked)~.picture .edge.{name}{{display:none}}");
        }
        format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" \
             content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>\n\
             body{{margin:1.5rem;font:14px/1.5 system-ui,sans-serif;background:#fff;color:#1b1b1b}}\n\
             label{{margin:0 1rem 0 .25rem;font-weight:600}}.picture{{overflow-x:auto;margin:1rem 0}}pre{{overflow-x:auto}}\n\
             @media (prefers-color-scheme:dark){{body{{background:#181a1b;color:#ececec}}}}\n{rules}</style>\n</head>\n<body>\n\
             {switches}<div class=\"picture\">\n{}</div>\n<pre>{}</pre>\n</body>\n</html>\n",
            self.svg(true),
            escaped(text),
            title = escaped(&self.title),
        )
    }
}

/// The path of an edge and where its label stands. `used` counts the edges at each side of each box, `lanes` those in the
/// space below each row.
fn route(
    ends: [usize; 2],
    [from, to]: [&Place; 2],
    used: &mut BTreeMap<(usize, bool), usize>,
    lanes: &mut BTreeMap<usize, usize>,
) -> (String, f64, f64) {
    // Edges at one side of a box stand apart.
    let mut port = |event: usize, right: bool, place: &Place| {
        let count = used.entry((event, right)).or_insert(0);
        *count += 1;
        let offset = [0.0, 11.0, -11.0, 17.0, -17.0, 5.0, -5.0][(*count - 1) % 7];
        (place.side(right), place.y + HEIGHT / 2.0 + offset)
    };
    match (from.column, to.column) {
        (Some(a), Some(b)) if a == b && to.row == from.row + 1 && used_straight(ends, lanes) => {
            let (x, y0, y1) = (from.middle(), from.bottom(), to.y);
            (format!("M{x:.1} {y0:.1}L{x:.1} {:.1}", y1 - 1.0), x + 18.0, (y0 + y1) / 2.0 + 4.0)
        }
        (Some(a), Some(b)) if a == b => {
            let ((x0, y0), (x1, y1)) = (port(ends[0], true, from), port(ends[1], true, to));
            let out = x0.max(x1) + 34.0 + 8.0 * from.row.abs_diff(to.row) as f64;
            (
                format!("M{x0:.1} {y0:.1}C{out:.1} {y0:.1} {out:.1} {y1:.1} {x1:.1} {y1:.1}"),
                out - 8.0,
                (y0 + y1) / 2.0 + 4.0,
            )
        }
        (Some(a), Some(b)) => {
            let right = b > a;
            let ((x0, y0), (x1, y1)) = (port(ends[0], right, from), port(ends[1], !right, to));
            let turn = if right { GAP * 0.45 } else { -GAP * 0.45 };
            if a.abs_diff(b) == 1 {
                let (c0, c1) = (x0 + turn, x1 - turn);
                // Nearer its beginning, where fewer edges cross.
                let t: f64 = 0.2;
                let at = |p: [f64; 4]| {
                    let u = 1.0 - t;
                    u * u * u * p[0] + 3.0 * u * u * t * p[1] + 3.0 * u * t * t * p[2] + t * t * t * p[3]
                };
                let (x, y) = (at([x0, c0, c1, x1]), at([y0, y0, y1, y1]));
                (format!("M{x0:.1} {y0:.1}C{c0:.1} {y0:.1} {c1:.1} {y1:.1} {x1:.1} {y1:.1}"), x, y + 4.0)
            } else {
                // Through the space below a row, past the threads in between.
                let row = from.row.min(to.row);
                let lane = lanes.entry(row).or_insert(0);
                *lane += 1;
                let upper = if from.row <= to.row { from } else { to };
                let y = upper.bottom() + 12.0 + 9.0 * ((*lane - 1) % 4) as f64;
                let (m0, m1) = (x0 + turn, x1 - turn);
                let (h0, h1) = (x0 + turn / 2.0, x1 - turn / 2.0);
                (
                    format!(
                        "M{x0:.1} {y0:.1}C{h0:.1} {y0:.1} {h0:.1} {y:.1} {m0:.1} {y:.1}L{m1:.1} {y:.1}C{h1:.1} {y:.1} {h1:.1} \
                         {y1:.1} {x1:.1} {y1:.1}"
                    ),
                    m0,
                    y - 4.0,
                )
            }
        }
        (None, Some(_)) if to.row == 0 => {
            let (x0, y0, x1, y1) = (from.middle(), from.bottom(), to.middle(), to.y);
            let bend = (y0 + y1) / 2.0;
            (
                format!("M{x0:.1} {y0:.1}C{x0:.1} {bend:.1} {x1:.1} {bend:.1} {x1:.1} {y1:.1}"),
                x0 + (x1 - x0) * 0.75,
                bend + 8.0,
            )
        }
        (None, Some(_)) => {
            // From above, beside the column.
            let right = from.middle() > to.middle();
            let (x1, y1) = port(ends[1], right, to);
            let beside = if right { x1 + 30.0 } else { x1 - 30.0 };
            let (x0, y0) = (from.middle(), from.bottom());
            let knee = to.y - STEP * to.row as f64 + HEIGHT / 2.0;
            (
                format!(
                    "M{x0:.1} {y0:.1}C{x0:.1} {:.1} {beside:.1} {:.1} {beside:.1} {knee:.1}L{beside:.1} {:.1}Q{beside:.1} {y1:.1} \
                     {x1:.1} {y1:.1}",
                    y0 + 30.0,
                    y0 + 30.0,
                    y1 - 24.0
                ),
                beside,
                (knee + y1) / 2.0,
            )
        }
        // Between initial writes, or back to one.
        _ => {
            let (x0, y0, x1, y1) = (from.middle(), from.y, to.middle(), to.bottom());
            (format!("M{x0:.1} {y0:.1}L{x1:.1} {y1:.1}"), (x0 + x1) / 2.0, (y0 + y1) / 2.0)
        }
    }
}

/// Rules for what is drawn in these colours: the page, what is written on it, what is written small, boxes and their lines.
fn colours(page: &str, ink: &str, soft: &str, inside: &str, line: &str) -> String {
    format!(
        ".page{{fill:{page}}}.title,.event text{{fill:{ink}}}.thread,.event .code{{fill:{soft}}}\
         .event rect{{fill:{inside};stroke:{line}}}.edge text{{stroke:{page}}}\n"
    )
}

/// The nearest place above or below where a label is on no other one; those are their middles and half their widths.
fn free(x: f64, y: f64, label: &str, labels: &mut Vec<(f64, f64, f64)>) -> (f64, f64) {
    const LINE: f64 = 13.0;
    let half = label.chars().count() as f64 * LETTER / 2.0;
    let is_free = |y: f64, labels: &[(f64, f64, f64)]| {
        labels.iter().all(|(u, v, w)| (x - u).abs() >= half + w || (y - v).abs() >= LINE)
    };
    let steps = [0.0, 1.0, -1.0, 2.0, -2.0, 3.0, -3.0, 4.0, -4.0];
    let y = steps.iter().map(|step| y + step * LINE).find(|y| is_free(*y, labels)).unwrap_or(y);
    labels.push((x, y, half));
    (x, y)
}

/// The middle of a label that no box at the ends of its edge hides.
fn beside(x: f64, label: &str, from: &Place, to: &Place) -> f64 {
    let half = label.chars().count() as f64 * LETTER / 2.0 + 6.0;
    let (left, right) = if from.x <= to.x { (from, to) } else { (to, from) };
    let (low, high) = (left.side(true) + half, right.side(false) - half);
    match (from.column, to.column) {
        (Some(a), Some(b)) if a != b && low < high => x.clamp(low, high),
        _ => x,
    }
}

/// Whether no other edge goes straight down between two boxes yet.
fn used_straight(ends: [usize; 2], lanes: &mut BTreeMap<usize, usize>) -> bool {
    // Numbers far above those of rows.
    let key = usize::MAX / 2 + ends[0];
    lanes.insert(key, 1).is_none()
}
