"""Write a residual network as PyTorch exports it: a block with its input as shortcut, one with a convolution as shortcut, a
product, branches that are concatenated, and a sum of what a silu, a gelu and nothing make of one result.

    /usr/bin/python3 peers/torch_onnx.py FILE.onnx

Debian's python3-torch; make_onnx_fixtures.py calls it. The weights are multiples of 1/16, which take few bytes in an archive."""
import sys

import torch


class Block(torch.nn.Module):
    def __init__(self, inputs: int, filters: int, stride: int) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(inputs, filters, 3, stride, 1)
        self.second = torch.nn.Conv2d(filters, filters, 3, 1, 1, bias=False)
        self.shortcut = torch.nn.Conv2d(inputs, filters, 1, stride) if stride > 1 else torch.nn.Identity()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.relu(self.shortcut(x) + self.second(torch.relu(self.first(x))))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = torch.nn.Sequential(Block(2, 2, 1), Block(2, 3, 2))
        self.wide, self.pool = torch.nn.Conv2d(3, 3, 3, 1, 1), torch.nn.MaxPool2d(3, 1, 1)
        self.left, self.right, self.last = torch.nn.Linear(6, 4), torch.nn.Linear(6, 4), torch.nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.blocks(x)
        x = torch.cat([self.wide(x), self.pool(x) * x], 1).mean((2, 3))
        left = self.left(x)
        return self.last(left + torch.nn.functional.silu(self.right(x)) + torch.nn.functional.gelu(left))


def main() -> None:
    torch.manual_seed(1)
    net = Net().eval()
    with torch.no_grad():
        for p in net.parameters():
            p.copy_(torch.round(torch.empty_like(p).uniform_(-0.7, 0.9) * 16) / 16)
    torch.onnx.export(net, torch.zeros(2, 2, 6, 5), sys.argv[1], input_names=["x"], dynamic_axes={"x": {0: "n"}}, opset_version=13)


main()
