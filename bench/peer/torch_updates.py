"""The updates of internal/nn/bench_test.go in PyTorch, one thread, on the CPU.

Prints a line "NAME<tab>updates per second" for each, the names being those of the
Go benchmarks. Networks, batches, losses and optimiser settings are the same; data
are random and stay the same, there is no replay on either side. Where PyTorch has
several ways to do the same (optimisers, traced modules) the fastest one counts.
"""

import os
import sys
import time

try:
    import torch
except ImportError:
    sys.exit("torch is missing: apt-get install python3-torch, or name a Python that has it: PYTHON=... bench/peer/run.sh")

from torch import nn
from torch.nn import functional as F

SECONDS = 1.0


def blas():
    """Which library multiplies matrices: Debian's default one is slow."""
    try:
        with open("/proc/self/maps") as maps:
            paths = {os.path.realpath(line.split()[-1]) for line in maps if "blas" in line or "mkl" in line}
    except OSError:
        return "an unknown BLAS"
    return ", ".join(sorted(os.path.basename(p) for p in paths)) or "its own BLAS"


def rate(step):
    """Calls per second over about SECONDS."""
    for _ in range(20):
        step()
    done, began = 0, time.perf_counter()
    while True:
        for _ in range(20):
            step()
        done += 20
        elapsed = time.perf_counter() - began
        if elapsed >= SECONDS:
            return done / elapsed


def fastest(make):
    """The best rate over the kinds of Adam that this PyTorch has."""
    best = 0.0
    for options in ({"foreach": False}, {"foreach": True}, {"fused": True}):
        try:
            best = max(best, rate(make(options)))
        except (RuntimeError, TypeError, ValueError):
            continue  # this version does not have it on the CPU
    return best


def mlp(inputs, hidden, outputs, *last):
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, outputs), *last)


def copy_of(net, make):
    twin = make()
    twin.load_state_dict(net.state_dict())
    return twin.requires_grad_(False)


def dqn(options, batch=64):
    def make():
        return mlp(8, 64, 3)

    net = make()
    target = copy_of(net, make)
    adam = torch.optim.Adam(net.parameters(), lr=1e-4, **options)
    states, following, rewards = torch.randn(batch, 8), torch.randn(batch, 8), torch.randn(batch)
    actions = torch.randint(3, (batch, 1))

    def step():
        with torch.no_grad():
            goals = rewards + 0.99 * target(following).max(1).values
        loss = F.smooth_l1_loss(net(states).gather(1, actions).squeeze(1), goals)
        adam.zero_grad(set_to_none=True)
        loss.backward()
        adam.step()

    return step


def td3(hidden, batch=256):
    def make_actor():
        return mlp(8, hidden, 3, nn.Tanh())

    def make_critic():
        return mlp(11, hidden, 1)

    def make(options):
        actor, critics = make_actor(), [make_critic(), make_critic()]
        actor_target, critic_targets = copy_of(actor, make_actor), [copy_of(c, make_critic) for c in critics]
        actor_adam = torch.optim.Adam(actor.parameters(), lr=3e-4, **options)
        critic_adam = torch.optim.Adam([p for c in critics for p in c.parameters()], lr=3e-4, **options)
        states, following = torch.randn(batch, 8), torch.randn(batch, 8)
        actions, rewards = torch.rand(batch, 3) * 2 - 1, torch.randn(batch, 1)
        followers = [p for net in [actor_target, *critic_targets] for p in net.parameters()]
        leaders = [p for net in [actor, *critics] for p in net.parameters()]
        count = [0]

        def step():
            with torch.no_grad():
                x = torch.cat([following, actor_target(following)], 1)
                goals = rewards + 0.99 * torch.min(critic_targets[0](x), critic_targets[1](x))
            x = torch.cat([states, actions], 1)
            loss = F.mse_loss(critics[0](x), goals) + F.mse_loss(critics[1](x), goals)
            critic_adam.zero_grad(set_to_none=True)
            loss.backward()
            critic_adam.step()
            count[0] += 1
            if count[0] % 2:
                return
            for p in critics[0].parameters():  # only the way to the actions is needed
                p.requires_grad_(False)
            loss = -critics[0](torch.cat([states, actor(states)], 1)).mean()
            actor_adam.zero_grad(set_to_none=True)
            loss.backward()
            actor_adam.step()
            for p in critics[0].parameters():
                p.requires_grad_(True)
            with torch.no_grad():
                torch._foreach_mul_(followers, 1 - 0.005)
                torch._foreach_add_(followers, leaders, alpha=0.005)

        return step

    return make


class Forecaster(nn.Module):
    def __init__(self, features, hidden, outputs):
        super().__init__()
        self.gru, self.out = nn.GRU(features, hidden), nn.Linear(hidden, outputs)

    def forward(self, window):
        return self.out(self.gru(window)[0][-1])


def gru(options, batch=32, steps=24, hidden=32, features=4):
    net = Forecaster(features, hidden, 15)
    adam = torch.optim.Adam(net.parameters(), **options)
    window, target = torch.randn(steps, batch, features), torch.randn(batch, 5, 1)
    levels = torch.tensor([0.1, 0.5, 0.9])

    def step():
        error = target - net(window).view(batch, 5, 3)
        loss = torch.max(levels * error, (levels - 1) * error).mean()
        adam.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1)
        adam.step()

    return step


def inference(inputs, hidden, outputs, batch=1):
    net, x = mlp(inputs, hidden, outputs).eval(), torch.randn(batch, inputs)
    with torch.inference_mode():
        eager = rate(lambda: net(x))
        traced = torch.jit.freeze(torch.jit.trace(net, x))
        return max(eager, rate(lambda: traced(x)))


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    # Dead units let Adam's moments fade into subnormals, which are slow; ours
    # drops them too.
    torch.set_flush_denormal(True)
    print(f"# PyTorch {torch.__version__}, Python {sys.version.split()[0]}, {torch.get_num_threads()} thread, {blas()}")
    for name, measured in {
        "DQNUpdate": lambda: fastest(dqn),
        "TD3Update/64x64": lambda: fastest(td3(64)),
        "TD3Update/256x256": lambda: fastest(td3(256)),
        "GRUUpdate": lambda: fastest(gru),
        "Inference/8-64-64-3/one": lambda: inference(8, 64, 3),
        "Inference/8-64-64-3/256": lambda: inference(8, 64, 3, 256),
    }.items():
        print(f"{name}\t{measured():.1f}", flush=True)


main()
