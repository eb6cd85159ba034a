"""A script that knows nothing of simulated devices: networks on the device beside the same ones on the CPU."""

import copy

import torch
from torch import nn

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
    for mine, theirs in zip(there.parameters(), model.parameters()):
        same(name, mine.detach(), theirs.detach(), 1e-4)


a, b = torch.randn(8, 5), torch.randn(8, 5)
there_a, there_b = a.cuda(), b.cuda()
same("sum", there_a + there_b, a + b)
same("product of a transposed one", there_a.t() @ there_b, a.t() @ b)
same("made there", torch.arange(10, device="cuda") * 2, torch.arange(10) * 2)
same("another type on the way", a.to("cuda", torch.float64), a.double())
same("a mask", there_a[there_a > 0], a[a > 0])
same("numbers", there_a[torch.tensor([1, 3]).cuda()], a[[1, 3]])
same("out=", torch.add(there_a, there_b, out=torch.empty(8, 5, device="cuda")), a + b)
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


@torch.compile
def fused(x):
    return nn.functional.gelu(x * 2) + 1


# This one is a kernel, which runs on the simulated device.
same("compiled", fused(there_a), nn.functional.gelu(a * 2) + 1)
print(done, "as expected")
