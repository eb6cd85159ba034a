//! Libraries: code that every context loads when it first needs it, and its kernels.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use cuda_abi::{Result, Status};
use ptx_frontend::VarId;

use crate::compile::Linked;
use crate::module::{Built, Function, Module};
use crate::tree::{Context, Tenant};
use crate::{fresh_id, lock};

/// Variables and their addresses.
type Placed = Vec<(VarId, u64)>;

/// A library.
#[derive(Debug)]
pub struct Library {
    /// Its number.
    pub id: u64,
    /// Its code, or what is wrong with it: that is said when the code is first asked for.
    linked: Result<Linked>,
    built: Built,
    /// By context.
    modules: Mutex<HashMap<u64, Arc<Module>>>,
    /// Managed variables, which all contexts share, and the context that has them.
    managed: Mutex<Option<(u64, Placed)>>,
    kernels: Mutex<HashMap<String, Arc<Kernel>>>,
}

/// A kernel of a library, the same in all contexts.
#[derive(Debug)]
pub struct Kernel {
    /// Its number.
    pub id: u64,
    /// The library.
    pub library: Arc<Library>,
    /// Its name.
    pub name: String,
}

impl Library {
    /// A library of checked code, or of what is no such code.
    pub fn new(linked: Result<Linked>, built: Built) -> Arc<Library> {
        let (modules, kernels) = (Mutex::default(), Mutex::default());
        let managed = Mutex::default();
        Arc::new(Library { id: fresh_id(), linked, built, modules, managed, kernels })
    }

    /// Its code.
    ///
    /// # Errors
    /// Why it is none.
    pub fn code(&self) -> Result<&Linked> {
        self.linked.as_ref().map_err(|&status| status)
    }

    /// Its module in a context; loaded if it is not there.
    ///
    /// # Errors
    /// As [`Library::code`] and [`Module::load`].
    pub fn module(self: &Arc<Self>, context: &Arc<Context>) -> Result<Arc<Module>> {
        let mut modules = lock(&self.modules);
        if let Some(module) = modules.get(&context.id) {
            return Ok(module.clone());
        }
        let mut managed = lock(&self.managed);
        let shared = managed.as_ref().map(|(_, placed)| &placed[..]);
        let module = Module::load_shared(context, self.code()?.clone(), self.built.clone(), shared)?;
        if managed.is_none() {
            *managed = Some((context.id, module.managed().to_vec()));
        }
        drop(managed);
        modules.insert(context.id, module.clone());
        let tenant: Weak<Self> = Arc::downgrade(self);
        lock(&context.tenants).insert(self.id, tenant);
        Ok(module)
    }

    /// The kernel of this name.
    ///
    /// # Errors
    /// As [`Library::code`]; `NOT_FOUND`.
    pub fn kernel(self: &Arc<Self>, name: &str) -> Result<Arc<Kernel>> {
        self.code()?.kernel(name).ok_or(Status::NOT_FOUND)?;
        let mut kernels = lock(&self.kernels);
        let new = || Arc::new(Kernel { id: fresh_id(), library: self.clone(), name: name.into() });
        Ok(kernels.entry(name.into()).or_insert_with(new).clone())
    }

    /// Takes it from all contexts; the modules, for the caller to unload.
    pub fn take_modules(&self) -> Vec<Arc<Module>> {
        // They hold the library.
        lock(&self.kernels).clear();
        lock(&self.managed).take();
        let modules: Vec<Arc<Module>> = std::mem::take(&mut *lock(&self.modules)).into_values().collect();
        for context in modules.iter().filter_map(|module| module.context.upgrade()) {
            lock(&context.tenants).remove(&self.id);
        }
        modules
    }
}

impl Kernel {
    /// The function in a context.
    ///
    /// # Errors
    /// As [`Library::module`].
    pub fn function(&self, context: &Arc<Context>) -> Result<Arc<Function>> {
        self.library.module(context)?.function(&self.name)
    }
}

impl Tenant for Library {
    fn leave(&self, context: &Context) {
        let module = lock(&self.modules).remove(&context.id);
        if let Some(module) = module {
            let _ = module.unload();
        }
        lock(&self.managed).take_if(|(owner, _)| *owner == context.id);
    }
}
