//! Values as a client shows them: names, texts, and what is inside of them.

use debugger::expression::{Bound, Node};
use debugger::format::Format;
use debugger::types::Type;
use debugger::{Debugger, Focus};
use serde_json::{Value, json};

/// What a reference of a client stands for, until the launch runs again.
#[derive(Clone, Debug)]
pub(super) enum Reference {
    /// Registers of a frame.
    Registers(Focus, usize),
    /// Parameters and variables of a frame.
    Locals(Focus, usize),
    /// Shared variables of the block.
    Shared(Focus, usize),
    /// Where the thread is.
    Special(Focus, usize),
    /// Memory that has names: buffers of the host.
    Buffers(Focus, usize),
    /// What is inside of a value, and how one writes it.
    Inside(Focus, usize, Box<Bound>, String),
}

/// Puts a thread and a frame of it into focus.
pub(super) fn select(debugger: &mut Debugger<'_, '_, '_>, focus: Focus, frame: usize) {
    let (block, thread) = (debugger.block(focus.warp.block), debugger.thread(focus));
    if debugger.focus() != focus {
        // Who is no thread of the launch was never in focus.
        let _ = debugger.set_focus(block, thread);
    }
    // Without its frames it is gone, which expressions say.
    let _ = debugger.set_frame(frame);
}

/// Elements that are listed where a client does not say how many it wants.
const ELEMENTS: u64 = 1000;

/// References given out since the launch stood still.
#[derive(Default, Debug)]
pub(super) struct References(Vec<Reference>);

impl References {
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn add(&mut self, reference: Reference) -> usize {
        self.0.push(reference);
        self.0.len()
    }

    pub(super) fn get(&self, number: u64) -> Option<Reference> {
        self.0.get(usize::try_from(number).ok()?.checked_sub(1)?).cloned()
    }
}

/// A value of an expression that is bound, with a reference to what is inside.
pub(super) fn value(
    debugger: &Debugger<'_, '_, '_>,
    references: &mut References,
    at: (Focus, usize),
    bound: &Bound,
    written: &str,
    format: Format,
) -> Result<Value, String> {
    let shown = debugger.show_bound(bound, format).map_err(|error| error.to_string())?;
    let inside = match &bound.ty {
        Type::Array(_, count) => Some(("indexedVariables", *count)),
        Type::Struct(found) => Some(("namedVariables", found.members.len() as u64)),
        Type::Pointer(_, of) if of.bytes() > 0 => Some(("namedVariables", 1)),
        _ => None,
    };
    let mut value = json!({"value": shown, "type": bound.ty.to_string(), "variablesReference": 0});
    if let Some((name, count)) = inside {
        let reference = Reference::Inside(at.0, at.1, Box::new(bound.clone()), written.to_owned());
        value["variablesReference"] = json!(references.add(reference));
        value[name] = json!(count);
    }
    if let Ok((space, address, _)) = debugger.address(written)
        && !bound.ty.is_float()
    {
        value["memoryReference"] = json!(memory_reference(space, address));
    }
    Ok(value)
}

/// A place in memory, as clients give it back.
pub(super) fn memory_reference(space: debugger::types::Space, address: u64) -> String {
    use debugger::types::Space;
    let space = match space {
        Space::Generic => "",
        Space::Shared => "shared:",
        Space::Local => "local:",
        Space::Param => "param:",
    };
    format!("{space}{address:#x}")
}

/// The parts of a value: names, how one writes them, and what they are.
fn parts(bound: &Bound, written: &str, start: u64, count: u64) -> Vec<(String, String, Bound)> {
    match &bound.ty {
        Type::Array(of, all) => {
            let end = start.saturating_add(if count == 0 { ELEMENTS } else { count }).min(*all);
            let element = |at: u64| {
                let index = Bound { ty: Type::Int(8, false), node: Node::Constant(at.into()) };
                let node = Node::Element(Box::new(bound.clone()), Box::new(index));
                (format!("[{at}]"), format!("({written})[{at}]"), Bound { ty: (**of).clone(), node })
            };
            (start..end).map(element).collect()
        }
        Type::Struct(found) => {
            let member = |member: &debugger::types::Member| {
                (member.name.clone(), format!("({written}).{}", member.name), bound.member(member))
            };
            found.members.iter().map(member).collect()
        }
        Type::Pointer(_, of) => {
            let node = Node::Target(Box::new(bound.clone()), 0);
            vec![(format!("*{written}"), format!("*({written})"), Bound { ty: (**of).clone(), node })]
        }
        _ => Vec::new(),
    }
}

/// How one writes a variable that a client names by what it is inside of.
pub(super) fn written(reference: Option<&Reference>, name: &str) -> String {
    match reference {
        Some(Reference::Inside(_, _, _, written)) => match name {
            _ if name.starts_with('[') => format!("({written}){name}"),
            _ if name.starts_with('*') => name.to_owned(),
            _ => format!("({written}).{name}"),
        },
        _ => name.to_owned(),
    }
}

/// The thread and the frame that a reference is of.
pub(super) fn place(reference: &Reference) -> (Focus, usize) {
    match reference {
        Reference::Registers(focus, frame)
        | Reference::Locals(focus, frame)
        | Reference::Shared(focus, frame)
        | Reference::Special(focus, frame)
        | Reference::Buffers(focus, frame)
        | Reference::Inside(focus, frame, ..) => (*focus, *frame),
    }
}

/// What a reference stands for, as variables.
pub(super) fn variables(
    debugger: &mut Debugger<'_, '_, '_>,
    references: &mut References,
    reference: &Reference,
    start: u64,
    count: u64,
    format: Format,
) -> Vec<Value> {
    let (focus, frame) = place(reference);
    select(debugger, focus, frame);
    let named: Vec<(String, String, Result<Bound, String>)> = {
        let bind =
            |name: &str| debugger.bind(name).map(|(bound, _)| bound).map_err(|error| error.to_string());
        let list = |names: Vec<String>| {
            names.into_iter().map(|name| (name.clone(), name.clone(), bind(&name))).collect::<Vec<_>>()
        };
        let scope = debugger.scope_here();
        match reference {
            Reference::Registers(..) => list(scope.registers().into_iter().map(|(name, _)| name).collect()),
            Reference::Locals(..) => list(scope.arguments().into_iter().chain(scope.locals()).collect()),
            Reference::Shared(..) => list(scope.shared().into_iter().map(|(name, ..)| name).collect()),
            Reference::Buffers(..) => list(scope.buffers()),
            Reference::Special(..) => {
                let vectors = ["threadIdx", "blockIdx", "blockDim", "gridDim"];
                let parts =
                    vectors.iter().flat_map(|name| ["x", "y", "z"].map(|part| format!("{name}.{part}")));
                list(parts.chain(["%laneid".to_owned(), "%warpid".to_owned(), "$time".to_owned()]).collect())
            }
            Reference::Inside(_, _, bound, written) => parts(bound, written, start, count)
                .into_iter()
                .map(|(name, written, bound)| (name, written, Ok(bound)))
                .collect(),
        }
    };
    named
        .into_iter()
        .map(|(name, written, bound)| {
            let shown =
                bound.and_then(|bound| value(debugger, references, (focus, frame), &bound, &written, format));
            let mut shown =
                shown.unwrap_or_else(|error| json!({"value": format!("<{error}>"), "variablesReference": 0}));
            shown["name"] = json!(name);
            shown["evaluateName"] = json!(written);
            shown
        })
        .collect()
}
