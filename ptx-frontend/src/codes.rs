//! All diagnostic codes of this crate, each with its explanation.

use crate::diagnostic::Code;

macro_rules! codes {
    ($($name:ident $code:literal $text:literal)*) => {
        $(#[doc = concat!("`", $code, "`: ", $text)] pub const $name: Code = Code($code);)*

        /// All codes, with one paragraph each.
        pub const ALL: &[(Code, &str)] = &[$((Code($code), $text)),*];
    };
}

codes! {
    MORE "E0000" "Only the first hundred errors and warnings are shown. This entry says how many more there are; fix the first ones and check again."
    INVALID_CHARACTER "E0001" "PTX is ASCII text. Outside of comments and strings only letters, digits, blanks and the punctuation of the language may occur. Bytes that are not valid UTF-8 usually mean that the file is not PTX text at all (a cubin or fat binary, for instance)."
    UNCLOSED_STRING "E0002" "A string must end with `\"` on the line on which it began. PTX strings have no escape sequences."
    UNCLOSED_COMMENT "E0003" "A comment that begins with `/*` must end with `*/`. Comments do not nest."
    INVALID_NUMBER "E0004" "Numbers are decimal (`42`), hexadecimal (`0x2a`), octal (`052`) or binary (`0b101010`), with the suffix `U` for unsigned ones, or floating-point: decimal (`1.5`, `2e-3`) or exact bits, `0f` with 8 and `0d` with 16 hexadecimal digits. Integers have 64 bits; of longer ones ptxas keeps the low bits if only the last digit shifts any out, which is a warning."
    PREPROCESSOR_LINE "E0005" "A line that begins with `#` belongs to the C preprocessor. It is ignored, as ptxas does; if the text relies on macros, run the preprocessor first."
    TOO_LONG "E0006" "A text of 4 GiB or more cannot be read, because positions have 32 bits. Split the module."
    SYNTAX "E0101" "The text does not follow the grammar of PTX at this place. The message says what could stand there. Statements end with `;`, blocks are enclosed in `{ }`, and opcodes, directives and types are written in lower case."
    UNBALANCED "E0102" "Braces do not match: a `{` is never closed, or a `}` closes nothing. If the body of a function is not closed, the next function or the end of the text is where it is noticed."
    MISPLACED "E0103" "This statement is legal PTX, but not at this place: some directives belong to module scope, some into functions, some to kernels and some to device functions only."
    UNKNOWN_DIRECTIVE "E0104" "There is no such directive, or none that may stand here. Directives begin with a dot."
    TOO_DEEP "E0105" "Parentheses, unary operators or `?:` in a constant expression are nested deeper than 200 levels, or blocks deeper than 1000."
    HEADER "E0106" "A module begins with `.version major.minor`, then `.target`, then optionally `.address_size`, in this order."
    VERSION "E0107" "The module was written in a newer version of the PTX language than this tool knows. Compile with an older CUDA toolkit, or update the tool."
    TARGET "E0108" "The target is not one that the PTX manual names, or the PTX version of the module is older than the target."
    REMOVED "E0109" "This feature was taken out of PTX; the help names what replaces it."
    CONSTANT "E0110" "A constant expression cannot be evaluated: integers and floating-point numbers cannot be mixed, some operators need integers, and `0f` constants cannot be computed with."
    DIVISION_BY_ZERO "E0111" "A constant expression divides by zero."
    UNDEFINED "E0201" "The name is not declared in this scope. PTX declares registers, variables and functions before their first use; labels may follow later, but only in the same block or one around it."
    REDECLARED "E0202" "A name is declared twice in one scope, or it is a predefined name such as `%tid` or `WARP_SZ`. Parameters, registers, variables and labels of a function body share one scope; an inner `{ }` may declare a name again."
    WRONG_KIND "E0203" "The name is declared, but as something that cannot be used here, for example a label where a register is needed."
    CONFLICT "E0204" "Two declarations of a function or variable do not agree in kind, linking directive, parameters or type."
    LINKAGE "E0205" "Linking directives (`.extern`, `.visible`, `.weak`, `.common`) stand once, before declarations at module scope. `.extern` declares what another module defines, so that it takes no body and no initial value; `.common` is for `.global` variables."
    ALIAS "E0206" "`.alias a, f;` needs a function `a` that is declared without a body and a function `f` that is defined in the module, is not `.weak`, and has the same parameters."
    COMPONENT "E0207" "Vector registers have the components `.x`, `.y`, `.z`, `.w` (or `.r`, `.g`, `.b`, `.a`) up to their length; so do `%tid` and the like. Other registers have none, except for the selectors of SIMD video instructions."
    INVALID_TYPE "E0301" "A variable cannot have this type in this state space: predicates are registers, vectors have at most 128 bits, textures, samplers and surfaces are `.global` or kernel parameters, and types such as `.bf16` or `.e4m3` exist for instructions only."
    ALIGNMENT "E0302" "An alignment is a power of two in bytes, at most 2147483648."
    TOO_LARGE "E0303" "The size or number exceeds what PTX allows: constant memory has 65536 bytes, kernel parameters 4352 (32764 since PTX 8.1), sizes fit 63 bits."
    INITIALIZER "E0304" "The initial value does not fit the variable: only `.global` and `.const` variables have one; braces nest as the dimensions do; integers go into integer types and floating-point numbers into `.f32`, `.f64` and untyped ones; addresses go into `.u32` and `.u64`, single bytes of them into `.u8`."
    PARAMETER "E0305" "The parameter is not allowed: kernel parameters are in `.param` and have a size, device functions return at most one `.param`, only the last parameter may be an open array."
    TUNING "E0306" "A performance or cluster directive has an impossible value, or two of them exclude each other: `.maxntid` and `.reqntid`, `.maxclusterrank` and `.reqnctapercluster`. `.blocksareclusters` needs `.reqntid` and `.reqnctapercluster`; `.abi_preserve` is at most 239, `.abi_preserve_control` 11."
    GUARD "E0307" "The guard of an instruction must be a predicate register: `@p` or `@!p` with `.reg .pred p`."
    ADDRESS "E0308" "An address is `[register]`, `[variable]`, either of them plus a constant, or a constant. A negative offset is written `+-4`; two registers, or a variable and a register, cannot be added in an address. `array[index]`, with a constant or a register, is what `mov` and `cvta` take as an address and `ld`, `ldu` and `st` as a place."
    CALL "E0309" "A call does not fit its function: the numbers and sizes of arguments and return values must agree with the declaration or prototype, kernels cannot be called, and a call through a register needs a `.callprototype` or `.calltargets`."
    UNKNOWN_OPCODE "E0401" "The opcode word is not an instruction of PTX up to the newest version that is known here. Opcodes are lower case; modifiers follow after dots."
    UNKNOWN_MODIFIER "E0402" "The word after the dot is not a modifier of any PTX instruction."
    FOREIGN_MODIFIER "E0403" "The modifier exists, but no form of this instruction has it."
    COMBINATION "E0404" "The modifier exists for this instruction, but not together with the others that are given. The help lists what the instruction takes with them."
    MISSING_MODIFIER "E0405" "A modifier that the instruction must have is missing, often its type."
    MODIFIER_ORDER "E0406" "Most modifiers may stand in any order. Types keep theirs (destination first), so do state spaces, layouts and bit operations, and some modifiers belong to the opcode word itself, such as `.lo` in `mul.lo` or `.l` in `shf.l`."
    EXCLUSIVE "E0407" "Two modifiers exclude each other, or one is given twice."
    OPERAND_COUNT "E0501" "The instruction takes another number of operands with these modifiers."
    REGISTER_TYPE "E0502" "The type of the register does not agree with the instruction. Bit-size types agree with every type of their size, signed and unsigned integers with each other, floating-point types only with themselves. Only `ld`, `st`, `cvt` and some others take registers that are wider than their type. Formats such as `.bf16` and packed ones live in `.b16`, `.b32` and `.b64` registers."
    CONSTANT_KIND "E0503" "The constant is of the wrong kind: integer types take integers, `.f32` and `.f64` take floating-point numbers, half precision and packed types take none."
    CONSTANT_VALUE "E0504" "The constant is outside of what the instruction allows at this place."
    VECTOR "E0505" "The number of elements in braces does not agree with the instruction: `.v2`, `.v4`, `.v8`, `.x1` to `.x128`, the geometry of a texture or the shape of a matrix decide it."
    SPACE "E0506" "The variable is in another state space than the instruction names. Without a space the address is generic, which variables in `.const` and `.param` do not have unless `cvta` makes one."
    ADDRESS_BASE "E0507" "The base of an address is a register of an integer or bit-size type of up to 64 bits, or a variable; absolute addresses exist in `.local` only. Some instructions need a register of the address size."
    OPERAND_FORM "E0508" "The instruction takes something else at this place, for example an address in brackets, a register or a label. A constant can be added to an integer register or a variable where one is read. Special registers can be read by `mov` and integer `cvt` only."
    TOO_OLD "E0601" "The instruction, or one of its modifiers or operands, came with a newer version of PTX than the module's `.version` says."
    WRONG_TARGET "E0602" "The module's `.target` does not have the instruction or modifier. `sm_80` in the message means this and later architectures, `sm_90a` exactly this one, `sm_100f` the architecture- and family-specific targets of this family from this one on."
    GONE "E0603" "The instruction was taken out of PTX for newer targets; help names what replaces it."
    LINK_DUPLICATE "E0701" "Two modules define the same symbol. Only one definition may be `.visible`; any number may be `.weak` or `.common`."
    LINK_CONFLICT "E0702" "Modules declare the same symbol with different kinds, types, sizes or parameters."
    LINK_UNRESOLVED "E0703" "An `.extern` symbol is defined in none of the modules. Where one module is the whole program, variables that say how large they are become definitions that hold zeros, with a warning, as ptxas does."
    LINK_HEADER "E0704" "The modules do not fit together: they have different address sizes."
}

/// The explanation of a code of this list.
pub fn explain(code: &str) -> Option<&'static str> {
    ALL.iter().find(|(known, _)| known.0 == code).map(|&(_, text)| text)
}
