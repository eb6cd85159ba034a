//! Attributes of core dumps: they read back. No file is written, as a finding says where a kernel stood.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{LazyLock, Mutex, Once, PoisonError};

use runtime::{Context, Result, Status};

use crate::ffi::{get, put, put_text};
use crate::state;

// `CUcoredumpSettings`
const ON_EXCEPTION: u32 = 1;
const TRIGGER_HOST: u32 = 2;
const LIGHTWEIGHT: u32 = 3;
const USER_TRIGGER: u32 = 4;
const FILE: u32 = 5;
const PIPE: u32 = 6;
const FLAGS: u32 = 7;

// `CUCoredumpGenerationFlags`
const LIGHTWEIGHT_FLAGS: u32 = 0x2f;
const SKIP_ABORT: u32 = 0x10;

// `CU_CTX_COREDUMP_ENABLE`, `CU_CTX_USER_COREDUMP_ENABLE`
const ENABLE: u32 = 0x20;
const USER_ENABLE: u32 = 0x40;

/// Bytes of a name with the zero at its end.
const NAME: usize = 1024;

/// What is set, for a context or for all that are made later.
#[derive(Clone, Default)]
struct Settings {
    on_exception: bool,
    user_trigger: bool,
    file: String,
    pipe: String,
    flags: u32,
}

impl Settings {
    fn of(&self, attribute: u32) -> Result<Value> {
        let has = |bits: u32| self.flags & bits == bits;
        Ok(match attribute {
            ON_EXCEPTION => Value::Flag(self.on_exception),
            TRIGGER_HOST => Value::Flag(!has(SKIP_ABORT)),
            LIGHTWEIGHT => Value::Flag(has(LIGHTWEIGHT_FLAGS)),
            USER_TRIGGER => Value::Flag(self.user_trigger),
            FILE => Value::Text(self.file.clone()),
            PIPE => Value::Text(self.pipe.clone()),
            FLAGS => Value::Word(self.flags),
            _ => return Err(Status::INVALID_VALUE),
        })
    }

    fn set(&mut self, attribute: u32, value: Value) {
        let mut set =
            |bits: u32, on: bool| self.flags = if on { self.flags | bits } else { self.flags & !bits };
        match (attribute, value) {
            (ON_EXCEPTION, Value::Flag(on)) => self.on_exception = on,
            (TRIGGER_HOST, Value::Flag(on)) => set(SKIP_ABORT, !on),
            (LIGHTWEIGHT, Value::Flag(on)) => set(LIGHTWEIGHT_FLAGS, on),
            (USER_TRIGGER, Value::Flag(on)) => self.user_trigger = on,
            (FILE, Value::Text(name)) => self.file = name,
            (PIPE, Value::Text(name)) => self.pipe = name,
            (FLAGS, Value::Word(flags)) => self.flags = flags,
            _ => {}
        }
        if self.on_exception {
            static SAID: Once = Once::new();
            SAID.call_once(|| {
                eprintln!("warpgrind: no core dump is written; a finding says where a kernel stood");
            });
        }
    }
}

/// The value of an attribute.
enum Value {
    Flag(bool),
    Text(String),
    Word(u32),
}

impl Value {
    fn bytes(&self) -> usize {
        match self {
            Value::Flag(_) => 1,
            Value::Text(_) => NAME,
            Value::Word(_) => 4,
        }
    }
}

/// The settings of all contexts, and those of contexts that have their own.
#[derive(Default)]
struct All {
    global: Settings,
    contexts: HashMap<u64, Settings>,
}

static ALL: LazyLock<Mutex<All>> = LazyLock::new(Mutex::default);

/// Whose settings are meant.
#[derive(Clone, Copy)]
enum Whose {
    All,
    Current,
}

impl All {
    /// What a context has: the global settings, as they were when it was first asked for, and what its flags turn on.
    fn of_context(&mut self, context: &Context) -> &mut Settings {
        let flags = context.flags.load(SeqCst);
        let global = &self.global;
        self.contexts.entry(context.id).or_insert_with(|| Settings {
            on_exception: global.on_exception || flags & (ENABLE | USER_ENABLE) != 0,
            ..global.clone()
        })
    }
}

/// Looks at or changes the settings.
fn with<T>(whose: Whose, attribute: u32, body: impl FnOnce(&mut Settings) -> T) -> Result<T> {
    let context = match whose {
        Whose::All => None,
        Whose::Current => Some(state::current()?),
    };
    // One pipe is for all contexts.
    if context.is_some() && matches!(attribute, USER_TRIGGER | PIPE) {
        return Err(Status::INVALID_VALUE);
    }
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(body(match context {
        Some(context) => all.of_context(&context),
        None => &mut all.global,
    }))
}

unsafe fn show(whose: Whose, attribute: u32, to: *mut c_void, size: *mut usize) -> Result {
    let value = with(whose, attribute, |settings| settings.of(attribute))??;
    // SAFETY: the program's pointers are null or lead to what it says.
    unsafe {
        if to.is_null() {
            return put(size, value.bytes());
        }
        let room = get(size)?;
        match value {
            Value::Flag(_) | Value::Word(_) if room != value.bytes() => Err(Status::INVALID_VALUE),
            Value::Flag(on) => put(to.cast(), u8::from(on)),
            Value::Word(word) => put(to.cast(), word),
            Value::Text(text) if text.is_empty() && room == 0 => Ok(()),
            Value::Text(text) if text.len() >= room => Err(Status::INVALID_VALUE),
            Value::Text(text) => put_text(to.cast(), room, &text),
        }
    }
}

unsafe fn change(whose: Whose, attribute: u32, from: *const c_void, size: *mut usize) -> Result {
    let now = with(whose, attribute, |settings| settings.of(attribute))??;
    // SAFETY: the program's pointers are null or lead to what it says.
    let value = unsafe {
        if from.is_null() {
            return put(size, now.bytes());
        }
        let given = get(size)?;
        match now {
            Value::Flag(_) if given == 1 => Value::Flag(get(from.cast::<u8>())? != 0),
            Value::Word(_) if given == 4 => Value::Word(get(from.cast())?),
            Value::Text(_) if (1..=NAME).contains(&given) => {
                // What is said to be there may be more than there is: a name ends with a zero.
                let mut name = Vec::new();
                for at in 0..given {
                    match get(from.cast::<u8>().add(at))? {
                        0 => break,
                        byte => name.push(byte),
                    }
                }
                Value::Text(String::from_utf8_lossy(&name).into_owned())
            }
            _ => return Err(Status::INVALID_VALUE),
        }
    };
    with(whose, attribute, |settings| settings.set(attribute, value))
}

api! {
    fn cuCoredumpGetAttribute(attribute: u32, to: *mut c_void, size: *mut usize) {
        show(Whose::Current, attribute, to, size)
    }

    fn cuCoredumpGetAttributeGlobal(attribute: u32, to: *mut c_void, size: *mut usize) {
        show(Whose::All, attribute, to, size)
    }

    fn cuCoredumpSetAttribute(attribute: u32, from: *mut c_void, size: *mut usize) {
        change(Whose::Current, attribute, from, size)
    }

    fn cuCoredumpSetAttributeGlobal(attribute: u32, from: *mut c_void, size: *mut usize) {
        change(Whose::All, attribute, from, size)
    }
}
