//! Arguments to the packed parameter buffer of a kernel.

use std::collections::HashMap;

use ptx_frontend::{Function, Module, Param, TypeClass, Variable};
use sim_core::DevicePtr;

use reports::{demangle, plural};

use super::argument::Arg;
use super::{LaunchPlan, Plan, PlanError};
use crate::files::read_file;
use crate::names::{closest, quoted_list};

/// The parameters of a kernel.
pub fn parameters<'a>(module: &'a Module, kernel: &'a Function) -> Vec<&'a Variable> {
    kernel
        .params
        .iter()
        .filter_map(|param| match param {
            Param::Variable(id) => Some(&module.variables[id.index()]),
            Param::Register(_) => None,
        })
        .collect()
}

/// `.u64 x`, `.b8 s[16]`.
pub fn describe(parameter: &Variable) -> String {
    format!("{} {}", type_text(parameter), parameter.name) + &dimensions_text(parameter)
}

/// The type without dimensions: `.u64`, `.v4.f32`, with `.ptr .global` where it is said.
pub fn type_text(parameter: &Variable) -> String {
    let vector = if parameter.vector > 1 { format!(".v{}", parameter.vector) } else { String::new() };
    let pointer = parameter.pointer.map_or(String::new(), |pointer| format!(" .ptr .{}", pointer.space));
    format!("{vector}{}{pointer}", parameter.ty)
}

/// `[16]` for arrays, else empty.
pub fn dimensions_text(parameter: &Variable) -> String {
    parameter.dimensions.iter().map(|extent| format!("[{extent}]")).collect()
}

/// `saxpy(.u32 n, .f32 a)`
pub fn signature(module: &Module, kernel: &Function) -> String {
    let list: Vec<String> = parameters(module, kernel).into_iter().map(describe).collect();
    format!("{}({})", kernel.name, list.join(", "))
}

/// Packs the arguments of a launch. `addresses` are those of the buffers by name.
pub(crate) fn pack(
    module: &Module,
    kernel: &Function,
    plan: &Plan,
    launch: &LaunchPlan,
    addresses: &HashMap<&str, DevicePtr>,
) -> Result<Vec<u8>, PlanError> {
    let parameters = parameters(module, kernel);
    let wrong = |failure: PlanError| failure.note(format!("the kernel is {}", signature(module, kernel)));
    if parameters.len() != launch.args.len() {
        let (takes, given) = (parameters.len() as u64, launch.args.len());
        let name = demangle(&kernel.name).unwrap_or_else(|| kernel.name.to_string());
        let message = format!("kernel `{name}` takes {}, {given} given", plural(takes, "argument"));
        return Err(wrong(PlanError::new(message)).at(plan.source.as_ref(), &launch.place));
    }
    let mut packed = vec![0; kernel.param_bytes as usize];
    for (at, (parameter, (arg, place))) in parameters.into_iter().zip(&launch.args).enumerate() {
        let bytes = bytes_of(parameter, arg, module.address_size, plan, addresses).map_err(|failure| {
            wrong(failure.context(format!("argument {at} (`{}`)", parameter.name)))
                .at(plan.source.as_ref(), place)
        })?;
        let start = parameter.offset as usize;
        let slot = packed.get_mut(start..start + bytes.len());
        slot.ok_or_else(|| {
            PlanError::new(format!("parameter `{}` lies outside the buffer", parameter.name))
        })?
        .copy_from_slice(&bytes);
    }
    Ok(packed)
}

fn bytes_of(
    parameter: &Variable,
    arg: &Arg,
    address_size: u32,
    plan: &Plan,
    addresses: &HashMap<&str, DevicePtr>,
) -> Result<Vec<u8>, PlanError> {
    let is_aggregate = !parameter.dimensions.is_empty() || parameter.vector > 1;
    let exactly = |bytes: Vec<u8>| match bytes.len() as u64 == parameter.size {
        true => Ok(bytes),
        false => Err(PlanError::new(format!(
            "{} given, the parameter `{}` has {}",
            plural(bytes.len() as u64, "byte"),
            describe(parameter),
            parameter.size
        ))),
    };
    match arg {
        Arg::Bytes(bytes) => exactly(bytes.clone()),
        Arg::BytesFile(path) => exactly(read_file(&plan.directory.join(path), parameter.size)?),
        Arg::Parts(parts) => {
            let mut whole = Vec::new();
            for part in parts {
                match part {
                    Arg::Bytes(bytes) => whole.extend(bytes),
                    Arg::Reference { name, offset } => {
                        let address =
                            addresses.get(name.as_str()).ok_or_else(|| unknown_buffer(name, plan))?;
                        whole.extend(
                            &address.wrapping_add(*offset).to_le_bytes()[..address_size as usize / 8],
                        );
                    }
                    _ => return Err(PlanError::new("a part is `hex:…` or the address of a buffer")),
                }
            }
            exactly(whole)
        }
        _ if is_aggregate => Err(PlanError::new(format!(
            "the parameter `{}` is {} as a whole",
            describe(parameter),
            plural(parameter.size, "byte")
        ))
        .help("give them as `hex:…` or `bytes:@FILE`")),
        Arg::Scalar(scalar) => scalar.fit(parameter.ty),
        Arg::Reference { name, offset } => {
            let address = addresses.get(name.as_str()).ok_or_else(|| unknown_buffer(name, plan))?;
            let is_address =
                matches!(parameter.ty.class(), TypeClass::Bits | TypeClass::Unsigned | TypeClass::Signed)
                    && parameter.ty.bits() == address_size;
            if !is_address {
                return Err(PlanError::new(format!(
                    "a buffer's address does not fit the parameter's type {}",
                    parameter.ty
                ))
                .help(format!(
                    "a buffer is passed for a parameter of type .u{address_size} or .b{address_size}"
                )));
            }
            Ok(address.wrapping_add(*offset).to_le_bytes()[..address_size as usize / 8].to_vec())
        }
        Arg::Buffer(_) => Err(PlanError::new("a buffer cannot be defined here")),
    }
}

/// There is no buffer of this name.
pub fn unknown_buffer(name: &str, plan: &Plan) -> PlanError {
    let failure = PlanError::new(format!("there is no buffer `{name}`"));
    let names =
        || plan.buffers.keys().chain(plan.variables.keys()).chain(plan.objects.keys()).map(String::as_str);
    match closest(name, names()) {
        Some(close) => failure.help(format!("did you mean `{close}`?")),
        None if names().next().is_none() => failure,
        None => failure.help(format!("the buffers are {}", quoted_list(names()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::parse_arg;
    use ptx_frontend::Source;

    const TEXT: &str = "
        .version 9.0
        .target sm_90
        .address_size 64
        .visible .entry k(.param .u32 n, .param .f64 a, .param .u64 x, .param .align 4 .b8 s[8]) { ret; }";

    fn packed(args: &[&str]) -> Result<Vec<u8>, PlanError> {
        let module = ptx_frontend::parse(Source::new("a.ptx", TEXT.into())).module.unwrap();
        let plan = Plan::default();
        let args = args.iter().map(|arg| (parse_arg(arg).unwrap().1, None)).collect();
        let launch = LaunchPlan { args, ..LaunchPlan::default() };
        let (_, kernel) = module.kernels().next().unwrap();
        pack(&module, kernel, &plan, &launch, &HashMap::from([("x", 0x1000)]))
    }

    #[test]
    fn arguments_lie_where_the_layout_says() {
        let bytes = packed(&["7", "1.5", "&x+16", "hex:0102030405060708"]).unwrap();
        let mut expected = vec![7, 0, 0, 0, 0, 0, 0, 0];
        expected.extend(1.5f64.to_le_bytes());
        expected.extend(0x1010u64.to_le_bytes());
        expected.extend([1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(bytes, expected);
    }

    #[test]
    fn wrong_arguments_name_the_parameter_and_the_kernel() {
        for (args, message) in [
            (&["7"][..], "kernel `k` takes 4 arguments, 1 given"),
            (&["7", "&x", "&x", "hex:0102030405060708"], "argument 1 (`a`): a buffer's address does not fit"),
            (&["7", "1.5", "&z", "hex:0102030405060708"], "argument 2 (`x`): there is no buffer `z`"),
            (
                &["7", "1.5", "&x", "hex:0102"],
                "argument 3 (`s`): 2 bytes given, the parameter `.b8 s[8]` has 8",
            ),
            (&["7", "1.5", "&x", "1"], "argument 3 (`s`): the parameter `.b8 s[8]` is 8 bytes as a whole"),
            (&["7.5", "1.5", "&x", "1"], "argument 0 (`n`): `7.5` is a float, the parameter's type is .u32"),
        ] {
            let failure = packed(args).unwrap_err();
            assert!(failure.message.starts_with(message), "{}", failure.message);
            assert_eq!(failure.notes, ["the kernel is k(.u32 n, .f64 a, .u64 x, .b8 s[8])"]);
        }
    }
}
