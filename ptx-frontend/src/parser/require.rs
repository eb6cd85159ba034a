//! Which PTX version and target directives need (their "ISA Notes" in the manual).

use super::Parser;
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::span::Span;
use crate::target::PtxVersion;

/// Directives and attributes with the PTX version and the first target that have them.
const SINCE: &[(&str, PtxVersion, u16)] = &[
    (".address_size", PtxVersion::new(2, 3), 10),
    (".branchtargets", PtxVersion::new(2, 1), 20),
    (".calltargets", PtxVersion::new(2, 1), 20),
    (".callprototype", PtxVersion::new(2, 1), 20),
    (".ptr", PtxVersion::new(2, 2), 10),
    (".weak", PtxVersion::new(3, 1), 20),
    (".managed", PtxVersion::new(4, 0), 30),
    (".common", PtxVersion::new(5, 0), 20),
    (".alias", PtxVersion::new(6, 3), 30),
    (".noreturn", PtxVersion::new(6, 4), 30),
    ("a mask", PtxVersion::new(7, 1), 10),
    ("inlined_at", PtxVersion::new(7, 2), 10),
    (".reqnctapercluster", PtxVersion::new(7, 8), 90),
    (".explicitcluster", PtxVersion::new(7, 8), 90),
    (".maxclusterrank", PtxVersion::new(7, 8), 90),
    (".unified", PtxVersion::new(8, 0), 90),
    (".abi_preserve", PtxVersion::new(9, 0), 80),
    (".abi_preserve_control", PtxVersion::new(9, 0), 80),
    (".blocksareclusters", PtxVersion::new(9, 0), 90),
    (".language", PtxVersion::new(9, 3), 10),
    (".minperctamemory", PtxVersion::new(9, 4), 10),
    (".loc_intermediate", PtxVersion::new(9, 4), 10),
    (".nv_intermediate_source_section", PtxVersion::new(9, 4), 10),
];

/// Directives with the PTX version from which on they are gone, and what replaces them.
const UNTIL: &[(&str, PtxVersion, &str)] = &[(".maxnctapersm", PtxVersion::new(2, 1), ".minnctapersm")];

impl Parser<'_> {
    /// Reports a directive that the module's version or target does not have.
    pub(super) fn require(&mut self, what: &str, span: Span) {
        if let Some((_, until, now)) = UNTIL.iter().find(|(name, ..)| *name == what)
            && self.module.version >= *until
        {
            let message = format!("`{what}` is gone since PTX {until}");
            let error = Diagnostic::error(codes::REMOVED, span, message);
            self.error(error.help(format!("`{now}` has taken its place")));
        }
        let Some(&(_, version, sm)) = SINCE.iter().find(|(name, ..)| *name == what) else { return };
        let (has_version, has_target) = (self.module.version, self.module.target);
        let (old, low) = (version > has_version, sm > has_target.sm);
        let needed = match (old, low) {
            (false, false) => return,
            (true, false) => format!("PTX {version}"),
            (false, true) => format!("sm_{sm}"),
            (true, true) => format!("PTX {version} and sm_{sm}"),
        };
        let code = if old { codes::TOO_OLD } else { codes::WRONG_TARGET };
        let what = if what.starts_with('a') { what.to_owned() } else { format!("`{what}`") };
        self.error(
            Diagnostic::error(
                code,
                span,
                format!("{what} needs {needed}, the module says {has_version} and {has_target}"),
            )
            .caption(format!("needs {needed}")),
        );
    }
}
