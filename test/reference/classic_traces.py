"""Records what Gymnasium's CartPole-v1 and Acrobot-v1 do, for test/envs/classic/traces.test.ts to repeat.

    PYTHONPATH=<a checkout of Gymnasium> python3 test/reference/classic_traces.py > test/reference/classic-traces.json
    npx biome check --write test/reference

Needs gymnasium and numpy. Each trace has the state it starts from (float64), the numbers of its actions, each
observation (float32, as the shortest decimal that gives it back; the first is that of the start), each reward and
whether the last step terminated. Random actions let a pole fall within some twenty steps, so half of the CartPole
episodes balance it; half of the Acrobot episodes swing up.

A long episode becomes several traces, one after the other. A pole on its end is unstable: repeating the actions
multiplies a difference by about e every 0.25 s, so that the last bit of a sine is the whole angle after 9 s.
"""

import json
import platform
import sys

import gymnasium
import numpy as np

SEEDS = range(1, 7)
MAX_STEPS = 150
TRACE_STEPS = 75
# What the episodes above do not reach: both ends of the track, whole turns, and the limits of both spins.
EDGES = {
    "CartPole-v1": [[2.35, 2.0, 0.01, 0.1], [-2.35, -2.0, -0.01, -0.1]],
    "Acrobot-v1": [[3.1, 0.1, 12.0, 20.0], [-3.1, 3.0, -12.5, -28.0], [0.5, -3.0, 6.0, 28.0], [-0.5, 2.0, 12.5, -9.0]],
}


def random_choice(env, observation, random):
    return int(random.integers(env.action_space.n))


def balance(env, observation, random):
    """Pushes towards where the pole falls; one action in ten is random, so that it has something to do."""
    if random.random() < 0.1:
        return random_choice(env, observation, random)
    position, velocity, angle, spin = (float(number) for number in observation)
    return int(angle + 0.3 * spin + 0.02 * position + 0.05 * velocity > 0)


def swing_up(env, observation, random):
    """Torque along the spin of the driven joint puts energy in."""
    return 0 if observation[5] < 0 else 2


def shortest(numbers):
    return [float(str(np.float32(number))) for number in numbers]


def begin(env, observation, seed, policy):
    return {
        "seed": seed,
        "policy": policy.__name__,
        "start": [float(number) for number in env.unwrapped.state],
        "actions": [],
        "observations": [shortest(observation)],
        "rewards": [],
        "terminated": False,
    }


def record(name, seed, policy, start=None):
    env = gymnasium.make(name)
    observation, _ = env.reset(seed=seed)
    if start is not None:
        env.unwrapped.state = np.array(start, dtype=np.float64)
        observation = env.unwrapped._get_ob() if name == "Acrobot-v1" else start
    random = np.random.default_rng(seed)
    traces = [begin(env, observation, seed, policy)]
    for step in range(MAX_STEPS):
        if step > 0 and step % TRACE_STEPS == 0:
            traces.append(begin(env, observation, seed, policy))
        trace = traces[-1]
        action = policy(env, observation, random)
        observation, reward, terminated, _, _ = env.step(action)
        trace["actions"].append(action)
        trace["observations"].append(shortest(observation))
        trace["rewards"].append(float(reward))
        trace["terminated"] = terminated
        if terminated:
            break
    return traces


def record_all(name, policies):
    usual = [trace for policy in policies for seed in SEEDS for trace in record(name, seed, policy)]
    edges = [trace for seed, start in enumerate(EDGES[name]) for trace in record(name, seed, random_choice, start)]
    return usual + edges


def main():
    made = {"gymnasium": gymnasium.__version__, "numpy": np.__version__, "machine": platform.machine()}
    cartpole = record_all("CartPole-v1", (random_choice, balance))
    acrobot = record_all("Acrobot-v1", (random_choice, swing_up))
    json.dump({"made": made, "cartpole": cartpole, "acrobot": acrobot}, sys.stdout, separators=(",", ":"))
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
