//! Launch files, read; `cli/LAUNCH.md` describes the format.

use std::ops::Range;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use ptx_frontend::Source;
use serde::Deserialize;
use sim_core::Dim3;
use toml::{Spanned, Value};

use super::argument::{Arg, BufferSpec, is_name, parse_arg};
use super::texture::{self, Described, ObjectPlan};
use super::{BufferPlan, Expectation, LaunchPlan, PRINTED, Plan, PlanError};
use crate::array::{Init, Tolerance, parse_element, parse_init};
use crate::names::{closest, quoted_list};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    modules: Vec<Spanned<PathBuf>>,
    #[serde(default)]
    buffers: IndexMap<String, Spanned<Buffer>>,
    #[serde(default)]
    variables: IndexMap<String, Spanned<Buffer>>,
    #[serde(default)]
    textures: IndexMap<String, Spanned<Described>>,
    #[serde(default)]
    surfaces: IndexMap<String, Spanned<Described>>,
    #[serde(default, rename = "launch")]
    launches: Vec<Spanned<Launch>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Buffer {
    #[serde(rename = "type")]
    element: Option<Spanned<String>>,
    shape: Option<Spanned<Value>>,
    init: Option<Spanned<Value>>,
    expect: Option<Spanned<Value>>,
    ulp: Option<u64>,
    abs: Option<Spanned<f64>>,
    rel: Option<Spanned<f64>>,
    #[serde(default)]
    nan_bits: bool,
    #[serde(default)]
    pointers: Vec<Spanned<(u64, String)>>,
    #[serde(default)]
    read_only: Vec<(u64, u64)>,
    save: Option<PathBuf>,
    print: Option<Spanned<Value>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Launch {
    kernel: Option<String>,
    grid: Spanned<Value>,
    block: Spanned<Value>,
    cluster: Option<Spanned<Value>>,
    #[serde(default)]
    shared: u32,
    #[serde(default)]
    cooperative: bool,
    #[serde(default)]
    args: Vec<Spanned<Value>>,
}

/// Reads the launch file `path`, whose text is `bytes`.
pub(super) fn parse(path: &Path, bytes: Vec<u8>) -> Result<Plan, PlanError> {
    let source = Source::new(reports::printable(path), bytes);
    let at = |span: Range<usize>, message: String| PlanError::new(message).at(Some(&source), &Some(span));
    let file: File = toml::from_str(&source.text).map_err(|error| {
        let message = error.message().trim_end().replace('\n', "; ");
        PlanError::new(message).at(Some(&source), &error.span().or(Some(0..0)))
    })?;

    let buffers = |map: IndexMap<String, Spanned<Buffer>>, variables: bool| {
        map.into_iter()
            .map(|(name, buffer)| Ok((name, convert_buffer(buffer, variables, &at)?)))
            .collect::<Result<IndexMap<_, _>, PlanError>>()
    };
    let buffers_by_name = buffers(file.buffers, false)?;
    let variables = buffers(file.variables, true)?;
    let objects = |map: IndexMap<String, Spanned<Described>>, is_surface: bool| {
        let each = map.into_iter();
        each.map(|(name, object)| Ok((name, texture::read(object, is_surface, &at)?)))
            .collect::<Result<IndexMap<String, ObjectPlan>, PlanError>>()
    };
    let mut textures = objects(file.textures, false)?;
    for (name, surface) in objects(file.surfaces, true)? {
        let place = surface.place.clone().unwrap_or_default();
        if textures.insert(name.clone(), surface).is_some() {
            return Err(at(place, format!("a texture and a surface are named `{name}`")));
        }
    }
    let taken = |name: &String| buffers_by_name.contains_key(name) || variables.contains_key(name);
    if let Some((name, object)) = textures.iter().find(|(name, _)| taken(name)) {
        let place = object.place.clone().unwrap_or_default();
        return Err(at(place, format!("a buffer or variable is named `{name}`, too")));
    }
    let names = buffers_by_name.keys().chain(variables.keys()).chain(textures.keys());
    let names: Vec<&str> = names.map(String::as_str).collect();
    if file.launches.is_empty() {
        return Err(PlanError::new(format!("{} launches nothing", path.display()))
            .help("add a `[[launch]]` section with `kernel`, `grid`, `block` and `args`"));
    }
    let launches = file
        .launches
        .into_iter()
        .map(|launch| convert_launch(launch, &names, &at))
        .collect::<Result<_, PlanError>>()?;
    Ok(Plan {
        directory: path.parent().map(Path::to_path_buf).unwrap_or_default(),
        modules: file
            .modules
            .into_iter()
            .map(|module| (module.get_ref().clone(), Some(module.span())))
            .collect(),
        buffers: buffers_by_name,
        variables,
        objects: textures,
        launches,
        source: Some(source),
    })
}

fn convert_buffer(
    buffer: Spanned<Buffer>,
    is_variable: bool,
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<BufferPlan, PlanError> {
    let place = buffer.span();
    let buffer = buffer.into_inner();
    let element = buffer
        .element
        .map(|name| parse_element(name.get_ref()).map_err(|error| at(name.span(), error.to_string())))
        .transpose()?;
    let shape = buffer.shape.map(|shape| convert_shape(&shape, at)).transpose()?;
    let init_place = buffer.init.as_ref().map(Spanned::span);
    let init = buffer.init.map(|init| convert_init(&init, at)).transpose()?;
    if !is_variable {
        let sized = shape.is_some() || matches!(init, Some(Init::File(_) | Init::List(_)));
        let typed = element.is_some() || matches!(&init, Some(Init::File(p)) if is_npy(p));
        if !typed {
            return Err(at(place, "the buffer has no `type`, such as \"f32\"".into()));
        }
        if !sized {
            return Err(at(place, "the buffer has no `shape`, such as 1024 or [64, 32]".into()));
        }
    }
    let bound = |bound: &Option<Spanned<f64>>| match bound {
        Some(value) if *value.get_ref() >= 0.0 => Ok(*value.get_ref()),
        Some(value) => Err(at(value.span(), "a tolerance is zero or more".into())),
        None => Ok(0.0),
    };
    let tolerance = Tolerance {
        ulp: buffer.ulp.unwrap_or(0),
        abs: bound(&buffer.abs)?,
        rel: bound(&buffer.rel)?,
        nan_bits: buffer.nan_bits,
    };
    let expect = match buffer.expect {
        Some(expect) => {
            let place = Some(expect.span());
            Some(Expectation { values: convert_init(&expect, at)?, tolerance, place })
        }
        None if buffer.ulp.is_some() || tolerance != Tolerance::default() => {
            return Err(at(place, "a tolerance is given, but no `expect`".into()));
        }
        None => None,
    };
    let print = match buffer.print.as_ref().map(|print| (print.get_ref(), print.span())) {
        None | Some((Value::Boolean(false), _)) => None,
        Some((Value::Boolean(true), _)) => Some(PRINTED),
        Some((Value::Integer(count), _)) if *count >= 0 => Some(*count as u64),
        Some((_, span)) => return Err(at(span, "`print` is true, false or a number of elements".into())),
    };
    let pointers = buffer.pointers.into_iter().map(|pointer| {
        let place = pointer.span();
        let (offset, text) = pointer.into_inner();
        match parse_arg(&text) {
            Ok((None, target @ Arg::Reference { .. })) => Ok((offset, target)),
            _ => Err(at(place, format!("`{text}` is no address, such as `&x` or `&x+16`"))),
        }
    });
    Ok(BufferPlan {
        spec: BufferSpec { element, shape, init, output: None },
        pointers: pointers.collect::<Result<_, PlanError>>()?,
        read_only: buffer.read_only,
        save: buffer.save,
        print,
        expect,
        place: Some(place),
        init_place,
    })
}

fn is_npy(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "npy")
}

fn convert_launch(
    launch: Spanned<Launch>,
    names: &[&str],
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<LaunchPlan, PlanError> {
    let place = Some(launch.span());
    let launch = launch.into_inner();
    let args = launch
        .args
        .iter()
        .map(|arg| Ok((convert_arg(arg.get_ref(), arg.span(), names, at)?, Some(arg.span()))))
        .collect::<Result<_, PlanError>>()?;
    Ok(LaunchPlan {
        kernel: launch.kernel,
        grid: convert_dim3(&launch.grid, at)?,
        block: convert_dim3(&launch.block, at)?,
        cluster: launch.cluster.map(|cluster| convert_dim3(&cluster, at)).transpose()?,
        shared_bytes: launch.shared,
        cooperative: launch.cooperative,
        args,
        place,
    })
}

fn convert_arg(
    arg: &Value,
    span: Range<usize>,
    names: &[&str],
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<Arg, PlanError> {
    let known = |name: &str| names.contains(&name);
    let text = match arg {
        Value::Array(parts) => {
            let parts = parts.iter().map(|part| match convert_arg(part, span.clone(), names, at)? {
                part @ (Arg::Bytes(_) | Arg::Reference { .. }) => Ok(part),
                _ => Err(at(
                    span.clone(),
                    "a part of a structure is `hex:…` or the address of a buffer".into(),
                )),
            });
            return Ok(Arg::Parts(parts.collect::<Result<_, PlanError>>()?));
        }
        Value::String(name) if known(name) => {
            return Ok(Arg::Reference { name: name.clone(), offset: 0 });
        }
        Value::String(text) => text.clone(),
        Value::Integer(value) => value.to_string(),
        Value::Float(value) => format!("{value:?}"),
        Value::Boolean(value) => u8::from(*value).to_string(),
        _ => return Err(at(span, "an argument is a number, a string or an array of parts".into())),
    };
    let unknown = |name: &str, message: String| {
        let failure = at(span.clone(), message);
        match (closest(name, names.iter().copied()), names.is_empty()) {
            (Some(close), _) => failure.help(format!("did you mean `{close}`?")),
            (None, true) => failure.help("define it under [buffers.NAME]"),
            (None, false) => failure.help(format!("the buffers are {}", quoted_list(names))),
        }
    };
    match parse_arg(&text) {
        Ok((None, Arg::Reference { name, .. })) if !known(&name) => {
            Err(unknown(&name, format!("there is no buffer `{name}`")))
        }
        Ok((None, Arg::Buffer(_)) | (Some(_), _)) => Err(at(
            span,
            format!("`{text}` defines a buffer; define it under [buffers.NAME] and pass its name"),
        )),
        Ok((None, arg)) => Ok(arg),
        Err(_) if is_name(&text) => {
            Err(unknown(&text, format!("there is no buffer `{text}`, and it is no number")))
        }
        Err(error) => Err(at(span, error.message)),
    }
}

/// A number or an array of up to three.
fn convert_dim3(
    value: &Spanned<Value>,
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<Dim3, PlanError> {
    let wrong =
        || at(value.span(), "an extent is a number or an array of one to three, such as [16, 16]".into());
    let one = |value: &Value| value.as_integer().and_then(|v| u32::try_from(v).ok()).ok_or_else(wrong);
    match value.get_ref() {
        Value::Integer(_) => Ok(one(value.get_ref())?.into()),
        Value::Array(list) if (1..=3).contains(&list.len()) => {
            let at = |at: usize| list.get(at).map_or(Ok(1), one);
            Ok(Dim3::new(at(0)?, at(1)?, at(2)?))
        }
        _ => Err(wrong()),
    }
}

fn convert_shape(
    value: &Spanned<Value>,
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<Vec<u64>, PlanError> {
    let wrong = || at(value.span(), "a shape is a number of elements or an array of extents".into());
    let one = |value: &Value| value.as_integer().and_then(|v| u64::try_from(v).ok()).ok_or_else(wrong);
    match value.get_ref() {
        Value::Array(list) => list.iter().map(one).collect(),
        single => Ok(vec![one(single)?]),
    }
}

/// A number, an array of numbers, or a string of the argument language.
fn convert_init(
    value: &Spanned<Value>,
    at: &impl Fn(Range<usize>, String) -> PlanError,
) -> Result<Init, PlanError> {
    let number = |value: &Value| match value {
        Value::Integer(value) => Ok(value.to_string()),
        Value::Float(value) => Ok(format!("{value:?}")),
        Value::Boolean(value) => Ok(u8::from(*value).to_string()),
        Value::String(text) => Ok(text.clone()),
        _ => Err(()),
    };
    let wrong = |()| at(value.span(), "contents are a number, an array of numbers or a string".into());
    match value.get_ref() {
        Value::String(text) => parse_init(text).map_err(|error| at(value.span(), error.to_string())),
        Value::Array(list) => flatten(list, &number).map(Init::List).map_err(wrong),
        single => number(single).map(Init::Fill).map_err(wrong),
    }
}

/// The numbers of an array of numbers or, for several dimensions, of arrays.
fn flatten(list: &[Value], number: &impl Fn(&Value) -> Result<String, ()>) -> Result<Vec<String>, ()> {
    let mut out = Vec::new();
    for value in list {
        match value {
            Value::Array(inner) => out.extend(flatten(inner, number)?),
            single => out.push(number(single)?),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Plan, PlanError> {
        parse(Path::new("dir/launch.toml"), text.as_bytes().to_vec())
    }

    const SAXPY: &str = r#"
        modules = ["saxpy.ptx"]
        [buffers.x]
        type = "f32"
        shape = 1024
        init = "seq"
        [buffers.y]
        type = "f32"
        shape = [4, 256]
        init = 1
        expect = "seq:1:2"
        ulp = 1
        print = 4
        [[launch]]
        kernel = "saxpy"
        grid = 4
        block = [256]
        args = [1024, 2.0, "x", "&y+16"]
    "#;

    #[test]
    fn a_launch_file_becomes_a_plan() {
        let plan = read(SAXPY).unwrap();
        assert_eq!(plan.directory, Path::new("dir"));
        assert_eq!(plan.buffers.keys().collect::<Vec<_>>(), ["x", "y"]);
        let y = &plan.buffers["y"];
        assert_eq!((&y.spec.shape, y.print), (&Some(vec![4, 256]), Some(4)));
        assert_eq!(y.expect.as_ref().unwrap().tolerance.ulp, 1);
        let launch = &plan.launches[0];
        assert_eq!((launch.grid, launch.block), (Dim3::new(4, 1, 1), Dim3::new(256, 1, 1)));
        assert_eq!(launch.args[3].0, Arg::Reference { name: "y".into(), offset: 16 });
    }

    #[test]
    fn mistakes_have_places() {
        for (from, to, part, under) in [
            ("ulp = 1", "upl = 1", "unknown field `upl`", "upl"),
            ("\"seq\"", "\"sequence\"", "did you mean `seq`?", "\"sequence\""),
            ("\"x\",", "\"z\",", "no buffer `z`", "\"z\""),
            ("grid = 4", "grid = \"4\"", "an extent is", "\"4\""),
            ("block = [256]", "block = [1, 2, 3, 4]", "an extent is", "[1, 2, 3, 4]"),
            ("shape = 1024", "shape = -1", "a shape is", "-1"),
            (
                "type = \"f32\"\n        shape = 1024",
                "type = \"float\"\n shape = 1024",
                "did you mean `f32`",
                "\"float\"",
            ),
            ("shape = 1024", "", "no `shape`", "[buffers.x]"),
            ("expect = \"seq:1:2\"", "", "no `expect`", "[buffers.y]"),
            ("\"x\",", "\"f32[4]=0\",", "defines a buffer", "\"f32[4]=0\""),
        ] {
            let text = SAXPY.replacen(from, to, 1);
            let failure = read(&text).map(|_| ()).unwrap_err();
            assert!(failure.message.contains(part), "{part}: {}", failure.message);
            let place = failure.place.expect(part);
            assert!(place.source.text[place.span.clone()].starts_with(under), "{part}: {:?}", place.span);
        }
    }

    #[test]
    fn a_file_without_launches_is_refused() {
        assert!(read("modules = [\"a.ptx\"]").unwrap_err().message.contains("launches nothing"));
        assert!(read("modules = [").is_err());
    }

    proptest::proptest! {
        /// Whatever stands in the place of a piece of a launch file, there is an answer.
        #[test]
        fn no_text_panics(at in 0usize..400, length in 0usize..20, text in "[\\PC\n]{0,12}") {
            let mut bytes = SAXPY.as_bytes().to_vec();
            let end = (at + length).min(bytes.len());
            bytes.splice(at.min(end)..end, text.into_bytes());
            let _ = parse(Path::new("launch.toml"), bytes);
        }
    }

    #[test]
    fn nested_lists_are_flattened() {
        let text = SAXPY.replace("init = \"seq\"", "init = [[1, 2], [3, 4]]");
        let plan = read(&text).unwrap();
        let values = ["1", "2", "3", "4"].map(String::from).to_vec();
        assert_eq!(plan.buffers["x"].spec.init, Some(Init::List(values)));
    }
}
