import { LabError } from '../../src/domain/error.ts';
import { createRandom, deriveSeed } from '../../src/domain/random.ts';
import { type Action, type Candidate, formatAction, type Observation } from '../../src/domain/space.ts';
import { formatTaskRef, type Task } from '../../src/domain/task.ts';
import type { Environment, StepResult } from '../contract.ts';
import { COLOURS, type Item, LISTENER, paramsOf, type RelayParams, SHAPES, SPEAKER } from './tasks.ts';

/** Items in one line of what the listener sees: no line is longer than the default policy reads. */
const ITEMS_IN_LINE = 3;

const NOTHING = Object.freeze({});
const PROGRESS = Object.freeze({ progress: 1 });
const SUCCESS = Object.freeze({ success: 1 });
const WRONG = Object.freeze({ wrong_submit: 1 });

const WORDS: readonly Candidate[] = [
  ...COLOURS.map((text): Candidate => ({ type: 'input', text, kind: 'colour' })),
  ...SHAPES.map((text): Candidate => ({ type: 'input', text, kind: 'shape' })),
];

interface Episode {
  readonly task: Task;
  readonly params: RelayParams;
  /** What can be said, and chosen, in the order in which it is offered. */
  readonly words: readonly Candidate[];
  readonly items: readonly Candidate[];
  readonly itemLines: readonly string[];
  readonly said: string[];
  turn: typeof SPEAKER | typeof LISTENER;
  done: boolean;
}

/** A live one. Takes no options. */
export function createRelay(): Environment {
  return new Relay();
}

class Relay implements Environment {
  #episode: Episode | null = null;

  reset(task: Task, seed: number): Observation {
    const params = paramsOf(task);
    const random = createRandom(deriveSeed('relay', 'episode', seed));
    const items = random.shuffle(params.items);
    this.#episode = {
      task,
      params,
      words: random.shuffle(WORDS),
      items: items.map(({ name }) => ({ type: 'select_tool', text: name, kind: 'item' })),
      itemLines: itemLines(items),
      said: [],
      turn: SPEAKER,
      done: false,
    };
    return observe(this.#episode, SPEAKER);
  }

  step(action: Action): StepResult {
    const episode = this.#episode;
    if (episode === null || episode.done) {
      throw new LabError('environment-invalid', {
        message: `${formatAction(action)} was sent ${episode === null ? 'before an episode' : 'after the end of its episode'}`,
        hint: 'call reset first.',
      });
    }
    checkOffered(episode, action);
    return episode.turn === SPEAKER ? say(episode, action.argument ?? '') : choose(episode, action.argument);
  }

  look(agent: string): Observation {
    const episode = this.#episode;
    if (episode === null || (agent !== SPEAKER && agent !== LISTENER)) {
      throw new LabError('environment-invalid', {
        message: `nobody called ${JSON.stringify(agent)} sees anything${episode === null ? ' before an episode' : ''}`,
        hint: `the agents are ${SPEAKER} and ${LISTENER}, and an episode begins with reset.`,
      });
    }
    return observe(episode, agent);
  }

  getState(): unknown {
    if (this.#episode === null) return null;
    const { task, items, words, said, turn, done } = this.#episode;
    return {
      task: formatTaskRef(task),
      seed: task.seed,
      items: items.map(({ text }) => text),
      words: words.map(({ text }) => text),
      said: [...said],
      turn,
      done,
    };
  }

  fullReset(): void {
    this.#episode = null;
  }

  close(): void {
    this.#episode = null;
  }
}

/** A true word is progress when it is said for the first time. */
function say(episode: Episode, word: string): StepResult {
  const { said, params } = episode;
  const isNew = !said.includes(word);
  const { colour, shape } = meantOf(params);
  said.push(word);
  episode.turn = LISTENER;
  const isTrue = word === colour || word === shape;
  return going(episode, isNew && isTrue ? PROGRESS : NOTHING, isNew);
}

/** The listener chooses an item, which ends the episode for both alike, or waits for another word. */
function choose(episode: Episode, name: string | null): StepResult {
  if (name === null) {
    episode.turn = SPEAKER;
    return going(episode, NOTHING, true);
  }
  episode.done = true;
  const success = name === meantOf(episode.params).name;
  const components = success ? SUCCESS : WRONG;
  return {
    observation: observe(episode, LISTENER),
    components,
    paid: { [SPEAKER]: components },
    terminated: true,
    success,
    failure: success ? null : 'wrong_result',
    effective: true,
  };
}

function going(
  episode: Episode,
  components: Readonly<Record<string, number>>,
  effective: boolean,
): StepResult {
  const observation = observe(episode, episode.turn);
  return { observation, components, terminated: false, success: false, failure: null, effective };
}

function checkOffered(episode: Episode, action: Action): void {
  const { legal, candidates } = observe(episode, episode.turn);
  const isOffered =
    legal.includes(action.type) &&
    (action.argument === null
      ? action.type === 'noop'
      : candidates.some(({ type, text }) => type === action.type && text === action.argument));
  if (isOffered) return;
  throw new LabError('environment-invalid', {
    message: `${formatAction(action)} was not on offer to the ${episode.turn} in ${formatTaskRef(episode.task)}`,
    hint: 'take an action that the last observation offered.',
  });
}

function meantOf({ items, meant }: RelayParams): Item {
  const item = items[meant];
  if (item === undefined) throw new LabError('internal', { message: `there is no item ${meant}` });
  return item;
}

/** `items red round bolt, green flat nut`: what an item is like stands before its name. */
function itemLines(items: readonly Item[]): string[] {
  const texts = items.map(({ name, colour, shape }) => `${colour} ${shape} ${name}`);
  return Array.from({ length: Math.ceil(texts.length / ITEMS_IN_LINE) }, (_, line) =>
    ['items', texts.slice(ITEMS_IN_LINE * line, ITEMS_IN_LINE * (line + 1)).join(', ')].join(' '),
  );
}

function observe(episode: Episode, agent: Episode['turn']): Observation {
  const { task, params, said, words, items, itemLines: lines } = episode;
  const isLast = said.length === params.rounds;
  if (agent === SPEAKER) {
    const spoken = said.map((word) => `said ${word}`);
    return {
      agent,
      lines: [task.text, `screen words left ${params.rounds - said.length}`, ...spoken],
      legal: ['input'],
      candidates: words,
    };
  }
  return {
    agent,
    lines: ['task select the item that the speaker means', ...lines, ...said.map((word) => `heard ${word}`)],
    legal: isLast ? ['select_tool'] : ['select_tool', 'noop'],
    candidates: items,
  };
}
