"""PyTorch: the device, tensors to and from it, streams and events, Triton kernels on tensors, torch.compile."""
import torch
import triton
import triton.language as tl

assert torch.cuda.is_available() and torch.cuda.device_count() == 1
assert torch.cuda.get_device_name(0) == "NVIDIA H200" and torch.cuda.get_device_capability(0) == (9, 0)

host = torch.arange(3000, dtype=torch.float32).reshape(30, 100)
there = host.to("cuda")
assert there.is_cuda and torch.equal(there.cpu(), host)
pinned = host.pin_memory()
stream, event = torch.cuda.Stream(), torch.cuda.Event()
with torch.cuda.stream(stream):
    copy = pinned.to("cuda", non_blocking=True)
    event.record()
event.synchronize()
assert torch.equal(copy.cpu(), host)
there.zero_()
assert not there.cpu().any()


@triton.jit
def axpy(x, y, out, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = i < n
    tl.store(out + i, a * tl.load(x + i, mask=mask) + tl.load(y + i, mask=mask), mask=mask)


x, y = torch.rand(5000), torch.rand(5000)
out = torch.empty(5000, device="cuda")
axpy[(triton.cdiv(5000, 1024),)](x.cuda(), y.cuda(), out, 3.0, 5000, BLOCK=1024)
assert torch.allclose(out.cpu(), 3 * x + y)


@torch.compile
def normal(x, weight):
    x = (x - x.mean(dim=1, keepdim=True)) / (x.var(dim=1, keepdim=True) + 1e-5).sqrt()
    return torch.nn.functional.gelu(x * weight)


rows, weight = torch.rand(37, 300), torch.rand(300)
expected = torch._dynamo.disable(normal._torchdynamo_orig_callable)(rows, weight)
assert torch.allclose(normal(rows.cuda(), weight.cuda()).cpu(), expected, atol=1e-5)
print("torch", torch.__version__, "as expected")
