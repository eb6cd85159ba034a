#!/usr/bin/env python3
"""Runs the call scripts beside it on a real CUDA device and writes the codes that it gave into them.

usage: record.py TO [FILE...]   (python3, libcuda.so.1, libcudart.so.13, for some cases libcudart.so.12; fatbinary)

A case runs in a process of its own. A line that ends the process is marked `crash`, one that takes more than
8 s `hang`; the case then runs again without it. README.md describes the language.
"""
import concurrent.futures, ctypes, os, pathlib, re, select, signal, struct, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
# As fatbinary makes it of the kernels; a device takes no other.
FATBIN = None
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "u64": "Q", "i32": "i", "i64": "q", "f32": "f", "f64": "d"}


def split(line):
    """The words of a line: blanks separate, quotes group, `#` starts a comment."""
    return re.findall(r'"[^"]*"|[^\s"]+', re.sub(r'(^|\s)#.*$', "", line))


class Machine:
    def __init__(self, runtime):
        self.memory, self.kept, self.runtime = {}, [], runtime
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.cudart = None
        self.ptx = self.keep((HERE / "kernels.ptx").read_bytes() + b"\0")
        host = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(self.count)
        callback = ctypes.CFUNCTYPE(None, ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)(self.callback)
        size = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)(lambda threads: 0)
        self.functions = {"host": host, "callback": callback, "size": size}

    @staticmethod
    def count(at):
        word = ctypes.c_uint32.from_address(at)
        word.value += 1

    @staticmethod
    def callback(_stream, status, at):
        ctypes.c_uint32.from_address(at).value = status + 1

    def keep(self, data):
        buffer = ctypes.create_string_buffer(bytes(data), len(data))
        self.kept.append(buffer)
        return ctypes.addressof(buffer)

    def place(self, name, size=256):
        if name not in self.memory:
            buffer = (ctypes.c_uint64 * ((size + 7) // 8))()
            self.memory[name] = buffer
        return ctypes.addressof(self.memory[name])

    def value(self, word):
        if word.startswith('"'):
            return self.keep(word[1:-1].encode() + b"\0")
        match = re.fullmatch(r"([&$])([A-Za-z_]\w*)([+-]\w+)?", word)
        if match:
            kind, name, offset = match.groups()
            offset = int(offset, 0) if offset else 0
            at = self.place(name)
            return at + offset if kind == "&" else ctypes.c_uint64.from_address(at).value + offset
        match = re.fullmatch(r"loc\((\S+),(\S+)\)", word)
        if match:
            return int(match[1], 0) | (int(match[2], 0) & 0xffffffff) << 32
        if word == "@ptxfile":
            return self.keep(str(HERE / "kernels.ptx").encode() + b"\0")
        if word == "@ptx":
            return self.ptx
        if word == "@wrapper":
            image = FATBIN
            return self.keep(struct.pack("<IIQQ", 0x466243B1, 1, self.keep(image), 0))
        if word.startswith("@"):
            return ctypes.cast(self.functions[word[1:]], ctypes.c_void_p).value
        return int(word, 0) & (2**64 - 1)

    def call(self, name, words, result=ctypes.c_uint32):
        library = self.driver
        if not name.startswith("cu") or name.startswith("cuda"):
            if self.cudart is None:
                self.cudart = ctypes.CDLL(f"libcudart.so.{self.runtime}")
            library = self.cudart
        function = getattr(library, name)
        function.restype = result
        values = []
        for word in words:
            match = re.fullmatch(r"dim\((\S+),(\S+),(\S+)\)", word)
            if match:
                values += [int(match[1], 0) | int(match[2], 0) << 32, int(match[3], 0)]
            else:
                values.append(self.value(word))
        return function(*[ctypes.c_uint64(value) for value in values])

    def step(self, words):
        """Does what a line says; its result, if it has one."""
        head, rest = words[0], words[1:]
        if head == "let":
            ctypes.c_uint64.from_address(self.place(rest[0])).value = self.value(rest[1])
        elif head == "bytes":
            self.place(rest[0], int(rest[1], 0))
            if len(rest) > 2:
                ctypes.memset(self.place(rest[0]), int(rest[2], 0), int(rest[1], 0))
        elif head == "data":
            data, at = b"", 1
            while at < len(rest):
                form = FORMATS[rest[at]]
                data = data.ljust(-(-len(data) // struct.calcsize(form)) * struct.calcsize(form), b"\0")
                number = float(rest[at + 1]) if form in "fd" else self.value(rest[at + 1])
                if form not in "fd":
                    bits = 8 * struct.calcsize(form)
                    number &= 2**bits - 1
                    number -= 2**bits if form in "iq" and number >> (bits - 1) else 0
                data += struct.pack(form, number)
                at += 2
            start = self.place(rest[0], max(len(data), 256))
            ctypes.memmove(start, data, len(data))
        elif head == "show":
            form = FORMATS[rest[0]]
            data = ctypes.string_at(self.value(rest[1]), struct.calcsize(form))
            return struct.unpack(form, data)[0]
        elif head == "hex":
            return ctypes.string_at(self.value(rest[0]), int(rest[1], 0)).hex()
        elif head == "text":
            return ctypes.string_at(self.value(rest[0])).decode().replace(" ", "_")
        elif head == "isnull":
            return int(self.value(rest[0]) == 0)
        elif head == "minus":
            return (self.value(rest[0]) - self.value(rest[1]) + 2**63) % 2**64 - 2**63
        elif head == "mod":
            return self.value(rest[0]) % int(rest[1], 0)
        elif head == "copy":
            ctypes.c_uint64.from_address(self.place(rest[0])).value = ctypes.c_uint64.from_address(self.value(rest[1])).value
        elif head == "set32":
            ctypes.c_uint32.from_address(self.value(rest[0])).value = self.value(rest[1])
        elif head == "sleep":
            time.sleep(int(rest[0]) / 1000)
        elif head == "handle":
            result = self.call(rest[1], rest[2:], ctypes.c_uint64)
            ctypes.c_uint64.from_address(self.place(rest[0])).value = result
        elif head == "thread":
            result = []
            thread = threading.Thread(target=lambda: result.append(self.call(rest[0], rest[1:])))
            thread.start()
            thread.join()
            return result[0]
        elif head == "inside":
            result = []
            run = lambda *_: result.append(self.call(rest[0], rest[1:]))
            ways = {"cuLaunchHostFunc": (ctypes.c_uint64,), "cuStreamAddCallback": (ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint64)}
            for name, types in ways.items():
                function = ctypes.CFUNCTYPE(None, *types)(run)
                at = ctypes.c_uint64(ctypes.cast(function, ctypes.c_void_p).value)
                getattr(self.driver, name)(ctypes.c_uint64(0), at, ctypes.c_uint64(0), ctypes.c_uint64(0))
                self.driver.cuStreamSynchronize(ctypes.c_uint64(0))
            return result[0] if len(set(result)) == 1 else "/".join(map(str, result))
        else:
            return self.call(head, rest)
        return None


def run_case(lines, runtime, skip):
    """Runs the lines in a child; results by index, and the index of the line that ended it, with how."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        try:
            machine = Machine(runtime)
        except OSError:
            os._exit(1)
        for index, words in lines:
            if index in skip:
                continue
            os.write(write, f"{index} ?\n".encode())
            try:
                result = machine.step(words)
            except (AttributeError, OSError):
                result = "missing"
            if result is not None:
                os.write(write, f"{index} {result}\n".encode())
        os.write(write, b"end\n")
        os._exit(0)
    os.close(write)
    text, how = b"", "crash"
    while True:
        ready, _, _ = select.select([read], [], [], 8)
        if not ready:
            os.kill(child, signal.SIGKILL)
            how = "hang"
            break
        piece = os.read(read, 1 << 16)
        if not piece:
            break
        text += piece
    os.close(read)
    os.waitpid(child, 0)
    results, last = {}, None
    for line in text.decode().splitlines():
        if line == "end":
            return results, None, None
        index, result = line.split(" ", 1)
        last = int(index)
        if result != "?":
            results[last] = result
    return results, last, how


def record(lines, runtime):
    skip = {}
    results = {}
    for _ in range(12):
        results, last, how = run_case(lines, runtime, skip)
        if last is None:
            break
        skip[last] = how
    results.update(skip)
    return results


def main():
    global FATBIN
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "kernels.fatbin"
        kind = f"--image3=kind=ptx,sm=90,file={HERE / 'kernels.ptx'}"
        subprocess.run(["fatbinary", f"--create={path}", "-64", kind], check=True)
        FATBIN = path.read_bytes()
    to = pathlib.Path(sys.argv[1])
    files = [pathlib.Path(f) for f in sys.argv[2:]] or sorted(HERE.glob("*.calls"))
    jobs = concurrent.futures.ThreadPoolExecutor(12)
    preludes, prelude = {}, None
    for line in (HERE / "preludes.txt").read_text().splitlines():
        words = split(line)
        if words and words[0] == "prelude":
            prelude = preludes.setdefault(words[1], [])
        elif words:
            prelude.append((-1 - sum(map(len, preludes.values())), words))
    work = []
    for file in files:
        text = file.read_text().splitlines()
        cases = []
        for index, line in enumerate(text):
            words = split(line)
            if not words:
                continue
            if words[0] == "case":
                cases.append(([], 0 if "devices2" in words else 12 if "runtime12" in words else 13))
            elif words[0] == "with":
                cases[-1][0].extend(preludes[words[1]])
            else:
                cases[-1][0].append((index, words[: words.index("=")] if "=" in words else words))
        # Cases of several devices are not recorded.
        work.append((file, text, [jobs.submit(record, lines, runtime) for lines, runtime in cases if runtime]))
    for file, text, futures in work:
        results = {}
        for future in futures:
            results.update(future.result())
        for index, how in results.items():
            if index < 0 and how != "0":
                print("prelude", index, how)
        for index, line in enumerate(text):
            if index in results and " = " in line:
                line = re.sub(r" = \S+", lambda _: f" = {results[index]}", line, count=1)
            elif index in results and results[index] in ("crash", "hang"):
                line += f"  # {results[index]}"
            text[index] = line
        (to / file.name).write_text("\n".join(text) + "\n")
        print(file.name, len(results), flush=True)
    os._exit(0)


# Forking from a process with threads is safe here: the child starts its libraries itself.
main()
