"""Computes with PyTorch what trainer/ppo has to equal; test/trainer/ppo/reference.test.ts compares.

    /usr/bin/python3 test/reference/ppo_reference.py > test/reference/ppo-reference.json

Needs PyTorch (Debian: python3-torch), 1.13 or later. Everything is float64 here, from inputs that are float32 exactly:
weights, observations and rewards are multiples of 1/1024, drawn by Python's Mersenne Twister, the same on any machine; what
the old policy said of the observations is rounded to float32. Outputs have 12 significant digits.

Each of three policies (the text network, the features MLP, the features GRU) gets a batch of five episodes, two of them
terminated, one truncated, one unfinished, one terminated after a single step. From it come advantages, losses and gradients
under several combinations of options ("cases"), and weights after 1 and 10 steps of Adam ("trainings").
"""

import json
import math
import random
import sys

import torch
from torch.distributions import Categorical
from torch.nn import functional

torch.set_default_dtype(torch.float64)
torch.set_num_threads(1)

TYPES = 6
ARGUMENT_TYPES = 3
ILLEGAL = -1e9
LOWEST = -50.0
CLIP = 0.2
GAMMA = 0.97
LAMBDA = 0.9
ENDINGS = [(7, "terminated"), (6, "truncated"), (5, "unfinished"), (1, "terminated"), (6, "terminated")]

TEXT = {
    "kind": "text",
    "vocabulary": 64,
    "embedding": 4,
    "hidden": 5,
    "sentences": 3,
    "taskSentences": 1,
    "tokens": 4,
    "argumentSlots": {"read": 2, "select_tool": 2, "input": 3},
}
FEATURES = {"kind": "features", "features": 5, "window": 3, "hidden": 6, "argumentSlots": {"read": 0, "select_tool": 0, "input": 4}}
POLICIES = {"text": TEXT, "mlp": {**FEATURES, "network": "mlp"}, "gru": {**FEATURES, "network": "gru"}}

# Seeds under which every clip is reached at least twice, and no mean is next to 0, where float32 has few digits left: the
# advantages of a batch add up to 0, and so nearly may the policy loss.
SEEDS = {"text": 23, "mlp": 22, "gru": 15}
SMALLEST_MEAN = 0.01

PLAIN = {"advantages": "batch", "valueClip": 0, "dualClip": 0, "logRatioClamp": 10}
CASES = {
    "plain": (PLAIN, {"kl": 0.0, "entropy": 0.01, "value": 0.5}),
    "kl": (PLAIN, {"kl": 0.3, "entropy": 0.02, "value": 0.25}),
    "value clip": ({**PLAIN, "valueClip": 0.125}, {"kl": 0.0, "entropy": 0.01, "value": 0.5}),
    "dual clip": ({**PLAIN, "dualClip": 1.25}, {"kl": 0.3, "entropy": 0.01, "value": 0.5}),
    "raw advantages": ({**PLAIN, "advantages": "none"}, {"kl": 0.0, "entropy": 0.0, "value": 1.0}),
    "log-ratio clamp": ({**PLAIN, "logRatioClamp": 0.25}, {"kl": 0.3, "entropy": 0.0, "value": 0.5}),
    "all": (
        {"advantages": "minibatch", "valueClip": 0.125, "dualClip": 1.25, "logRatioClamp": 0.5},
        {"kl": 0.3, "entropy": 0.02, "value": 0.5},
    ),
}
# What the norm is held to: below what comes, and above it.
TRAININGS = {
    "norm clipped": ("kl", {"gradientNorm": 0.05, "adamEpsilon": 1e-5}, "linear"),
    "norm free": ("all", {"gradientNorm": 100.0, "adamEpsilon": 1e-3}, "cosine"),
}
STEPS = 10
MINIBATCH = 16
FIRST_RATE = 0.004
LAST_RATE = 0.0005


def product(shape):
    return math.prod(shape)


def flat_actions(spec):
    return sum(spec["argumentSlots"].values()) + TYPES - ARGUMENT_TYPES


def text_shapes(spec):
    v, e, h = spec["vocabulary"], spec["embedding"], spec["hidden"]
    return [
        ("embedding", [v, e]),
        *gru_shapes(2 * e, h),
        ("type", [h, TYPES]),
        ("typeBias", [TYPES]),
        ("candidate", [e, e]),
        ("candidateBias", [e]),
        ("query", [h, ARGUMENT_TYPES * e]),
        ("queryBias", [ARGUMENT_TYPES * e]),
        ("valueHidden", [h, 64]),
        ("valueHiddenBias", [64]),
        ("valueOutput", [64, 1]),
        ("valueOutputBias", [1]),
    ]


def gru_shapes(inputs, hidden):
    return [
        ("gruInput", [inputs, 3 * hidden]),
        ("gruInputBias", [3 * hidden]),
        ("gruHidden", [hidden, 3 * hidden]),
        ("gruHiddenBias", [3 * hidden]),
    ]


def features_shapes(spec):
    h = spec["hidden"]
    policy_head = [("policyOutput", [h, flat_actions(spec)]), ("policyOutputBias", [flat_actions(spec)])]
    value_head = [("valueOutput", [h, 1]), ("valueOutputBias", [1])]
    if spec["network"] == "gru":
        return [*gru_shapes(spec["features"], h), *policy_head, *value_head]
    inputs = spec["window"] * (spec["features"] + 1)
    layers = {
        net: [(f"{net}First", [inputs, h]), (f"{net}FirstBias", [h]), (f"{net}Second", [h, h]), (f"{net}SecondBias", [h])]
        for net in ("policy", "value")
    }
    return [*layers["policy"], *policy_head, *layers["value"], *value_head]


def split(shapes, flat):
    parts = torch.split(flat, [product(shape) for _, shape in shapes])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes, parts)}


def gru_cell(p, x, h):
    # PyTorch's own cell; it wants the weights with outputs first.
    return torch.gru_cell(x, h, p["gruInput"].t(), p["gruHidden"].t(), p["gruInputBias"], p["gruHiddenBias"])


def linear(p, x, name):
    return functional.linear(x, p[name].t(), p[f"{name}Bias"])


def text_network(spec, p, seen):
    """Log-probabilities of the flat actions, value, and the entropy told head by head."""
    tokens, mask = seen["tokens"], seen["mask"] > 0
    is_word = (tokens > 0).to(p["embedding"].dtype)
    share = is_word / is_word.sum(-1, keepdim=True).clamp(min=1).sqrt()
    words = functional.embedding(tokens, p["embedding"])
    ramp = torch.linspace(-1, 1, spec["tokens"])
    bag = (words * share.unsqueeze(-1)).sum(2)
    ordered = (words * (share * ramp).unsqueeze(-1)).sum(2)
    sentences = torch.cat([bag, ordered], -1)
    h = torch.zeros(tokens.shape[0], spec["hidden"])
    for i in range(spec["sentences"]):
        h = gru_cell(p, sentences[:, i], h)
    keys = torch.tanh(linear(p, functional.embedding(seen["candidates"], p["embedding"]).sum(2), "candidate"))
    queries = linear(p, h, "query").reshape(-1, ARGUMENT_TYPES, spec["embedding"])
    blocks = torch.split(keys, list(spec["argumentSlots"].values()), 1)
    legal = torch.split(mask[:, : keys.shape[1]], list(spec["argumentSlots"].values()), 1)
    bare = mask[:, keys.shape[1] :]
    type_legal = torch.cat([torch.stack([block.any(-1) for block in legal], -1), bare], -1)
    types = Categorical(logits=linear(p, h, "type").masked_fill(~type_legal, ILLEGAL))
    arguments = [
        Categorical(logits=torch.einsum("bse,be->bs", block, queries[:, i]).masked_fill(~legal[i], ILLEGAL))
        for i, block in enumerate(blocks)
    ]
    parts = [types.logits[:, i : i + 1] + argument.logits for i, argument in enumerate(arguments)]
    joint = torch.cat([*parts, types.logits[:, ARGUMENT_TYPES:]], -1)
    entropy = types.entropy() + sum(
        torch.where(legal[i].any(-1), types.probs[:, i] * argument.entropy(), torch.zeros(()))
        for i, argument in enumerate(arguments)
    )
    value = linear(p, torch.tanh(linear(p, h, "valueHidden")), "valueOutput").squeeze(-1)
    return joint.clamp(min=LOWEST), value, entropy


def features_network(spec, p, seen):
    features, mask = seen["features"], seen["mask"] > 0
    if spec["network"] == "gru":
        h = torch.zeros(features.shape[0], spec["hidden"])
        for i in range(spec["window"]):
            # Nothing is read before the first observation.
            was_there = features[:, i, -1:] > 0
            h = torch.where(was_there, gru_cell(p, features[:, i, :-1], h), torch.zeros_like(h))
        policy = value = h
    else:
        x = features.flatten(1)
        policy, value = (
            torch.tanh(linear(p, torch.tanh(linear(p, x, f"{net}First")), f"{net}Second")) for net in ("policy", "value")
        )
    actions = Categorical(logits=linear(p, policy, "policyOutput").masked_fill(~mask, ILLEGAL))
    return actions.logits.clamp(min=LOWEST), linear(p, value, "valueOutput").squeeze(-1), actions.entropy()


def grid(draw, bound, count):
    """Numbers within ± bound that float32 and a short decimal hold exactly."""
    return torch.tensor([round(draw.uniform(-bound, bound) * 1024) / 1024 for _ in range(count)])


def float32(tensor):
    return tensor.to(torch.float32).to(torch.float64)


def draw_weights(draw, shapes, bias=0.3):
    def bound(name, shape):
        return 0.7 if name == "embedding" else bias if len(shape) == 1 else 1.6 / math.sqrt(shape[0])

    return torch.cat([grid(draw, bound(name, shape), product(shape)) for name, shape in shapes])


def draw_mask(draw, count, size):
    mask = torch.tensor([[1 if draw.random() < 0.8 else 0 for _ in range(size)] for _ in range(count)])
    mask[:, -1] = 1
    # A whole type that is not offered.
    mask[::5, :2] = 0
    return mask


def draw_seen(draw, spec, count):
    mask = draw_mask(draw, count, flat_actions(spec))
    if spec["kind"] == "text":
        word = lambda padding: 0 if draw.random() < padding else draw.randrange(1, spec["vocabulary"])
        slots = sum(spec["argumentSlots"].values())
        tokens = [[[word(0.3) for _ in range(spec["tokens"])] for _ in range(spec["sentences"])] for _ in range(count)]
        candidates = [[[word(0) for _ in range(7)] for _ in range(slots)] for _ in range(count)]
        return {"tokens": torch.tensor(tokens), "candidates": torch.tensor(candidates), "mask": mask}
    window, width = spec["window"], spec["features"]
    features = torch.zeros(count, window, width + 1)
    first = 0
    for steps, _ in ENDINGS:
        for step in range(steps):
            shown = min(window, step + 1)
            features[first + step, window - shown :, :width] = grid(draw, 1.5, shown * width).reshape(shown, width)
            features[first + step, window - shown :, width] = 1
        first += steps
    return {"features": features, "mask": mask}


def advantages_of(rewards, values, final):
    """GAE as the sum that defines it: A_t = sum over l of (gamma lambda)^l delta_(t+l)."""
    following = torch.cat([values[1:], torch.tensor([final])])
    deltas = rewards + GAMMA * following - values
    n = len(rewards)
    powers = torch.tensor([[(GAMMA * LAMBDA) ** (k - t) if k >= t else 0.0 for k in range(n)] for t in range(n)])
    return powers @ deltas


def standardised(advantages):
    return (advantages - advantages.mean()) / (advantages.std() + 1e-8)


def join(episodes, bootstrap_truncated):
    parts = []
    for episode in episodes:
        cut = episode["ending"] == "truncated" and not bootstrap_truncated
        final = 0.0 if cut else episode["finalValue"]
        parts.append(advantages_of(torch.tensor(episode["rewards"]), torch.tensor(episode["values"]), final))
    return torch.cat(parts)


def losses_of(network, p, batch, rows, options, knobs):
    """Everything that one minibatch says, by the formulas of the papers that docs/PPO.md names."""
    log_probabilities, value, entropy = network(p, {name: each[rows] for name, each in batch["seen"].items()})
    actions = batch["actions"][rows].unsqueeze(-1)
    old = batch["old"][rows]
    advantages = {"batch": standardised(batch["advantages"])[rows], "none": batch["advantages"][rows]}.get(options["advantages"])
    if advantages is None:
        advantages = standardised(batch["advantages"][rows])
    change = (log_probabilities.gather(-1, actions) - old.gather(-1, actions)).squeeze(-1)
    held = change.clamp(-options["logRatioClamp"], options["logRatioClamp"])
    ratio = held.exp()
    objective = torch.minimum(ratio * advantages, ratio.clamp(1 - CLIP, 1 + CLIP) * advantages)
    lifted = objective
    if options["dualClip"] > 0:
        lifted = torch.where(advantages < 0, torch.maximum(objective, options["dualClip"] * advantages), objective)
    errors = functional.mse_loss(value, batch["returns"][rows], reduction="none")
    worst = errors
    if options["valueClip"] > 0:
        before = batch["oldValues"][rows]
        near = before + (value - before).clamp(-options["valueClip"], options["valueClip"])
        worst = torch.maximum(errors, functional.mse_loss(near, batch["returns"][rows], reduction="none"))
    kl = functional.kl_div(log_probabilities, old, reduction="none", log_target=True).sum(-1).mean()
    out = {
        "policyLoss": -lifted.mean(),
        "valueLoss": 0.5 * worst.mean(),
        "entropy": entropy.mean(),
        "kl": kl,
        "klK1": (-change).mean(),
        "klK3": (ratio - 1 - held).mean(),
        "clipFraction": ((ratio - 1).abs() > CLIP).to(ratio.dtype).mean(),
        "ratioDeviation": (ratio - 1).abs().max(),
    }
    loss = out["policyLoss"] + knobs["value"] * out["valueLoss"] + knobs["kl"] * kl - knobs["entropy"] * out["entropy"]
    reached = {
        "clippedAbove": ((ratio > 1 + CLIP) & (advantages > 0)).sum(),
        "clippedBelow": ((ratio < 1 - CLIP) & (advantages < 0)).sum(),
        "dualClipped": (lifted > objective).sum(),
        "valueClipped": (worst > errors).sum(),
        "logRatioHeld": (change != held).sum(),
    }
    return {"loss": loss, **out}, {name: int(count) for name, count in reached.items()}


def optimiser_for(weights, settings, schedule):
    adam = torch.optim.Adam([weights], lr=FIRST_RATE, eps=settings["adamEpsilon"])
    schedulers = torch.optim.lr_scheduler
    if schedule == "linear":
        return adam, schedulers.LinearLR(adam, 1.0, LAST_RATE / FIRST_RATE, total_iters=STEPS - 1)
    return adam, schedulers.CosineAnnealingLR(adam, T_max=STEPS - 1, eta_min=LAST_RATE)


def train(network, shapes, batch, start, case, settings, schedule):
    """Ten steps, each on other rows; the flat vector is one parameter, and so the norm is the global one."""
    options, knobs = CASES[case]
    weights = start.clone().requires_grad_()
    adam, scheduler = optimiser_for(weights, settings, schedule)
    count = len(batch["actions"])
    out = {"case": case, "settings": settings, "schedule": schedule, "rows": [], "rates": [], "losses": [], "norms": []}
    for step in range(STEPS):
        rows = [(5 * step + 7 * i) % count for i in range(MINIBATCH)]
        loss = losses_of(network, split(shapes, weights), batch, rows, options, knobs)[0]["loss"]
        adam.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_([weights], settings["gradientNorm"])
        out["rows"].append(rows)
        out["rates"].append(adam.param_groups[0]["lr"])
        out["losses"].append(loss)
        out["norms"].append(norm)
        adam.step()
        scheduler.step()
        if step == 0:
            out["after1"] = weights.detach().clone()
    return {**out, "after10": weights.detach()}


def make_batch(draw, spec, shapes, network, weights):
    """What an older policy did in drawn observations, and what it was paid."""
    count = sum(steps for steps, _ in ENDINGS)
    seen = draw_seen(draw, spec, count)
    bound = 0.35
    older = weights + torch.cat([grid(draw, bound, product(shape)) for _, shape in shapes])
    with torch.no_grad():
        old, values, _ = network(split(shapes, older), seen)
    old, values = float32(old), float32(values)
    actions = []
    for row in old.tolist():
        offered = [a for a, log in enumerate(row) if log > -4]
        actions.append(draw.choice(offered))
    rewards = grid(draw, 1.0, count)
    episodes, first = [], 0
    for steps, ending in ENDINGS:
        final = 0.0 if ending == "terminated" else float(grid(draw, 2.0, 1))
        own = slice(first, first + steps)
        episodes.append({"ending": ending, "finalValue": final, "rewards": rewards[own].tolist(), "values": values[own].tolist()})
        first += steps
    advantages = join(episodes, True)
    return {
        "seen": seen,
        "episodes": episodes,
        "actions": torch.tensor(actions),
        "old": old,
        "oldValues": values,
        "advantages": advantages,
        "returns": advantages + values,
    }


def make_policy(seed, spec):
    draw = random.Random(seed)
    shapes = text_shapes(spec) if spec["kind"] == "text" else features_shapes(spec)
    build = text_network if spec["kind"] == "text" else features_network
    network = lambda p, seen: build(spec, p, seen)
    weights = draw_weights(draw, shapes)
    batch = make_batch(draw, spec, shapes, network, weights)
    with torch.no_grad():
        log_probabilities, values, entropy = network(split(shapes, weights), batch["seen"])
    cases, rows = [], list(range(len(batch["actions"])))
    for name, (options, knobs) in CASES.items():
        leaf = weights.clone().requires_grad_()
        losses, reached = losses_of(network, split(shapes, leaf), batch, rows, options, knobs)
        losses["loss"].backward()
        cases.append({"name": name, "options": options, "knobs": knobs, "losses": losses, "reached": reached, "gradient": leaf.grad})
        assert all(abs(each) > SMALLEST_MEAN for each in losses.values()), (seed, name, losses)
    assert all(count >= 2 for count in cases[-1]["reached"].values()), (seed, cases[-1]["reached"])
    cut = join(batch["episodes"], False)
    return {
        "spec": spec,
        "parameters": shapes,
        "weights": weights,
        "observations": {name: each.flatten() for name, each in batch["seen"].items()},
        "actions": batch["actions"],
        "oldLogProbabilities": batch["old"].flatten(),
        "episodes": batch["episodes"],
        "advantages": {
            "raw": batch["advantages"],
            "batch": standardised(batch["advantages"]),
            "rawCut": cut,
            "batchCut": standardised(cut),
        },
        "returns": batch["returns"],
        "logProbabilities": log_probabilities.flatten(),
        "values": values,
        "entropies": entropy,
        "cases": cases,
        "trainings": [
            {"name": name, **train(network, shapes, batch, weights, case, settings, schedule)}
            for name, (case, settings, schedule) in TRAININGS.items()
        ],
    }


def make_reward_scale(seed):
    """Deviation of the discounted returns of the newest 5 of 8 episodes, PyTorch's std."""
    draw = random.Random(seed)
    episodes = [grid(draw, 1.0, draw.randrange(1, 6)) for _ in range(8)]
    returns = torch.stack([sum(GAMMA**t * reward for t, reward in enumerate(each)) for each in episodes])
    return {"window": 5, "episodes": episodes, "returns": returns, "deviation": returns[-5:].std()}


def plain(value):
    """As JSON takes it."""
    if isinstance(value, torch.Tensor):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    if isinstance(value, float):
        rounded = float(f"{value:.12g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value


def main():
    out = {
        "made": {"torch": torch.__version__},
        "gamma": GAMMA,
        "lambda": LAMBDA,
        "clip": CLIP,
        "rates": {"first": FIRST_RATE, "last": LAST_RATE, "steps": STEPS},
        "rewardScale": make_reward_scale(4),
        "policies": {name: make_policy(SEEDS[name], spec) for name, spec in POLICIES.items()},
    }
    json.dump(plain(out), sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
