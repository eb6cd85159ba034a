"""PyTorch's eager operators under ``warpgrind exec``."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "warpgrind", "exec", "--memory", "8G", "--", sys.executable, "-W", "ignore"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=600)


def test_a_script_that_knows_nothing_of_it() -> None:
    done = run("-m", "warpgrind.torch", str(Path(__file__).with_name("torch_eager.py")))
    assert done.returncode == 0 and done.stdout.endswith("as expected\n"), done.stdout + done.stderr


def test_a_module_with_its_arguments() -> None:
    statement = "print((torch.ones(2, device='cuda') + 1).cpu().tolist())"
    done = run("-m", "warpgrind.torch", "-m", "timeit", "-n1", "-r1", "-s", "import torch", statement)
    assert done.stdout.startswith("[2.0, 2.0]\n"), done.stdout + done.stderr


def test_around_code_and_for_a_process() -> None:
    done = run(
        "-c",
        "import torch, warpgrind.torch\n"
        "with warpgrind.torch.eager():\n"
        "    print((torch.ones(2, device='cuda') + 1).cpu().tolist())\n"
        "try:\n"
        "    torch.ones(2, device='cuda') + 1\n"
        "except Exception as error:\n"
        "    print('no kernel image' in str(error))\n"
        "end = warpgrind.torch.enable()\n"
        "print((torch.ones(2, device='cuda') + 2).sum().item(), torch.backends.cudnn.enabled)\n"
        "end()\n"
        "print(torch.backends.cudnn.enabled)\n",
    )
    assert done.stdout.splitlines() == ["[2.0, 2.0]", "True", "6.0 False", "True"], done.stdout + done.stderr


def test_processes_that_a_script_starts_are_in_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, torch.multiprocessing as processes\n"
        "def adds(queue, done):\n"
        "    queue.get().add_(5)\n"
        "    torch.cuda.synchronize()\n"
        "    done.set()\n"
        "if __name__ == '__main__':\n"
        "    context = processes.get_context('spawn')\n"
        "    queue, done = context.Queue(), context.Event()\n"
        "    process = context.Process(target=adds, args=(queue, done))\n"
        "    process.start()\n"
        "    shared = torch.arange(3.0, device='cuda')\n"
        "    queue.put(shared)\n"
        "    done.wait(60)\n"
        "    print(shared.tolist())\n"
    )
    done = run("-m", "warpgrind.torch", str(script))
    assert done.stdout == "[5.0, 6.0, 7.0]\n", done.stdout + done.stderr


def test_processes_of_torchrun_are_in_it(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import torch, torch.distributed as ranks\n"
        "ranks.init_process_group('gloo')\n"
        "torch.cuda.set_device(ranks.get_rank())\n"
        "found = torch.full((2,), ranks.get_rank() + 1.0, device='cuda') * 2\n"
        "ranks.all_reduce(found)\n"
        "print(found.tolist())\n"
        "ranks.destroy_process_group()\n"
    )
    exec_two = [sys.executable, "-m", "warpgrind", "exec", "--memory", "4G", "--devices", "2", "--"]
    each = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "warpgrind.torch"]
    done = subprocess.run([*exec_two, *each, str(script)], capture_output=True, text=True, timeout=600)
    assert done.stdout.splitlines() == ["[6.0, 6.0]"] * 2, done.stdout + done.stderr


def test_what_only_gpus_have_is_named() -> None:
    done = run(
        "-c",
        "import torch, warpgrind.torch\n"
        "with warpgrind.torch.eager():\n"
        "    torch.ops.aten._cslt_compress(torch.ones(16, 16, device='cuda', dtype=torch.half))\n",
    )
    assert done.returncode == 1
    assert "NotImplementedError: warpgrind: aten._cslt_compress.default" in done.stderr
    done = run(
        "-c",
        "import torch, warpgrind.torch\n"
        "with warpgrind.torch.eager():\n"
        "    torch.quantize_per_tensor(torch.ones(8, device='cuda'), 0.1, 2, torch.qint8)\n",
    )
    assert done.returncode == 1
    assert "NotImplementedError: warpgrind: eager operators on quantized tensors of a device" in done.stderr


def test_a_script_is_wanted() -> None:
    assert "usage: python -m warpgrind.torch [-m MODULE | SCRIPT]" in run("-m", "warpgrind.torch").stderr
