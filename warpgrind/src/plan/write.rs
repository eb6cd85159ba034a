//! Launch files, written: what is read from one again is the same plan.

use std::path::{Path, PathBuf};

use sim_core::Dim3;
use toml::{Table, Value};

use super::argument::{Arg, Scalar};
use super::texture;
use super::{BufferPlan, LaunchPlan, Plan};
use crate::array::{Array, Init};
use crate::run::hex;

/// The text of a launch file; `file` keeps an array and names the file that has it.
pub(super) fn text<E>(
    plan: &Plan,
    mut file: impl FnMut(&str, &Array) -> Result<PathBuf, E>,
) -> Result<String, E> {
    let mut table = Table::new();
    table.insert("modules".into(), list(plan.modules.iter().map(|(path, _)| text_of(path))));
    for (key, list) in [("buffers", &plan.buffers), ("variables", &plan.variables)] {
        let mut all = Table::new();
        for (name, buffer) in list {
            all.insert(name.clone(), Value::Table(self::buffer(name, buffer, &mut file)?));
        }
        if !all.is_empty() {
            table.insert(key.into(), Value::Table(all));
        }
    }
    for (key, is_surface) in [("textures", false), ("surfaces", true)] {
        let own = plan.objects.iter().filter(|(_, object)| object.sampler.is_none() == is_surface);
        let own: Table = own
            .map(|(name, object)| (name.clone(), texture::written(object, |place| argument(place, true))))
            .collect();
        if !own.is_empty() {
            table.insert(key.into(), Value::Table(own));
        }
    }
    table.insert("launch".into(), list(plan.launches.iter().map(launch)));
    Ok(table.to_string())
}

fn text_of(path: &Path) -> Value {
    path.to_string_lossy().into_owned().into()
}

fn list<T: Into<Value>>(values: impl IntoIterator<Item = T>) -> Value {
    Value::Array(values.into_iter().map(Into::into).collect())
}

fn number(value: u64) -> Value {
    i64::try_from(value).unwrap_or(i64::MAX).into()
}

fn extents(extents: Dim3) -> Value {
    list([extents.x, extents.y, extents.z].map(i64::from))
}

fn buffer<E>(
    name: &str,
    buffer: &BufferPlan,
    file: &mut impl FnMut(&str, &Array) -> Result<PathBuf, E>,
) -> Result<Table, E> {
    let mut table = Table::new();
    let mut add = |key: &str, value: Value| drop(table.insert(key.into(), value));
    let spec = &buffer.spec;
    let array =
        spec.init.as_ref().and_then(|init| if let Init::Array(array) = init { Some(array) } else { None });
    if let Some(element) = spec.element.or(array.map(|array| array.element)) {
        add("type", element.name().into());
    }
    if let Some(shape) = spec.shape.as_ref().or(array.map(|array| &array.shape)) {
        add("shape", list(shape.iter().map(|&extent| number(extent))));
    }
    if let Some(init) = &spec.init {
        add("init", contents(init, name, file)?);
    }
    if let Some(expect) = &buffer.expect {
        add("expect", contents(&expect.values, &format!("{name}-expected"), file)?);
        let tolerance = &expect.tolerance;
        add("ulp", number(tolerance.ulp));
        add("abs", tolerance.abs.into());
        add("rel", tolerance.rel.into());
        add("nan_bits", tolerance.nan_bits.into());
    }
    if !buffer.pointers.is_empty() {
        let pair =
            |(offset, target): &(u64, Arg)| Value::Array(vec![number(*offset), argument(target, true)]);
        add("pointers", list(buffer.pointers.iter().map(pair)));
    }
    if !buffer.read_only.is_empty() {
        let pair = |&(offset, bytes): &(u64, u64)| list([number(offset), number(bytes)]);
        add("read_only", list(buffer.read_only.iter().map(pair)));
    }
    if let Some(path) = &buffer.save {
        add("save", text_of(path));
    }
    if let Some(count) = buffer.print {
        add("print", number(count));
    }
    Ok(table)
}

fn contents<E>(
    init: &Init,
    name: &str,
    file: &mut impl FnMut(&str, &Array) -> Result<PathBuf, E>,
) -> Result<Value, E> {
    let at = |path: &Path| format!("@{}", path.to_string_lossy());
    Ok(match init {
        Init::Fill(value) => value.clone().into(),
        Init::List(values) => list(values.iter().cloned()),
        Init::Cycle(values) => format!("cycle:{}", values.join(",")).into(),
        Init::Sequence { start, step } => format!("seq:{start}:{step}").into(),
        Init::Random { seed, range, whole } => {
            let mut text = if *whole { "randint" } else { "random" }.to_owned();
            if let Some(seed) = seed {
                text += &format!(":{seed}");
            }
            if let Some((low, high)) = range {
                text += &format!(":{low}..{high}");
            }
            text.into()
        }
        Init::File(path) => at(path).into(),
        Init::Array(array) => at(&file(name, array)?).into(),
    })
}

fn launch(launch: &LaunchPlan) -> Table {
    let mut table = Table::new();
    let mut add = |key: &str, value: Value| drop(table.insert(key.into(), value));
    if let Some(kernel) = &launch.kernel {
        add("kernel", kernel.clone().into());
    }
    add("grid", extents(launch.grid));
    add("block", extents(launch.block));
    if let Some(cluster) = launch.cluster {
        add("cluster", extents(cluster));
    }
    add("shared", i64::from(launch.shared_bytes).into());
    add("cooperative", launch.cooperative.into());
    add("args", list(launch.args.iter().map(|(arg, _)| argument(arg, false))));
    table
}

/// An argument; in places where only addresses stand, one is `marked` as such.
fn argument(arg: &Arg, marked: bool) -> Value {
    match arg {
        Arg::Scalar(Scalar { element: Some(element), text }) => format!("{}:{text}", element.name()).into(),
        Arg::Scalar(Scalar { element: None, text }) => text.clone().into(),
        Arg::Reference { name, offset: 0 } if !marked => name.clone().into(),
        Arg::Reference { name, offset: 0 } => format!("&{name}").into(),
        Arg::Reference { name, offset } => format!("&{name}+{offset}").into(),
        Arg::Bytes(bytes) => format!("hex:{}", hex(bytes)).into(),
        Arg::BytesFile(path) => format!("bytes:@{}", path.to_string_lossy()).into(),
        Arg::Parts(parts) => list(parts.iter().map(|part| argument(part, true))),
        // A plan has its buffers under their names.
        Arg::Buffer(_) => Value::Array(Vec::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// All that a plan says, without where it says it.
    fn said(plan: &Plan) -> String {
        let mut plan = Plan { source: None, ..plan.clone() };
        plan.modules.iter_mut().for_each(|module| module.1 = None);
        for buffer in plan.buffers.values_mut().chain(plan.variables.values_mut()) {
            (buffer.place, buffer.init_place) = (None, None);
            buffer.expect.iter_mut().for_each(|expect| expect.place = None);
        }
        plan.objects.values_mut().for_each(|object| object.place = None);
        for launch in &mut plan.launches {
            launch.place = None;
            launch.args.iter_mut().for_each(|arg| arg.1 = None);
        }
        format!("{plan:#?}")
    }

    fn no_arrays(name: &str, _: &Array) -> Result<PathBuf, Infallible> {
        panic!("{name} is no array")
    }

    /// Writes a plan and reads it again.
    fn again(plan: &Plan) -> Plan {
        let Ok(text) = plan.to_toml(no_arrays);
        let path = plan.directory.join("again.toml");
        Plan::parse(&path, text.clone().into_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    #[test]
    fn launch_files_are_the_same_when_written_again() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/launches");
        let mut count = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                let plan = Plan::read(&path).unwrap();
                assert_eq!(said(&again(&plan)), said(&plan), "{}", path.display());
                count += 1;
            }
        }
        assert!(count > 5, "{count}");
    }

    #[test]
    fn everything_that_a_launch_file_can_say_is_written() {
        let text = r#"
            modules = ["a.ptx", "dir/b.ptx"]
            [buffers."odd name"]
            type = "e4m3"
            shape = [2, 3]
            init = "random:7:-1..1"
            pointers = []
            [buffers.list]
            type = "i64"
            shape = 4
            init = [[1, 2], ["-3", 4]]
            expect = "cycle:1,2"
            abs = 0.5
            rel = 1e-3
            ulp = 3
            nan_bits = true
            pointers = [[0, "&x+16"], [8, "&list"]]
            read_only = [[0, 16], [24, 8]]
            save = "out.npy"
            print = true
            [buffers.x]
            init = "@x.npy"
            print = 0
            [variables.v]
            init = "randint:1:-8..8"
            expect = "seq:0:2"
            [textures.image]
            handle = 4294967297
            reference = "tex"
            shape = "2d"
            type = "u8"
            channels = 4
            array = true
            levels = [{ at = "&list", extent = [8, 4], pitch = 32 }, { at = "&list+8", extent = [4], slice = 9 }]
            sampler = { address = ["wrap", "border"], filter = "linear", normalized = true, bias = 0.5, border = [1, 2, 3, 4] }
            [textures.plain]
            shape = "linear"
            type = "f32"
            levels = [{ at = "&x", extent = [4] }]
            [surfaces.out]
            shape = "3d"
            type = "i16"
            levels = [{ at = "&x", extent = [4, 2, 2], pitch = 8, slice = 16 }]
            [[launch]]
            kernel = "k<int>(int*)"
            grid = [1, 2, 3]
            block = 32
            cluster = [1, 2, 1]
            shared = 1024
            cooperative = true
            args = [1, -2.5, "f32:1.5", "hex:01ff", "bytes:@s.bin", "&list+8", "odd name", "image", "out", ["hex:00", "&x"], "inf"]
            [[launch]]
            grid = 1
            block = 1
        "#;
        let plan = Plan::parse(Path::new("here/launch.toml"), text.as_bytes().to_vec()).unwrap();
        assert_eq!(said(&again(&plan)), said(&plan));
    }

    #[test]
    fn arrays_become_files() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("launch.toml");
        let text =
            "modules = []\n[buffers.a]\ntype = \"f32\"\nshape = [1]\n[[launch]]\ngrid = 1\nblock = 1\n";
        let mut plan = Plan::parse(&path, text.as_bytes().to_vec()).unwrap();
        let array = Array::of(&[1.5f32, f32::NAN]).reshape(&[2, 1]).unwrap();
        plan.buffers["a"].spec =
            super::super::BufferSpec { init: Some(Init::Array(array.clone())), ..Default::default() };
        let written = plan.to_toml(|name, array| {
            let file = PathBuf::from(format!("{name}.npy"));
            std::fs::write(folder.path().join(&file), array.file_bytes(&file)).map(|()| file)
        });
        let spec = &Plan::parse(&path, written.unwrap().into_bytes()).unwrap().buffers["a"].spec;
        let init = spec.init.as_ref().unwrap();
        let read = Array::make(init, spec.element, spec.shape.as_deref(), folder.path(), 0).unwrap();
        assert_eq!(read, array);
    }
}
