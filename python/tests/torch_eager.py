"""A script that knows nothing of simulated devices: networks on the device beside the same ones on the CPU."""

import copy
from concurrent.futures import ThreadPoolExecutor

import torch
from torch import nn
from torch._inductor import metrics
from torch.nn import attention
from triton._C.libtriton import nvidia

torch.manual_seed(0)
done = 0


def same(name, found, expected, tolerance=1e-5):
    global done
    assert found.is_cuda, name
    torch.testing.assert_close(found.cpu(), expected, rtol=tolerance, atol=tolerance, msg=lambda text: f"{name}: {text}")
    done += 1


def trains_alike(name, model, inputs, output=lambda result: result):
    """Outputs and weights after some steps of an optimiser."""
    there = copy.deepcopy(model).to("cuda")
    steps = [torch.optim.Adam(m.parameters(), lr=0.01) for m in (model, there)]
    for _ in range(3):
        for m, step, x in ((model, steps[0], inputs), (there, steps[1], inputs.to("cuda"))):
            step.zero_grad()
            output(m(x)).square().mean().backward()
            step.step()
    same(name, output(there(inputs.to("cuda"))), output(model(inputs)), 1e-4)
    for mine, theirs in zip(there.state_dict().values(), model.state_dict().values()):
        same(name, mine, theirs, 1e-4)


a, b = torch.randn(8, 5), torch.randn(8, 5)
c = torch.randn(2, 3, 5, 2)
there_a, there_b = a.cuda(), b.cuda()
same("sum", there_a + there_b, a + b)
same("product of a transposed one", there_a.t() @ there_b, a.t() @ b)
same("made there", torch.arange(10, device="cuda") * 2, torch.arange(10) * 2)
same("another type on the way", a.to("cuda", torch.float64), a.double())
same("a mask", there_a[there_a > 0], a[a > 0])
same("numbers", there_a[torch.tensor([1, 3]).cuda()], a[[1, 3]])
same("out=", torch.add(there_a, there_b, out=torch.empty(8, 5, device="cuda")), a + b)
whole = torch.tensor([0, 3, 3, 7, 9], dtype=torch.int32)
same("a histogram of whole numbers", torch.histc(whole.cuda(), 4, 0, 7), torch.histc(whole.float(), 4, 0, 7).int())
same("complex numbers", torch.fft.fft(there_a).conj() * 2, torch.fft.fft(a).conj() * 2)
same("into a transposed one", torch.empty(5, 8, device="cuda").t().copy_(there_a), a)
view = there_a.clone()
view[2:4].mul_(3)
expected = a.clone()
expected[2:4] *= 3
same("a view that is written", view, expected)
assert "device='cuda:0'" in repr(there_a) and str(a[0, 0].item())[:4] in repr(there_a)
assert abs(there_a.sum().item() - a.sum().item()) < 1e-4

trains_alike("linear", nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 3)), a)
convolution = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
trains_alike("convolution", convolution, torch.randn(2, 3, 8, 8))
trains_alike("attention", nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, dropout=0), torch.randn(2, 7, 16))
trains_alike("LSTM", nn.LSTM(5, 7), torch.randn(3, 2, 5), lambda result: result[0])
trains_alike("GRU", nn.GRU(5, 7), torch.randn(3, 2, 5), lambda result: result[0])


def trains_alike_in(kind, name, model, *inputs):
    """Output and gradients in a type of 16 bits, beside those of wider numbers."""
    there = copy.deepcopy(model).to("cuda", kind) if isinstance(model, nn.Module) else model
    inputs_there = [x.to("cuda", kind).requires_grad_() for x in inputs]
    inputs = [x.clone().requires_grad_() for x in inputs]
    results = there(*inputs_there), model(*inputs)
    for result in results:
        result.float().square().sum().backward()
    same(name, results[0].float(), results[1], 0.05)
    for mine, theirs in zip(inputs_there, inputs):
        same(name, mine.grad.float(), theirs.grad, 0.05)


def sums_alike_in(kind, name, function, *inputs):
    """Output and gradients in a type of 16 bits, as exact as that type is, beside those of the same numbers in a wide one."""
    there = [x.to("cuda", kind).requires_grad_() for x in inputs]
    exact = [x.detach().cpu().double().requires_grad_() for x in there]
    results = function(*there), function(*exact)
    weights = (torch.rand(results[1].shape) / 16).to(kind)
    results[0].backward(weights.cuda())
    results[1].backward(weights.double())
    pairs = [results, *((mine.grad, theirs.grad) for mine, theirs in zip(there, exact))]
    for mine, theirs in pairs:
        largest = theirs.abs().max().item()
        same(name, mine.double(), theirs, largest * torch.finfo(kind).eps)


halves = torch.randn(2, 4, 8, 6)
for kind in (torch.float16, torch.bfloat16):
    # A softmax of one type into another, and what the CPU computes of no halves.
    trains_alike_in(kind, "RMS norm", nn.RMSNorm(6), torch.randn(3, 6))
    trains_alike_in(kind, "log_softmax", lambda x: nn.functional.log_softmax(x, 1, dtype=torch.float), a)
    trains_alike_in(kind, "avg_pool3d", nn.AvgPool3d(2), torch.randn(1, 2, 4, 4, 4))
    for backend in (attention.SDPBackend.FLASH_ATTENTION, attention.SDPBackend.EFFICIENT_ATTENTION):
        chosen = attention.sdpa_kernel([backend, attention.SDPBackend.MATH])
        of_three = chosen(nn.functional.scaled_dot_product_attention)
        trains_alike_in(kind, backend.name, of_three, torch.randn_like(halves), halves, torch.randn_like(halves))
# As a device does it: on floats, numbers beside tensors among them, and rounded once.
rounded_once = {
    "a number added": lambda x: x + 0.3,
    "a number subtracted": lambda x: x.clone().sub_(0.7),
    "subtracted from a number": lambda x: 0.3 - x,
    "a share added": lambda x: x.add(x.flip(0), alpha=0.1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "rsqrt": lambda x: x.abs().rsqrt(),
    "a share of a quotient": lambda x: torch.addcdiv(x, x, x.flip(0), value=0.1),
    "nll_loss": lambda x: nn.functional.nll_loss(x.flatten(0, -2), torch.zeros(64, dtype=torch.long, device=x.device)),
    "a transposed convolution": lambda x: nn.functional.conv_transpose2d(x, x[:, :, :3, :3].transpose(0, 1)),
}
for kind in (torch.float16, torch.bfloat16):
    narrow = halves.to(kind)
    for name, function in rounded_once.items():
        same(name, function(narrow.cuda()), function(narrow.float()).to(kind), 0)
biased = [x.requires_grad_() for x in (torch.randn(2, 4, 8, 6), torch.randn(2, 4, 8, 8))]
biased_there = [x.detach().cuda().requires_grad_() for x in biased]
for x, bias in (biased, biased_there):
    with attention.sdpa_kernel([attention.SDPBackend.EFFICIENT_ATTENTION, attention.SDPBackend.MATH]):
        nn.functional.scaled_dot_product_attention(x, x, x, bias).square().sum().backward()
for mine, theirs in zip(biased_there, biased):
    same("a bias of attention", mine.grad, theirs.grad, 1e-4)
    # Long sums of narrow numbers, which a GPU makes of wider ones.
    weight, bias = torch.rand(64), torch.rand(64)
    of_rows = lambda x, weight, bias: nn.functional.layer_norm(x, (64,), weight, bias)
    sums_alike_in(kind, "gradients of a layer norm", of_rows, torch.randn(1500, 64), weight, bias)
    numbers = torch.arange(3000) % 7
    sums_alike_in(kind, "of an embedding", lambda x: nn.functional.embedding(numbers.to(x.device), x), torch.rand(7, 8))
    sums_alike_in(kind, "of chosen rows", lambda x: x[numbers.to(x.device)], torch.rand(7, 8))
    sums_alike_in(kind, "a product of many", lambda x: x.prod(0), 1 + torch.rand(600, 4) / 500)
    places = torch.rand(2, 5, 5, 2) * 1.8 - 0.9
    sums_alike_in(kind, "a grid", nn.functional.grid_sample, torch.rand(2, 3, 40, 40), places)
# Mistakes stay ones.
mistakes = {
    "a product of halves and floats": lambda: there_a.half() @ there_b.t(),
    "a tensor that was left behind": lambda: there_a + b,
    "inputs that were left behind": lambda: nn.Linear(5, 3).cuda()(a),
    "labels that were left behind": lambda: nn.functional.cross_entropy(there_a, torch.arange(8) % 5),
}
for name, mistake in mistakes.items():
    try:
        mistake()
    except RuntimeError:
        continue
    raise AssertionError(name)
same("numbers may lie anywhere", there_a * torch.tensor(2.0) + there_a[torch.arange(8)], a * 3)
def curved(x):
    return (x.sin() * x**2).sum()


same("second derivatives", torch.func.hessian(curved)(there_a[0]), torch.func.hessian(curved)(a[0]))
same("zeros of a part", torch.ones(4, 6, device="cuda")[1:3].zero_(), torch.zeros(2, 6))


@torch.library.custom_op("warpgrind_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return x * 2


same("an operator in Python", twice(there_a), a * 2)
same("one of others", torch.ops.prims.mul(there_a, there_b), a * b)


def of_machine_code(x):
    raise RuntimeError("CUDA error: no kernel image is available for execution on the device")


# An operator as torchvision's.
library = torch.library.Library("warpgrind_test", "FRAGMENT")
library.define("of_machine_code(Tensor x) -> Tensor")
library.impl("of_machine_code", lambda x: x - 1, "CPU")
library.impl("of_machine_code", of_machine_code, "CUDA")
same("machine code", torch.ops.warpgrind_test.of_machine_code(there_a), a - 1)
# As those that FSDP shards and gathers with.
library.define("for_all_devices(Tensor x) -> Tensor")
library.impl("for_all_devices", lambda x: x + 1, "CompositeExplicitAutograd")
same("a kernel for all devices", torch.ops.warpgrind_test.for_all_devices(there_a), a + 1)


def of_inference(x):
    with torch.inference_mode():
        return nn.functional.scaled_dot_product_attention(x, x, x, is_causal=True).transpose(1, 2).reshape(2, 5, 6)


same("inference", of_inference(c.cuda()), of_inference(c))
same("a copy in another order", c.cuda().to(memory_format=torch.channels_last).clone(), c)
same("squeezed in place", torch.ones(1, 3, device="cuda").squeeze_(0) * 2, torch.full((3,), 2.0))
same("quantile", torch.quantile(there_a, 0.3), torch.quantile(a, 0.3))
sparse = a.relu().to_sparse()
same("sparse", torch.sparse.mm(sparse.cuda(), there_b.t()), torch.sparse.mm(sparse, b.t()))
def gradient_of_weights(matrix, weights):
    weights = weights.clone().requires_grad_()
    return torch.autograd.grad(torch.mm(matrix, weights).square().sum(), weights)[0]


same("gradient of a sparse product", gradient_of_weights(sparse.cuda(), there_b[:5]), gradient_of_weights(sparse, b[:5]))
same("sparse, transposed", sparse.cuda().t().to_dense(), sparse.t().to_dense())
same("sparse, transposed in place", sparse.cuda().transpose_(0, 1).to_dense(), sparse.t().to_dense())
same("sparse, a row", sparse.cuda().select(0, 1).to_dense(), sparse.to_dense()[1])
same("compressed", there_a.relu().to_sparse_csr() @ there_b.t(), a.relu() @ b.t())
jagged = torch.nested.nested_tensor([there_a[:3], there_a[:5]], layout=torch.jagged)
same("jagged", jagged.sin().values(), torch.cat((a[:3], a[:5])).sin())
packed = nn.utils.rnn.pack_padded_sequence(c.cuda()[0], torch.tensor([3, 2, 2, 1, 1]), enforce_sorted=True)
assert not packed.batch_sizes.is_cuda
labels, lengths = torch.tensor([[1, 2]]), (torch.tensor([8]), torch.tensor([2]))
losses = nn.functional.ctc_loss(there_a[:, None].log_softmax(2), labels.cuda(), *lengths)
same("ctc", losses, nn.functional.ctc_loss(a[:, None].log_softmax(2), labels, *lengths))

# Random numbers are those of a device's generator: its seed, its state, and nothing of the CPU's.
drawn = []
for _ in range(2):
    torch.manual_seed(5)
    drawn.append((torch.rand(4, device="cuda"), torch.rand(4, device="cuda"), torch.rand(2)))
assert all(map(torch.equal, *drawn)) and not torch.equal(*drawn[0][:2])
torch.manual_seed(5)
assert torch.equal(torch.rand(2), drawn[0][2])
state = torch.cuda.get_rng_state()
first = nn.functional.dropout(torch.ones(50, device="cuda"))
torch.cuda.set_rng_state(state)
same("dropout", nn.functional.dropout(torch.ones(50, device="cuda")), first.cpu())
generator = torch.Generator("cuda").manual_seed(9)
first = torch.randn(4, device="cuda", generator=generator)
same("a generator", torch.randn(4, device="cuda", generator=generator.manual_seed(9)), first.cpu())

# Graphs: what was captured is computed each time that they run, on what is there then.
still = torch.zeros(8, 5, device="cuda")
model, optimizer_of = nn.Linear(5, 1).cuda(), lambda m: torch.optim.SGD(m.parameters(), lr=0.1)
expected = copy.deepcopy(model).cpu()
steps = [(model, optimizer_of(model), still), (expected, optimizer_of(expected), a)]


def trains(m, optimizer, x):
    loss = m(x).square().mean()
    loss.backward()
    optimizer.step()
    return loss


graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    of_graph = trains(*steps[0])
    dropped = nn.functional.dropout(torch.ones_like(still))
still.copy_(there_a)
for _ in range(3):
    model.zero_grad(set_to_none=False)
    expected.zero_grad()
    graph.replay()
    same("a step of a graph", of_graph, trains(*steps[1]))
    same("its weights", model.weight.detach(), expected.weight.detach())
before = dropped.clone()
graph.replay()
assert not torch.equal(before, dropped) and set(dropped.unique().tolist()) == {0.0, 2.0}

# Tests put functions in the place of PyTorch's that fill fresh memory.
own_empty = torch.empty
torch.empty = lambda *args, **kwargs: own_empty(*args, **kwargs).fill_(0)
same("fresh memory that a test fills", there_a + torch.empty(5, device="cuda"), a)
torch.empty = own_empty
# PyTorch does, too, where it computes the same each time.
torch.use_deterministic_algorithms(True)
same("computed alike each time", (there_a * 2).t().contiguous(), (a * 2).t())
for kind in (torch.float32, torch.float8_e5m2, torch.complex64, torch.int16, torch.bool):
    for fresh, expected in (
        (torch.empty(3, dtype=kind, device="cuda"), torch.empty(3, dtype=kind)),
        (there_a.new_empty((2, 2), dtype=kind), a.new_empty((2, 2), dtype=kind)),
    ):
        torch.testing.assert_close(fresh.cpu().to(torch.complex64), expected.to(torch.complex64), equal_nan=True)
        assert kind != torch.float32 or expected.isnan().all()
# What makes tensors of numbers asks no mode.
same("made of numbers", torch.tensor([1.5, 2.5], device="cuda") + there_a.new_tensor(1.0), torch.tensor([2.5, 3.5]))
torch.use_deterministic_algorithms(False)

# What Triton has cuBLAS compute, by Triton's own class.
blas = nvidia.cublas.CublasLt(torch.empty(0, dtype=torch.int8, device="cuda"))
left, right = torch.randn(16, 32).half(), torch.randn(24, 32).half()
product, sum_of_products = (torch.ones(16, 24, dtype=torch.half, device="cuda") for _ in range(2))
blas.matmul(left.cuda(), right.cuda(), product)
same("a product of Triton's", product, (left.float() @ right.float().t()).half())
blas.gemm(left.cuda(), right.cuda(), product, sum_of_products, 0.5, 2.0)
same("a product and a sum of Triton's", sum_of_products.float(), 2.5 * product.cpu().float(), 1e-2)
ends = torch.tensor([[400.0] * 16, [-400.0] * 16]).to(torch.float8_e4m3fn)
narrow = torch.empty(2, 2, dtype=torch.float8_e4m3fn, device="cuda")
blas.matmul(ends.cuda(), ends.cuda(), narrow)
same("a product beyond floats of eight bits", narrow.float(), torch.tensor([[448.0, -448.0], [-448.0, 448.0]]))

with ThreadPoolExecutor(2) as pool:
    for number, result in enumerate(pool.map(lambda factor: there_a * factor, range(3))):
        same("another thread", result, a * number)


def compiled(name, function, *arguments, tolerance=1e-5):
    """What is compiled is a kernel, which runs on the simulated device."""
    metrics.reset()
    found = torch.compile(function)(*(argument.cuda() for argument in arguments))
    assert metrics.generated_kernel_count > 0, name
    same(name, found, function(*arguments), tolerance)


compiled("fused", lambda x: nn.functional.gelu(x * 2) + 1, a)
compiled("reductions", lambda x: (x.softmax(-1) * x.cumsum(-1)).sum(-1), a)
compiled("a product in between", lambda x, y: (x.sin() @ y.t()).relu() + 1, a, b)
compiled("constants", lambda x: nn.functional.batch_norm(x, x.mean(0), x.var(0)) * torch.arange(5, device=x.device), a)
compiled("a constant of the device", lambda x: x * (torch.tensor(2.0, device=x.device) + 1), a)
layers = nn.Sequential(nn.Conv2d(2, 4, 3), nn.ReLU(), nn.Conv2d(4, 3, 1)).to(memory_format=torch.channels_last)
image = torch.randn(1, 2, 6, 6).to(memory_format=torch.channels_last)
there_layers = copy.deepcopy(layers).cuda()
found = torch.compile(there_layers)(image.cuda())
same("channels last, compiled", found, layers(image))
assert found.is_contiguous(memory_format=torch.channels_last)
linear = nn.Linear(5, 4)
there_linear = copy.deepcopy(linear).cuda()
as_graphs = torch.compile(lambda x: there_linear(x).sin(), mode="reduce-overhead")
for _ in range(3):
    torch.compiler.cudagraph_mark_step_begin()
    there_linear.zero_grad()
    as_graphs(there_a).sum().backward()
linear(a).sin().sum().backward()
same("graphs of training steps", there_linear.weight.grad, linear.weight.grad)
print(done, "as expected")
