//! Models from files: those of this crate as files and built in, the language's mistakes, and models of any shape
//! against the slow enumerator.

use memory_model::cat::{self, CatModel};
use memory_model::explore::engine::{Engine, Found};
use memory_model::explore::{Search, oracle};
use memory_model::model::{Model, ModelName};
use memory_model::program::Litmus;
use memory_model::skeleton::{Skeleton, Unrolling};
use memory_model::until::Until;
use memory_model::{Limits, Options, Property, Verdict, check, parse};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use testkit::litmus::{FLAVOURS, Flavour, Random, litmus};

fn more() -> u64 {
    std::env::var("WARPGRIND_FUZZ").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn file(name: ModelName) -> Arc<CatModel> {
    let path = folder("models").join(format!("{name}.cat"));
    let text = std::fs::read_to_string(&path).expect("the models are there");
    Arc::new(
        cat::load(&path.display().to_string(), &text, &cat::no_includes).unwrap_or_else(|e| panic!("{e}")),
    )
}

fn model(text: &str) -> Model {
    cat::load("m.cat", text, &cat::no_includes).unwrap_or_else(|e| panic!("{e}")).model().clone()
}

/// Every test of a folder that is written for Dartagnan.
fn tests(of: &str) -> Vec<(String, Litmus)> {
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder(of)).expect("a folder").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).ok()?;
        Some((path.file_stem()?.to_string_lossy().into_owned(), parse(&text).ok()?))
    };
    paths.into_iter().filter(|p| p.extension().is_some_and(|e| e == "litmus")).filter_map(read).collect()
}

/// File and built-in model say the same of each published shape, of its outcomes, of races, and of termination.
#[test]
fn files_are_the_built_in_models() {
    let (mut compared, mut late) = (0, 0);
    for name in ModelName::ALL {
        let model = file(name);
        let shapes =
            tests("testdata/litmus").into_iter().map(|(test, litmus)| (test, litmus, &Property::ALL[..]));
        let endless = tests("testdata/termination").into_iter();
        let endless = endless.map(|(test, litmus)| (test, litmus, &[Property::Termination][..]));
        for (test, litmus, properties) in shapes.chain(endless) {
            for &property in properties {
                // Sequential consistency as a file has no races.
                if (name, property) == (ModelName::Sc, Property::Races) {
                    continue;
                }
                let limits = Limits { time: Some(Duration::from_secs(5)), ..Limits::default() };
                let built_in =
                    Options { model: name, property, outcomes: true, limits, ..Options::default() };
                let from_file = Options { file: Some(model.clone()), ..built_in.clone() };
                let (a, b) = (check(&litmus, &built_in), check(&litmus, &from_file));
                let undecided = |v: &Verdict| {
                    v.reason.as_deref().is_some_and(|reason| reason.starts_with("the time limit was reached"))
                };
                if undecided(&a) || undecided(&b) {
                    late += 1;
                    continue;
                }
                assert_eq!(a.verdict, b.verdict, "{name} {test} {property:?} {:?} {:?}", a.reason, b.reason);
                assert_eq!(a.outcomes, b.outcomes, "{name} {test}");
                compared += 1;
            }
        }
    }
    assert!(compared > 1000 && late < 20, "{compared} {late}");
}

fn unrolling(model: &Model) -> Unrolling {
    Unrolling {
        bound: 1,
        idle_iterations: 0,
        failed_cas_writes: model.failed_cas_writes,
        outcomes: true,
        max_events: 1000,
        max_nodes: 10_000,
    }
}

/// All outcomes; `None` if there are very many.
fn outcomes(litmus: &Litmus, model: &Model, search: Search) -> Option<BTreeSet<Vec<i64>>> {
    let skeleton = Skeleton::new(&litmus.program, &litmus.observables(), unrolling(model)).expect("small");
    let mut engine = Engine::new(litmus, &skeleton, model, search, Until::default()).expect("small");
    let mut out = BTreeSet::new();
    loop {
        match engine.find() {
            Found::Witness(witness) => {
                assert!(out.insert(witness.outcome.clone()), "the engine repeats an outcome");
                if search != Search::Complete || witness.outcome.is_empty() {
                    return Some(out);
                }
                if out.len() > 500 {
                    return None;
                }
                engine.exclude_outcome(&witness.outcome);
            }
            Found::Nothing => return Some(out),
            Found::TimeOut => panic!("there is no time limit"),
        }
    }
}

#[test]
fn files_are_the_built_in_models_on_random_programs() {
    for name in ModelName::ALL {
        let (from_file, built_in) = (file(name).model().clone(), name.model());
        for flavour in FLAVOURS {
            for seed in 0..25 * more() {
                let text = litmus(seed + 900, flavour);
                let litmus = parse(&text).expect("generated");
                for search in [Search::Complete, Search::Race, Search::Divergence] {
                    if (name, search) == (ModelName::Sc, Search::Race) {
                        continue;
                    }
                    let (a, b) =
                        (outcomes(&litmus, &built_in, search), outcomes(&litmus, &from_file, search));
                    assert_eq!(a, b, "{name} {search:?} {flavour:?} seed {seed}\n{text}");
                }
            }
        }
    }
}

/// A random relation of the language, of that depth.
fn expression(random: &mut Random, depth: usize, inside: &str) -> String {
    if depth == 0 {
        let mut base = vec![
            "po",
            "rf",
            "co",
            "fr",
            "rfe",
            "coe",
            "po-loc",
            "loc",
            "rmw",
            "data",
            "sync_fence",
            "sr",
            "[W]",
            "[R]",
            "[F]",
            "[STRONG]",
            "[ACQ]",
            "R * W",
            "id",
            "ext",
        ];
        if !inside.is_empty() {
            base.extend([inside; 8]);
        }
        return random.pick(&base).to_owned();
    }
    let a = expression(random, depth - 1, inside);
    let deep = random.below(depth);
    let b = expression(random, deep, inside);
    match random.below(12) {
        0..=2 => format!("({a} | {b})"),
        3..=5 => format!("({a}; {b})"),
        6 => format!("({a} & {b})"),
        7 => format!("({a})+"),
        8 => format!("({a})^-1"),
        9 => format!("({a})?"),
        // What is taken away is not defined by itself.
        10 => format!("({a} \\ {})", expression(random, deep, "")),
        _ => format!("[domain({a})]; ({b}); [range({b})]"),
    }
}

/// Models of any shape: recursion, differences with what the search chooses, negated checks, free coherence order.
#[test]
fn random_models_against_the_enumerator() {
    let (mut compared, mut restrict) = (0, 0);
    for seed in 0..400 * more() {
        let mut random = Random::new(seed);
        let header = random.pick(&["PTX", "\"total\""]);
        let mut file = format!("{header}\n");
        if random.chance(50) {
            file += &format!("let rec r = rf | {}\n", expression(&mut random, 2, "r"));
            file += &format!("and s = po | {}\n", expression(&mut random, 1, "r"));
        } else {
            file += "let r = rf\nlet s = co\n";
        }
        for axiom in 0..1 + random.below(3) {
            let inside = random.pick(&["r", "s"]);
            let depth = 1 + random.below(3);
            let negated = if random.chance(15) { "~" } else { "" };
            let demand = random.pick(&["acyclic", "irreflexive", "empty"]);
            let of = expression(&mut random, depth, inside);
            // Most relations that nobody thought of forbid all or nothing.
            let order = ["po-loc | rf | fr", "po | fr | s", "(po \\ ([W]; po; [R])) | rfe | co | fr"];
            file += &match random.below(3) {
                0 => format!("{negated}{demand} {of} as a{axiom}\n"),
                1 => format!("acyclic {} | (({of}) & ext & loc) as a{axiom}\n", random.pick(&order)),
                _ => format!("empty (({of}) & ext & ([W]; loc; [R])) \\ (rf | fr^-1) as a{axiom}\n"),
            };
        }
        // Models that contradict themselves are refused.
        let Ok(loaded) = cat::load("random.cat", &file, &cat::no_includes) else { continue };
        let model = loaded.model();
        for program in 0..4 {
            let flavour = [Flavour::Plain, Flavour::Control, Flavour::Dependencies][random.below(3)];
            let text = litmus(seed * 7 + program, flavour);
            let litmus = parse(&text).expect("generated");
            let skeleton =
                Skeleton::new(&litmus.program, &litmus.observables(), unrolling(model)).expect("small");
            if skeleton.events.len() > 9 || skeleton.events.iter().filter(|t| t.event.is_write()).count() > 5
            {
                continue;
            }
            let slow = oracle::outcomes(&litmus, model, unrolling(model), Search::Complete);
            let fast = outcomes(&litmus, model, Search::Complete).expect("few");
            assert_eq!(fast, slow, "seed {seed}\n{file}\n{text}");
            compared += 1;
            let all = oracle::outcomes(
                &litmus,
                &self::model("\"all\"\nempty 0"),
                unrolling(model),
                Search::Complete,
            );
            restrict += usize::from(fast.len() < all.len() && !fast.is_empty());
        }
    }
    eprintln!("{compared} compared, {restrict} with some of the outcomes");
    assert!(compared > 100 && restrict > 20, "{compared} {restrict}");
}

/// The first mistake of a file, as its place, its code and what it says.
fn mistake(file: &str) -> String {
    let read = |path: &str, _: &str| match path {
        "itself.cat" => Ok(("itself.cat".to_owned(), "include \"itself.cat\"".to_owned())),
        "m.cat" => Ok(("m.cat".to_owned(), String::new())),
        "wrong.cat" => Ok(("wrong.cat".to_owned(), "let a = po\nlet b = a ; ; a".to_owned())),
        _ => Err("there is no such file".to_owned()),
    };
    let Err(error) = cat::load("m.cat", file, &read) else { panic!("{file}") };
    let (line, column) = error.diagnostic.span.line_column(&error.text);
    let help = error.diagnostic.help.map_or_else(String::new, |help| format!(" ({help})"));
    format!(
        "{}:{line}:{column} {} {}{help}",
        error.file,
        error.diagnostic.code.as_str(),
        error.diagnostic.message
    )
}

#[test]
fn mistakes_have_places() {
    for (file, expected) in [
        ("let r = po |", "m.cat:1:13 L010 a name is expected here, not the end of the file"),
        (
            "let r = po\nacyclic r +* ) as x",
            "m.cat:2:14 L010 a definition or a check is expected here, not `)` (such as `let r = po | rf` or `acyclic r as name`)",
        ),
        ("(* (*", "m.cat:1:1 L010 this comment has no end"),
        ("let r = \"po", "m.cat:1:9 L010 this quoted text has no end"),
        ("let r = po @ rf", "m.cat:1:12 L010 `@` has no meaning in a model"),
        ("procedure p() = acyclic po", "m.cat:1:27 L010 `end` is expected here, not the end of the file"),
        ("procedure p(a, b) = end call p(po)", "m.cat:1:30 L012 `p` has 2 arguments, not 1"),
        ("call p(po)", "m.cat:1:6 L011 no procedure is called `p`"),
        (
            "procedure p(a) = acyclic a; quux end\ncall p(po)",
            "m.cat:1:29 L011 nothing is called `quux` here (`warpgrind explain L011` lists the names that every model has)",
        ),
        ("let rec p(x) = p(x)\nacyclic p(po)", "m.cat:1:16 L012 functions use functions more than 60 deep"),
        (
            "procedure rec p(a) = call p(a) end\ncall p(po)",
            "m.cat:1:28 L012 functions use functions more than 60 deep",
        ),
        ("let rec f(x) = x and r = po", "m.cat:1:9 L012 `let rec` defines functions or relations, not both"),
        (
            "acyclic match rf with || {} -> po || e ++ es -> e end",
            "m.cat:1:15 L012 the members of this differ from execution to execution (collections such as `{a, b}` are known here)",
        ),
        ("acyclic match 'c with || 'a -> po || 'b -> rf end", "m.cat:1:15 L012 no clause is for `'c`"),
        (
            "acyclic if po = rf then po else rf",
            "m.cat:1:12 L012 whether this holds differs from execution to execution",
        ),
        ("let (a, b) = po", "m.cat:1:14 L012 a tuple of 2 is expected here"),
        ("acyclic (po, rf)", "m.cat:1:9 L012 this is a tuple; a relation is expected here"),
        (
            "with lo from po",
            "m.cat:1:6 L012 `with lo from`: what is chosen is an order of writes, location by location (such as `generate_cos(co0)`, `generate_orders(W, co0)`)",
        ),
        (
            "with lo from linearisations(SC, po)\nwith of from linearisations(R, po)",
            "m.cat:2:6 L012 `with of from`: one total order is chosen at most, beside coherence",
        ),
        (
            "with lo from linearisations(SC, po)\nacyclic sync_fence",
            "m.cat:1:1 L012 `sync_fence` beside a total order that is chosen: one of them is possible",
        ),
        (
            "with lo from generate_orders(R, po)",
            "m.cat:1:14 L012 only writes are put into an order here, location by location",
        ),
        ("acyclic po-lock | rf", "m.cat:1:9 L011 nothing is called `po-lock` here (is `po-loc` meant?)"),
        (
            "let causality = po\nacyclic causalty",
            "m.cat:2:9 L011 nothing is called `causalty` here (is `causality` meant?)",
        ),
        (
            "acyclic quux",
            "m.cat:1:9 L011 nothing is called `quux` here (`warpgrind explain L011` lists the names that every model has)",
        ),
        (
            "acyclic f(po)",
            "m.cat:1:9 L011 no function is called `f` (a function is defined as `let f(a, b) = ...`)",
        ),
        ("let f(a, b) = a; b\nacyclic f(po)", "m.cat:2:9 L012 `f` has 2 arguments, not 1"),
        (
            "acyclic po(rf)",
            "m.cat:1:9 L011 no function is called `po` (a function is defined as `let f(a, b) = ...`)",
        ),
        ("let f(a, a) = a", "m.cat:1:10 L012 two parameters are called `a`"),
        (
            "acyclic W | po",
            "m.cat:1:9 L012 one side is a set and the other a relation (`[S]` is the identity on a set, `S * T` all pairs of two)",
        ),
        ("acyclic [po]", "m.cat:1:10 L012 this is a relation; a set is expected here"),
        ("let f(a) = a\nacyclic f", "m.cat:2:9 L012 this is a function; a relation is expected here"),
        (
            "let rec r = po \\ r",
            "m.cat:1:18 L012 a relation is defined by what it does not contain: this recursion has no end",
        ),
        (
            "let rec r = ~(po; r)",
            "m.cat:1:14 L012 a relation is defined by what it does not contain: this recursion has no end",
        ),
        ("let rec r = po and r = rf", "m.cat:1:20 L012 `r` is defined twice"),
        ("include \"itself.cat\"", "itself.cat:1:9 L012 itself.cat includes itself"),
        ("include \"m.cat\"", "m.cat:1:9 L012 m.cat includes itself"),
        ("include \"none.cat\"", "m.cat:1:9 L012 cannot read \"none.cat\": there is no such file"),
        ("include \"wrong.cat\"", "wrong.cat:2:13 L010 a name is expected here, not `;`"),
        (
            "let r = rf\nacyclic id as never",
            "m.cat:1:1 L012 the model contradicts itself: no execution satisfies `never` (every execution of `st.weak x, 1` alone breaks it)",
        ),
        (
            "~empty W; po; W",
            "m.cat:1:1 L012 the model contradicts itself: no execution satisfies `W; po; W` (every execution of `st.weak x, 1` alone breaks it)",
        ),
    ] {
        assert_eq!(mistake(file), expected, "{file}");
    }
}

#[test]
fn no_file_is_too_much() {
    let deep = format!("acyclic {}po{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(mistake(&deep).contains("L012 expressions are nested more than 100 deep"), "{}", mistake(&deep));
    let tilde = format!("acyclic {}po", "~".repeat(100_000));
    assert!(mistake(&tilde).contains("nested more than 100 deep"));
    let long = format!("acyclic po{} | quux", " | rf".repeat(20_000));
    assert!(mistake(&long).contains("nothing is called `quux`"), "{}", mistake(&long));
    let differences = format!("acyclic po{}", " \\ rf".repeat(20_000));
    assert!(mistake(&differences).contains("more than 100 operands"), "{}", mistake(&differences));
    let calls: String = (1..1000).map(|i| format!("let f{i}(r) = f{}(r)\n", i - 1)).collect();
    let calls = format!("let f0(r) = r; r\n{calls}acyclic f999(po)");
    assert!(mistake(&calls).contains("functions use functions more than 60 deep"), "{}", mistake(&calls));
    let chain = "let r = po\n".to_owned() + &"let r = r; r\n".repeat(1000) + "acyclic r";
    assert!(mistake(&chain).contains("definitions are more than 300 deep"), "{}", mistake(&chain));
    // Functions that double what they are given.
    let doubling: String =
        (1..50).map(|i| format!("let f{i}(r) = f{}(r) | f{}(r)\n", i - 1, i - 1)).collect();
    let doubling = format!("let f0(r) = r; r\n{doubling}acyclic f49(po)");
    assert!(mistake(&doubling).contains("more than 100000 parts"), "{}", mistake(&doubling));
    let many = "let r = po\n".repeat(20_000);
    assert!(mistake(&many).contains("the model has more than 2000 definitions"), "{}", mistake(&many));
    let huge = "(* nothing *)\n".repeat(100_000);
    assert!(mistake(&huge).contains("have more than 1048576 bytes"), "{}", mistake(&huge));
}

/// The same model in the plain and in all of the language.
#[test]
fn the_language_says_the_same_in_many_ways() {
    let plain = "let com = rf | co | fr\nacyclic po-loc | com as coherent\nempty rmw & (fre; coe) as atomic\n\
                 acyclic po | com as sc\nacyclic rf | data as values";
    let whole = "Whole catdep # a comment
enum side = 'one || 'other
procedure ordered(r, s) =
  let both = r | s
  acyclic both
end
procedure rec times(n) =
  match n with || 'one -> call ordered(po-loc, com) || _ -> acyclic po | com end
end
let sequence (f, g) = fun x -> f (g x)
and swap (a, b) = (b, a)
let (write_order, read_from) = swap (rf, co)
let rec together parts = match parts with || {} -> 0 || p ++ ps -> p | together ps end
let com = let reads = fr in together {read_from, write_order, reads}
let twice = sequence ((fun r -> r^-1), fun r -> r^-1)
let there = try nowhere with (if not \"variant\" && not \"another\" then data else 0)
if \"cos-opt\" include \"none.cat\" else include \"stdlib.cat\" end
let pick side = match side with || 'one -> rmw || 'other -> 0 end
forall t in {'one, 'other} do call times(t) end
call ordered(twice rf, there)
empty pick 'one & (fre; coe)
empty pick 'other
with order from generate_orders(W, co0)
empty order \\ co
let rec closed = po | (closed; closed) when irreflexive closed
debug com
show com, rf
";
    let read = |path: &str, _: &str| match path {
        "stdlib.cat" => Ok((path.to_owned(), String::new())),
        _ => Err("a variant that is not on includes it".to_owned()),
    };
    let whole = cat::load("whole.cat", whole, &read).unwrap_or_else(|e| panic!("{e}"));
    let plain = model(plain);
    let mut different = BTreeSet::new();
    for (test, litmus) in tests("testdata/litmus") {
        let (a, b) =
            (outcomes(&litmus, &plain, Search::Complete), outcomes(&litmus, whole.model(), Search::Complete));
        assert_eq!(a, b, "{test}");
        different.insert(a.map(|a| a.len()));
    }
    assert!(different.len() > 2);
}

/// Orders that a file chooses of a part of the writes leave the others alone.
#[test]
fn orders_are_chosen_of_parts() {
    let text = "C11\nwith mo from generate_orders(W & (A | IW), co0)\nlet fr = rf^-1; mo\n\
                acyclic po-loc | rf | mo | fr\nacyclic rf | data";
    let file = cat::load("mo.cat", text, &cat::no_includes).unwrap_or_else(|e| panic!("{e}"));
    let ask = |order: &str| {
        let text = format!(
            "PTX CoWW\n{{ x=0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.{order} x, 1 | ld.{order} r0, x ;\n \
             st.{order} x, 2 | ld.{order} r1, x ;\nexists (1:r0 == 2 /\\ 1:r1 == 1)\n"
        );
        let options = Options { file: Some(Arc::new(file.clone())), ..Options::default() };
        check(&parse(&text).expect("well formed"), &options).verdict
    };
    assert_eq!((ask("relaxed.gpu"), ask("weak")), ("forbidden", "allowed"));
}

/// A file of Vulkan says what it takes from coherence order, which is total for it, as for all but PTX.
#[test]
fn coherence_is_total_but_for_ptx() {
    let ask = |header: &str, order: &str| {
        let text = format!(
            "{header}\nlet asmo = co & (S * S)\nacyclic po-loc | rf | asmo | rf^-1; asmo\nacyclic rf | data"
        );
        let set = if header == "VULKAN" { "ATOM" } else { "STRONG" };
        let text = text.replace("(S * S)", &format!("({set} * {set})"));
        let file = cat::load("made.cat", &text, &cat::no_includes).unwrap_or_else(|e| panic!("{e}"));
        let text = format!(
            "PTX CoRR2\n{{ x=0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 | P2@cta 2,gpu 0 | P3@cta 3,gpu 0 ;\n \
             st.{order} x, 1 | st.{order} x, 2 | ld.{order} r0, x | ld.{order} r0, x ;\n | | ld.{order} r1, x | ld.{order} r1, x ;\n\
             exists (2:r0 == 1 /\\ 2:r1 == 2 /\\ 3:r0 == 2 /\\ 3:r1 == 1)\n"
        );
        let options = Options { file: Some(Arc::new(file)), ..Options::default() };
        check(&parse(&text).expect("well formed"), &options).verdict
    };
    for header in ["VULKAN", "Other"] {
        assert_eq!((ask(header, "relaxed.gpu"), ask(header, "weak")), ("forbidden", "allowed"), "{header}");
    }
    assert_eq!(ask("PTX", "relaxed.gpu"), "allowed");
}

/// Damaged files are read or refused; what is read can be asked.
#[test]
fn damaged_files_do_no_harm() {
    let litmus = parse(&litmus(3, Flavour::Plain)).expect("generated");
    let sources: Vec<String> = ModelName::ALL
        .map(|name| std::fs::read_to_string(folder("models").join(format!("{name}.cat"))).expect("there"))
        .to_vec();
    let mut asked = 0;
    for seed in 0..400 * more() {
        let mut random = Random::new(seed + 77);
        let mut bytes = sources[random.below(sources.len())].clone().into_bytes();
        for _ in 0..1 + random.below(4) {
            let at = random.below(bytes.len());
            match random.below(4) {
                0 => drop(bytes.remove(at)),
                1 => bytes[at] = b"|;&\\*+?~[]()=\"\n\xff"[random.below(16)],
                2 => bytes.truncate(at.max(1)),
                _ => {
                    let piece = bytes[at..(at + 20).min(bytes.len())].to_vec();
                    let to = random.below(bytes.len());
                    bytes.splice(to..to, piece);
                }
            }
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match cat::load("damaged.cat", &text, &cat::no_includes) {
            Err(error) => drop(error.to_string()),
            Ok(model) => {
                let limits = Limits { time: Some(Duration::from_millis(500)), ..Limits::default() };
                let options =
                    Options { file: Some(Arc::new(model)), limits, explain: true, ..Options::default() };
                check(&litmus, &options);
                asked += 1;
            }
        }
    }
    assert!(asked > 10, "{asked}");
}

/// Flags are what a file calls a race.
#[test]
fn flags_are_races() {
    let racy = "let hb = (po | (rf & (STRONG * STRONG)))+\n\
        let conflict = ext & loc & ((W * M) | (M * W)) \\ ((IW * _) | (_ * IW))\n\
        flag ~empty conflict \\ (STRONG * STRONG) \\ hb \\ hb^-1 as racy";
    let model = Arc::new(cat::load("flags.cat", racy, &cat::no_includes).unwrap_or_else(|e| panic!("{e}")));
    let ask = |text: &str| {
        let options = Options { file: Some(model.clone()), property: Property::Races, ..Options::default() };
        check(&parse(text).expect("well formed"), &options)
    };
    let message = |order: &str| {
        format!(
            "PTX MP\n{{ x=0; }}\n P0@cta 0,gpu 0 | P1@cta 1,gpu 0 ;\n st.{order} x, 1 | ld.{order} r0, x ;\n\
             exists (1:r0 == 1)\n"
        )
    };
    let verdict = ask(&message("weak"));
    assert_eq!((verdict.verdict, verdict.holds), ("racy", Some(false)));
    assert_eq!(verdict.reason.as_deref(), Some("an execution raises the flag `racy`"));
    assert_eq!(ask(&message("relaxed.gpu")).verdict, "race-free");
}
