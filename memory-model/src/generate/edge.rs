//! The edges that cycles are made of, in diy's notation, with what PTX adds.

use std::fmt;

use crate::program::{MemOrder, Proxy, Scope};

/// What an event does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// It writes.
    Write,
    /// It reads.
    Read,
}

impl Direction {
    /// `W` or `R`.
    pub fn letter(self) -> char {
        match self {
            Direction::Write => 'W',
            Direction::Read => 'R',
        }
    }
}

/// How a read or write speaks to another one of its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Communication {
    /// A read takes what a write wrote.
    ReadsFrom,
    /// A read takes what was there before a write.
    FromRead,
    /// A write comes before another one.
    Coherence,
}

/// What an atomic computes that is a read and a write of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Atomic {
    /// `exch`
    Exch,
    /// `add`
    Add,
    /// `cas` that succeeds
    Cas,
}

/// How a later instruction depends on the value read by an earlier one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Dependency {
    /// Its address does.
    Address,
    /// The value that it writes does.
    Data,
    /// A branch before it does.
    Control,
}

/// What leads from one event to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Link {
    /// `Rfe`, `Fre`, `Coe` between threads whose narrowest common scope is given, `Rfi`, `Fri`, `Coi` within one.
    Communication(Communication, Option<Scope>),
    /// Program order.
    Po,
    /// Program order with a fence in between.
    Fence(MemOrder, Scope),
    /// Program order with a proxy fence in between: `alias`, `async`, `texture`, `surface`, `constant`.
    ProxyFence(&'static str),
    /// Program order with a dependency.
    Dependency(Dependency),
    /// A read and a write that are one atomic.
    Atomic(Atomic),
    /// From an event before a barrier to one behind it, in another thread of the block.
    Barrier,
}

/// An edge of a cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Edge {
    /// What it is.
    pub link: Link,
    /// What it comes from; `None` is either.
    pub from: Option<Direction>,
    /// What it goes to.
    pub to: Option<Direction>,
    /// Whether both ends access one location.
    pub same_location: bool,
}

/// How an event accesses memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Annotation {
    /// Plain, or an atomic that reads or writes.
    pub access: Access,
    /// Its order.
    pub order: MemOrder,
    /// Its scope; weak accesses have none.
    pub scope: Option<Scope>,
    /// Its proxy.
    pub proxy: Proxy,
    /// Through another address of the location.
    pub alias: bool,
}

/// The instruction of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Access {
    /// `ld`, `st`
    Plain,
    /// `atom`: `exch` for a write, `add` of zero for a read
    Atom,
    /// `red.max`
    Reduction,
}

impl Default for Annotation {
    fn default() -> Self {
        Self {
            access: Access::Plain,
            order: MemOrder::Relaxed,
            scope: Some(Scope::Gpu),
            proxy: Proxy::Generic,
            alias: false,
        }
    }
}

impl Edge {
    /// Whether its ends are in different threads.
    pub fn is_external(&self) -> bool {
        matches!(self.link, Link::Communication(_, Some(_)) | Link::Barrier)
    }

    /// The communication that it is.
    pub fn communication(&self) -> Option<Communication> {
        match self.link {
            Link::Communication(which, _) => Some(which),
            _ => None,
        }
    }

    /// Whether it leads onwards in one thread by other means than communication.
    pub fn is_program_order(&self) -> bool {
        !self.is_external() && self.communication().is_none()
    }

    /// What names of tests call it.
    pub fn short(&self) -> String {
        let base = match self.link {
            Link::Communication(which, reach) => {
                format!("{}{}", which.short(), if reach.is_some() { "e" } else { "i" })
            }
            Link::Po if self.same_location => return "pos".to_owned(),
            Link::Po => "po".to_owned(),
            Link::Fence(order, Scope::Gpu) => format!("fence.{}", order.text()),
            Link::Fence(order, scope) => format!("fence.{}.{}", order.text(), scope.text()),
            Link::ProxyFence(which) => format!("fence.proxy.{which}"),
            Link::Dependency(Dependency::Address) => "addr".to_owned(),
            Link::Dependency(Dependency::Data) => "data".to_owned(),
            Link::Dependency(Dependency::Control) => "ctrl".to_owned(),
            Link::Atomic(op) => return format!("amo.{}", op.opcode()),
            Link::Barrier => "bar".to_owned(),
        };
        let local = self.same_location && self.communication().is_none();
        if local { format!("{base}.s") } else { base }
    }
}

impl Communication {
    /// `rf`, `fr`, `co`
    pub fn short(self) -> &'static str {
        match self {
            Communication::ReadsFrom => "rf",
            Communication::FromRead => "fr",
            Communication::Coherence => "co",
        }
    }
}

impl Atomic {
    /// How PTX spells it.
    pub fn opcode(self) -> &'static str {
        match self {
            Atomic::Exch => "exch",
            Atomic::Add => "add",
            Atomic::Cas => "cas",
        }
    }
}

impl Annotation {
    /// Whether there is an instruction that reads or writes so; if not, why.
    pub(super) fn can_be(&self, direction: Direction) -> Result<(), String> {
        let Annotation { access, order, proxy, alias, .. } = *self;
        let why = match (direction, access) {
            (Direction::Read, Access::Reduction) => "a reduction gives nothing to read",
            (Direction::Read, Access::Plain) if order == MemOrder::Release => "a load is no release",
            (Direction::Write, Access::Plain) if order == MemOrder::Acquire => "a store is no acquire",
            (_, Access::Reduction) if !matches!(order, MemOrder::Relaxed | MemOrder::Release) => {
                "a reduction is relaxed or a release"
            }
            (_, Access::Atom | Access::Reduction) if proxy != Proxy::Generic => {
                "an atomic is of the generic proxy"
            }
            (_, Access::Atom | Access::Reduction) if alias => "only loads and stores go through aliases",
            (Direction::Write, _) if matches!(proxy, Proxy::Texture | Proxy::Constant) => {
                "textures and constants are read only"
            }
            _ if proxy != Proxy::Generic && order != MemOrder::Weak => "accesses of other proxies are weak",
            _ => return Ok(()),
        };
        Err(format!("`{self}` for a {}: {why}", if direction == Direction::Read { "read" } else { "write" }))
    }

    /// What names of tests call it; of the default nothing.
    pub fn short(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let mut parts = Vec::new();
        match self.access {
            Access::Plain => {}
            Access::Atom => parts.push("amo"),
            Access::Reduction => parts.push("red"),
        }
        if self.alias {
            parts.push("alias");
        }
        match self.proxy {
            Proxy::Async => parts.push("async"),
            Proxy::Texture => parts.push("tex"),
            Proxy::Surface => parts.push("sur"),
            Proxy::Constant => parts.push("con"),
            _ => {}
        }
        match self.order {
            MemOrder::Weak if parts.is_empty() => parts.push("weak"),
            MemOrder::Weak => {}
            MemOrder::Relaxed if !parts.is_empty() && self.scope == Some(Scope::Gpu) => {}
            MemOrder::Relaxed => parts.push("rlx"),
            MemOrder::Acquire => parts.push("acq"),
            MemOrder::Release => parts.push("rel"),
            MemOrder::AcqRel => parts.push("ar"),
            MemOrder::Sc => parts.push("sc"),
        }
        if let Some(scope) = self.scope.filter(|&scope| scope != Scope::Gpu) {
            parts.push(scope.text());
        }
        parts.join(".")
    }
}

/// What a word of a cycle is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// An edge.
    Edge(Edge),
    /// How the event between two edges accesses memory.
    Annotation(Annotation),
}

/// Why a word is no part of a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongWord(pub String);

impl fmt::Display for WrongWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for Word {
    type Err = WrongWord;

    fn from_str(word: &str) -> Result<Self, WrongWord> {
        if let Some(edge) = communication(word)? {
            return Ok(Word::Edge(edge));
        }
        if let Some(op) = word.strip_prefix("Amo.")
            && let Some(op) = [Atomic::Exch, Atomic::Add, Atomic::Cas]
                .into_iter()
                .find(|known| known.opcode() == op.to_lowercase())
        {
            return Ok(Word::Edge(Edge {
                link: Link::Atomic(op),
                from: Some(Direction::Read),
                to: Some(Direction::Write),
                same_location: true,
            }));
        }
        if let Some(annotation) = annotation(word)? {
            return Ok(Word::Annotation(annotation));
        }
        local(word).map(Word::Edge)
    }
}

/// `Rfe`, `Coi`, `Fre.cta`; `Ws` is an older name of `Co`.
fn communication(word: &str) -> Result<Option<Edge>, WrongWord> {
    let (name, reach) = word.split_once('.').map_or((word, None), |(name, reach)| (name, Some(reach)));
    use Communication::{Coherence, FromRead, ReadsFrom};
    use Direction::{Read, Write};
    let (which, from, to) = match name.get(..2) {
        Some("Rf") => (ReadsFrom, Write, Read),
        Some("Fr") => (FromRead, Read, Write),
        Some("Co" | "Ws") => (Coherence, Write, Write),
        _ => return Ok(None),
    };
    let reach = match (&name[2..], reach) {
        ("i", None) => None,
        ("e", None) => Some(Scope::Gpu),
        ("e", Some(scope)) => Some(self::scope(scope).ok_or_else(|| {
            WrongWord(format!("`{word}`: `{scope}` is no scope; one of cta, cluster, gpu, sys"))
        })?),
        ("i", Some(_)) => return Err(WrongWord(format!("`{word}`: one thread has no scope"))),
        _ => return Ok(None),
    };
    let link = Link::Communication(which, reach);
    Ok(Some(Edge { link, from: Some(from), to: Some(to), same_location: true }))
}

fn scope(text: &str) -> Option<Scope> {
    Scope::ALL.into_iter().find(|scope| scope.text() == text.to_lowercase())
}

/// `Rlx.gpu`, `Acq`, `Wk`, `Amo.Rel.cta`, `Red`, `Async`, `Alias`.
fn annotation(word: &str) -> Result<Option<Annotation>, WrongWord> {
    let mut parts = word.split('.').peekable();
    let mut out = Annotation { order: MemOrder::Weak, scope: None, ..Annotation::default() };
    out.access = match parts.peek() {
        Some(&"Amo") => Access::Atom,
        Some(&"Red") => Access::Reduction,
        _ => Access::Plain,
    };
    let mut known = out.access != Access::Plain;
    if known {
        (out.order, out.scope) = (MemOrder::Relaxed, Some(Scope::Gpu));
        parts.next();
    }
    let proxy = match parts.peek() {
        Some(&"Async") => Some(Proxy::Async),
        Some(&"Tex") => Some(Proxy::Texture),
        Some(&"Sur") => Some(Proxy::Surface),
        Some(&"Con") => Some(Proxy::Constant),
        _ => None,
    };
    if let Some(proxy) = proxy {
        (out.proxy, known) = (proxy, true);
        parts.next();
    } else if parts.peek() == Some(&"Alias") {
        (out.alias, known) = (true, true);
        parts.next();
    }
    let order = match parts.peek() {
        Some(&"Wk") if out.access == Access::Plain => Some(MemOrder::Weak),
        Some(&"Rlx") => Some(MemOrder::Relaxed),
        Some(&"Acq") => Some(MemOrder::Acquire),
        Some(&"Rel") => Some(MemOrder::Release),
        Some(&"Sc") => Some(MemOrder::Sc),
        Some(&"AcqRel") if out.access == Access::Atom => Some(MemOrder::AcqRel),
        _ => None,
    };
    if let Some(order) = order {
        (out.order, known) = (order, true);
        out.scope = (order != MemOrder::Weak).then_some(Scope::Gpu);
        parts.next();
    }
    if !known {
        return Ok(None);
    }
    if let Some(part) = parts.next() {
        out.scope = match (scope(part), out.order) {
            (Some(scope), order) if order != MemOrder::Weak => Some(scope),
            _ => return Err(WrongWord(format!("`{word}`: `.{part}` has no meaning here"))),
        };
    }
    match parts.next() {
        Some(part) => Err(WrongWord(format!("`{word}`: `.{part}` has no meaning here"))),
        None => Ok(Some(out)),
    }
}

/// Edges whose names end in `s` or `d` for the same or another location, and in `R`, `W` or `*` for either end.
fn local(word: &str) -> Result<Edge, WrongWord> {
    let wrong = || {
        WrongWord(format!(
            "`{word}` is neither an edge nor an annotation; edges are Rfe Fre Coe Rfi Fri Coi, Pod**, \
             Fence.ORDER.SCOPEd**, Fence.Proxy.KINDd**, DpAddrd*, DpDatadW, DpCtrld*, Amo.OP and Bard** \
             (`s` for one location, R and W for `*`), annotations Wk Rlx Acq Rel Sc with a scope, Amo, Red, Alias, \
             Async, Tex, Sur and Con"
        ))
    };
    let dependency =
        [("DpAddr", Dependency::Address), ("DpData", Dependency::Data), ("DpCtrl", Dependency::Control)];
    let direction = |c: char| match c {
        'R' => Some(Some(Direction::Read)),
        'W' => Some(Some(Direction::Write)),
        '*' => Some(None),
        _ => None,
    };
    let extent = |c: char| match c {
        's' => Some(true),
        'd' => Some(false),
        _ => None,
    };
    for (name, which) in dependency {
        let Some(rest) = word.strip_prefix(name) else { continue };
        let mut rest = rest.chars();
        let same_location = rest.next().and_then(extent).ok_or_else(wrong)?;
        let to = rest.next().and_then(direction).ok_or_else(wrong)?;
        if rest.next().is_some() || which == Dependency::Data && to == Some(Direction::Read) {
            return Err(wrong());
        }
        let to = if which == Dependency::Data { Some(Direction::Write) } else { to };
        let link = Link::Dependency(which);
        return Ok(Edge { link, from: Some(Direction::Read), to, same_location });
    }
    let mut ends = word.chars().rev();
    let to = ends.next().and_then(direction).ok_or_else(wrong)?;
    let from = ends.next().and_then(direction).ok_or_else(wrong)?;
    let same_location = ends.next().and_then(extent).ok_or_else(wrong)?;
    let name = &word[..word.len() - 3];
    let link = match name {
        "Po" => Link::Po,
        "Bar" => Link::Barrier,
        _ => fence(name).ok_or_else(wrong)?,
    };
    Ok(Edge { link, from, to, same_location })
}

fn fence(name: &str) -> Option<Link> {
    let mut parts = name.split('.');
    if parts.next() != Some("Fence") {
        return None;
    }
    let what = parts.next()?.to_lowercase();
    let link = if what == "proxy" {
        let kind = parts.next()?.to_lowercase();
        let known = ["alias", "async", "texture", "surface", "constant"];
        Link::ProxyFence(known.into_iter().find(|known| *known == kind)?)
    } else {
        let orders = [MemOrder::Sc, MemOrder::AcqRel, MemOrder::Acquire, MemOrder::Release];
        let order = orders.into_iter().find(|order| order.text() == what)?;
        Link::Fence(order, parts.next().map_or(Some(Scope::Gpu), scope)?)
    };
    parts.next().is_none().then_some(link)
}

impl fmt::Display for Edge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |end: Option<Direction>| end.map_or('*', Direction::letter);
        let extent = if self.same_location { 's' } else { 'd' };
        let ends = format!("{extent}{}{}", letter(self.from), letter(self.to));
        match self.link {
            Link::Communication(which, reach) => {
                let name = match which {
                    Communication::ReadsFrom => "Rf",
                    Communication::FromRead => "Fr",
                    Communication::Coherence => "Co",
                };
                match reach {
                    None => write!(f, "{name}i"),
                    Some(Scope::Gpu) => write!(f, "{name}e"),
                    Some(scope) => write!(f, "{name}e.{}", scope.text()),
                }
            }
            Link::Po => write!(f, "Po{ends}"),
            Link::Fence(order, scope) => {
                write!(f, "Fence.{}.{}{ends}", order.text(), scope.text())
            }
            Link::ProxyFence(kind) => write!(f, "Fence.proxy.{kind}{ends}"),
            Link::Dependency(which) => {
                let name = match which {
                    Dependency::Address => "Addr",
                    Dependency::Data => "Data",
                    Dependency::Control => "Ctrl",
                };
                write!(f, "Dp{name}{extent}{}", letter(self.to))
            }
            Link::Atomic(op) => write!(f, "Amo.{}", op.opcode()),
            Link::Barrier => write!(f, "Bar{ends}"),
        }
    }
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        match self.access {
            Access::Plain => {}
            Access::Atom => parts.push("Amo"),
            Access::Reduction => parts.push("Red"),
        }
        match self.proxy {
            Proxy::Async => parts.push("Async"),
            Proxy::Texture => parts.push("Tex"),
            Proxy::Surface => parts.push("Sur"),
            Proxy::Constant => parts.push("Con"),
            _ if self.alias => parts.push("Alias"),
            _ => {}
        }
        parts.push(match self.order {
            MemOrder::Weak => "Wk",
            MemOrder::Acquire => "Acq",
            MemOrder::Release => "Rel",
            MemOrder::AcqRel => "AcqRel",
            MemOrder::Sc => "Sc",
            MemOrder::Relaxed => "Rlx",
        });
        if let Some(scope) = self.scope {
            parts.push(scope.text());
        }
        f.write_str(&parts.join("."))
    }
}
