"""The update phase of the `update` benchmark in plain PyTorch on the CPU: the same network, loss, clipping and Adam, on the
same minibatches of the same batch.

    torch_update.py HEADER.json DATA.bin TORCH_THREADS

HEADER.json names each array of DATA.bin (element type, shape, first byte) and holds the policy's shape and the settings.
Each line "update" on stdin runs one update from the initial weights and answers with one line of JSON:
{"seconds", "cpuSeconds", "firstLoss", "lastLoss"}. OpenBLAS reads its number of threads from OPENBLAS_NUM_THREADS.
"""

import json
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

LOWEST_LOG_PROBABILITY = -50.0
ILLEGAL = 1e9
ARGUMENT_TYPES = ("read", "select_tool", "input")


def read_arrays(header, path):
    """The arrays by name. Tensors of whole numbers are made int64 here, outside the time: PyTorch indexes with those."""
    with open(path, "rb") as file:
        data = bytearray(file.read())
    arrays = {}
    for name, entry in header["arrays"].items():
        count = 1
        for length in entry["shape"]:
            count *= length
        dtype = {"f32": torch.float32, "i32": torch.int32}[entry["dtype"]]
        array = torch.frombuffer(data, dtype=dtype, count=count, offset=entry["start"]).reshape(entry["shape"])
        arrays[name] = array.clone() if dtype == torch.float32 else array.long()
    return arrays


class Policy(nn.Module):
    """Pooled sentences, a GRU over them, and heads for the type, the argument given the type, and the value."""

    def __init__(self, policy, weights):
        super().__init__()
        self.policy = policy
        embedding, hidden = policy["embedding"], policy["hidden"]
        self.embedding = nn.Embedding(policy["vocabulary"], embedding)
        self.gru = nn.GRU(2 * embedding, hidden, batch_first=True)
        self.action_type = nn.Linear(hidden, weights["type"].shape[1])
        self.candidate = nn.Linear(embedding, embedding)
        self.query = nn.Linear(hidden, len(ARGUMENT_TYPES) * embedding)
        self.value = nn.Sequential(
            nn.Linear(hidden, weights["valueHidden"].shape[1]),
            nn.Tanh(),
            nn.Linear(weights["valueHidden"].shape[1], 1),
        )
        length = policy["tokens"]
        self.register_buffer("ramp", 2 * torch.arange(length) / (length - 1) - 1)
        self.load(weights)

    def load(self, weights):
        """Ours are [inputs, outputs]; PyTorch's are the transpose."""
        linear = {
            "type": self.action_type,
            "candidate": self.candidate,
            "query": self.query,
            "valueHidden": self.value[0],
            "valueOutput": self.value[2],
        }
        with torch.no_grad():
            self.embedding.weight.copy_(weights["embedding"])
            self.gru.weight_ih_l0.copy_(weights["gruInput"].t())
            self.gru.weight_hh_l0.copy_(weights["gruHidden"].t())
            self.gru.bias_ih_l0.copy_(weights["gruInputBias"])
            self.gru.bias_hh_l0.copy_(weights["gruHiddenBias"])
            for name, layer in linear.items():
                layer.weight.copy_(weights[name].t())
                layer.bias.copy_(weights[name + "Bias"])

    def forward(self, tokens, candidates, mask):
        """Log-probabilities of the flat actions [B, A], and values [B]."""
        batch, sentences, _ = tokens.shape
        is_word = (tokens > 0).float()
        share = is_word / is_word.sum(-1, keepdim=True).clamp(min=1).sqrt()
        shares = torch.stack((share, share * self.ramp), 2)
        pooled = torch.matmul(shares, self.embedding(tokens))
        # The GRU passes over sentences without words. A stable sort brings the others to the front; the state behind the
        # last of them is the one that counts. That is faster here than packing the sequences.
        is_padding = is_word.amax(-1) == 0
        order = torch.sort(is_padding.int(), dim=1, stable=True)[1]
        read = pooled.view(batch, sentences, -1)
        states, _ = self.gru(read.gather(1, order.unsqueeze(-1).expand_as(read)))
        last = (sentences - is_padding.sum(1) - 1).clamp(min=0)
        state = states[torch.arange(batch), last]

        slots, features = candidates.shape[1:]
        # The sum of each candidate's embeddings, without all of them in memory at once.
        described = F.embedding_bag(candidates.view(-1, features), self.embedding.weight, mode="sum")
        keys = torch.tanh(self.candidate(described.view(batch, slots, -1)))
        queries = self.query(state).view(batch, len(ARGUMENT_TYPES), -1)

        lengths = [self.policy["argumentSlots"][name] for name in ARGUMENT_TYPES]
        legal = mask[:, :slots].split(lengths, 1)
        type_mask = torch.cat([part.amax(1, keepdim=True) for part in legal] + [mask[:, slots:]], 1)
        types = F.log_softmax(self.action_type(state) + (type_mask - 1) * ILLEGAL, -1)
        parts = []
        for place, (block, allowed) in enumerate(zip(keys.split(lengths, 1), legal)):
            logits = torch.matmul(block, queries[:, place].unsqueeze(-1)).squeeze(-1)
            arguments = F.log_softmax(logits + (allowed - 1) * ILLEGAL, -1)
            parts.append(arguments + types[:, place : place + 1])
        parts.append(types[:, len(ARGUMENT_TYPES) :])
        return torch.cat(parts, 1).clamp(min=LOWEST_LOG_PROBABILITY), self.value(state).squeeze(-1)


def loss_of(policy, batch, rows, knobs):
    """PPO's clipped loss with an exact KL term and an entropy bonus."""
    log_probabilities, values = policy(batch["tokens"][rows], batch["candidates"][rows], batch["mask"][rows])
    old = batch["oldLogProbabilities"][rows]
    actions = batch["actions"][rows].unsqueeze(-1)
    advantages = batch["advantages"][rows]
    change = (log_probabilities.gather(1, actions) - old.gather(1, actions)).squeeze(-1)
    ratio = change.clamp(-10, 10).exp()
    held = ratio.clamp(1 - knobs["clip"], 1 + knobs["clip"])
    policy_loss = -torch.min(ratio * advantages, held * advantages).mean()
    value_loss = 0.5 * (values - batch["returns"][rows]).pow(2).mean()
    entropy = -(log_probabilities.exp() * log_probabilities).sum(1).mean()
    kl = (old.exp() * (old - log_probabilities)).sum(1).mean()
    return policy_loss + knobs["value"] * value_loss + knobs["kl"] * kl - knobs["entropy"] * entropy


def run_update(header, batch, weights):
    """One update phase from the initial weights; the time is that of its gradient steps."""
    policy = Policy(header["policy"], weights)
    knobs = header["knobs"]
    optimiser = torch.optim.Adam(policy.parameters(), lr=knobs["lr"], eps=header["adamEpsilon"])
    losses = []
    started, cpu = time.perf_counter(), time.process_time()
    for rows in batch["minibatches"]:
        loss = loss_of(policy, batch, rows, knobs)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), header["gradientNorm"])
        optimiser.step()
        losses.append(loss.item())
    return {
        "seconds": time.perf_counter() - started,
        "cpuSeconds": time.process_time() - cpu,
        "firstLoss": losses[0],
        "lastLoss": losses[-1],
    }


def main():
    header_path, data_path, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    with open(header_path, encoding="utf-8") as file:
        header = json.load(file)
    arrays = read_arrays(header, data_path)
    weights = {name[len("weights.") :]: array for name, array in arrays.items() if name.startswith("weights.")}
    print(json.dumps({"torch": torch.__version__, "openblas": os.environ.get("OPENBLAS_NUM_THREADS")}), flush=True)
    for line in sys.stdin:
        if line.strip() == "update":
            print(json.dumps(run_update(header, arrays, weights)), flush=True)


if __name__ == "__main__":
    main()
