import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { LabError } from '../../src/domain/error.ts';
import { deriveSeed } from '../../src/domain/random.ts';
import { type Action, type ActionType, formatAction, type Observation } from '../../src/domain/space.ts';
import { formatTaskRef, type Task } from '../../src/domain/task.ts';
import type { ToolUse } from '../../src/domain/tool.ts';
import type { Environment, Eventual, StepResult } from '../contract.ts';
import type { Family } from './family.ts';
import { Form } from './form.ts';
import { Offer } from './offer.ts';
import { Progress } from './progress.ts';
import type { Scenario } from './scenario.ts';
import { findFamily, scenarioOf } from './tasks.ts';
import { Transcript } from './transcript.ts';
import { createWorld, runTool, type World } from './world.ts';

const optionsSchema = z.strictObject({
  /** Characters of an observation; the oldest turns go first. */
  window: z.int().min(200).max(100_000).default(700),
  /** Milliseconds that every step takes, to try a run against slow tools; 0 answers at once. */
  latencyMs: z.int().min(0).max(60_000).default(0),
});

/** A submit within so many steps cannot have been thought over. */
const HASTY_STEPS = 3;

type Components = StepResult['components'];
const NOTHING: Components = Object.freeze({});
const PROGRESS: Components = Object.freeze({ progress: 1 });

/** What an action came to, before it is made a step result. */
interface Turn {
  readonly effective: boolean;
  readonly components: Components;
  readonly tool?: ToolUse;
}

/** One episode's things; a new one for each, so that nothing can be left over. */
interface Episode {
  readonly task: Task;
  readonly seed: number;
  readonly scenario: Scenario;
  readonly family: Family;
  readonly world: World;
  readonly offer: Offer;
  readonly progress: Progress;
  readonly form: Form;
  readonly transcript: Transcript;
  steps: number;
  ended: boolean;
}

/** A live Workbench. Throws `environment-invalid` for options that it has not got. */
export function createWorkbench(options: Readonly<Record<string, unknown>>): Environment {
  const parsed = optionsSchema.safeParse(options);
  if (!parsed.success) {
    throw new LabError('environment-invalid', {
      message: `options of the environment "workbench": ${z.prettifyError(parsed.error)}`,
      hint: 'it takes window (characters) and latencyMs (milliseconds).',
      cause: parsed.error,
    });
  }
  return new Workbench(parsed.data.window, parsed.data.latencyMs);
}

class Workbench implements Environment {
  readonly #window: number;
  readonly #latencyMs: number;
  #episode: Episode | null = null;

  constructor(window: number, latencyMs: number) {
    this.#window = window;
    this.#latencyMs = latencyMs;
  }

  reset(task: Task, seed: number): Observation {
    const scenario = scenarioOf(task);
    const form = new Form();
    const episode: Episode = {
      task,
      seed,
      scenario,
      family: findFamily(task),
      world: createWorld(scenario),
      offer: new Offer(scenario, deriveSeed('workbench', 'offer', seed)),
      progress: new Progress(scenario),
      form,
      transcript: new Transcript(task.text, form.format(), this.#window),
      steps: 0,
      ended: false,
    };
    this.#episode = episode;
    return observe(episode);
  }

  step(action: Action): Eventual<StepResult> {
    const episode = this.#episode;
    if (episode === null || episode.ended) {
      throw new LabError('environment-invalid', {
        message: `${formatAction(action)} was sent ${episode === null ? 'before an episode' : 'after the end of its episode'}`,
        hint: 'call reset first.',
      });
    }
    if (!episode.offer.has(action, episode.form.state)) {
      throw new LabError('environment-invalid', {
        message: `${formatAction(action)} was not on offer at step ${episode.steps + 1} of ${formatTaskRef(episode.task)}`,
        hint: 'take an action among the legal types and candidates of the last observation.',
      });
    }
    episode.steps++;
    const result = act(episode, action);
    return this.#latencyMs === 0 ? result : wait(this.#latencyMs, result);
  }

  getState(): unknown {
    const episode = this.#episode;
    if (episode === null) return null;
    const { world, form } = episode;
    return {
      task: formatTaskRef(episode.task),
      seed: episode.seed,
      steps: episode.steps,
      ended: episode.ended,
      files: [...world.files].map(([name, file]) => [name, file.directory, file.name]),
      outputs: [...world.outputs],
      runs: [...world.runs],
      tool: form.tool,
      values: [...form.values],
      progress: episode.progress.getState(),
      lines: episode.transcript.lines(),
      candidates: episode.offer.candidates('filling').map((candidate) => candidate.text),
    };
  }

  fullReset(): void {
    this.#episode = null;
  }

  close(): void {
    this.#episode = null;
  }
}

function observe({ transcript, offer, form }: Episode): Observation {
  const { state } = form;
  return { lines: transcript.lines(), legal: offer.legal(state), candidates: offer.candidates(state) };
}

function act(episode: Episode, action: Action): StepResult {
  const { type, argument } = action;
  if (type === 'submit') return submit(episode);
  const { effective, components, tool } = takeTurn(episode, type, argument ?? '');
  return {
    observation: observe(episode),
    components,
    terminated: false,
    success: false,
    failure: null,
    effective,
    tool,
  };
}

function takeTurn(episode: Episode, type: Exclude<ActionType, 'submit'>, argument: string): Turn {
  switch (type) {
    case 'read':
      return read(episode, argument);
    case 'select_tool':
      return selectTool(episode, argument);
    case 'input':
      return input(episode, argument);
    case 'confirm':
      return confirm(episode);
    case 'noop':
      episode.transcript.add('noop nothing happens');
      return { effective: false, components: NOTHING };
  }
}

/** Tells something new unless the very same turn can still be seen. */
function read({ world, offer, progress, transcript }: Episode, name: string): Turn {
  const file = world.files.get(name);
  const turn = file === undefined ? `read ${name} no such file` : `read ${name} says ${file.text}`;
  const effective = !transcript.isVisible(turn);
  transcript.add(turn);
  if (file === undefined) return { effective, components: NOTHING };
  offer.discover(file.values);
  return { effective, components: progress.read(name) ? PROGRESS : NOTHING };
}

function selectTool({ form, progress, transcript }: Episode, name: string): Turn {
  const effective = form.tool !== name || form.values.length > 0;
  const tool = form.open(name);
  transcript.show(form.format());
  transcript.add(`select ${tool} asks ${form.nextField}`);
  return { effective, components: progress.fill(tool, form.values) ? PROGRESS : NOTHING };
}

function input({ form, progress, transcript }: Episode, value: string): Turn {
  const { tool, nextField } = form;
  form.fill(value);
  transcript.show(form.format());
  transcript.add(`input ${value} as ${nextField}`);
  const milestone = tool !== null && progress.fill(tool, form.values);
  return { effective: true, components: milestone ? PROGRESS : NOTHING };
}

/** Runs the tool and closes its form, whether the run did anything or failed. */
function confirm({ form, progress, transcript, world }: Episode): Turn {
  const { tool, values } = form;
  if (tool === null) return { effective: false, components: NOTHING };
  const outcome = runTool(world, { tool, arguments: [...values] });
  const milestone = outcome.ok && progress.run(tool, values);
  form.close(outcome.ok ? tool : null);
  transcript.show(form.format());
  transcript.add(`confirm ${tool} ${outcome.text}`);
  const use = { name: tool, ok: outcome.ok };
  return { effective: true, components: milestone ? PROGRESS : NOTHING, tool: use };
}

function submit(episode: Episode): StepResult {
  const { world, scenario, progress, transcript } = episode;
  const success = episode.family.grade(world, scenario);
  const isHasty = episode.steps <= HASTY_STEPS || progress.isUnread;
  transcript.add(success ? 'submit accepted' : 'submit rejected');
  episode.ended = true;
  return {
    observation: observe(episode),
    components: {
      ...(success ? { success: 1 } : { wrong_submit: 1 }),
      ...(isHasty && !success ? { unread_submit: 1 } : {}),
    },
    terminated: true,
    success,
    failure: success ? null : world.runs.length === 0 ? 'premature_submit' : 'wrong_result',
    effective: true,
  };
}
