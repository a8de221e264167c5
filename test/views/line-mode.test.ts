import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runLines } from '../../views/line-mode.ts';
import { Session } from '../../views/session.ts';
import { eventOf, FakeRun, START } from './fake-run.ts';

let fake: FakeRun;
let session: Session;
let input: PassThrough;
let heard: string[];
let left: Promise<void>;

beforeEach(async () => {
  fake = await FakeRun.start({ iterations: 4, episodes: 30 });
  session = new Session(fake.sessionOptions);
  session.open('demo-1');
  await session.run?.poll();
  input = new PassThrough();
  heard = [];
  const output = new PassThrough();
  output.setEncoding('utf8');
  output.on('data', (text: string) => heard.push(...text.split('\n').filter((line) => line !== '')));
  left = runLines(session, input, output);
  await until(/^> $/u);
});

afterEach(async () => {
  input.end();
  await left;
  session.close();
  await fake.remove();
});

/** Waits for a line; what was heard until then, the prompts left out. */
async function until(line: RegExp): Promise<string[]> {
  while (!heard.some((one) => line.test(one))) await new Promise((resolve) => setTimeout(resolve, 10));
  return heard.filter((one) => one !== '> ');
}

/** Types a line; what is heard until the next prompt. */
async function say(line: string): Promise<string[]> {
  heard.length = 0;
  input.write(`${line}\n`);
  return await until(/^> $/u);
}

function idIn(text: string | undefined): number {
  return Number(/e(\d+)/u.exec(text ?? '')?.[1]);
}

it('reads the run, its charts in words, and nothing that is only drawn', async () => {
  const lines = await say('');
  expect(lines[0]).toMatch(/^demo-1, RUNNING, iteration 4/u);
  expect(lines.some((line) => /KL .*, from [\d.]+ to [\d.]+/u.test(line))).toBe(true);
  // oxlint-disable-next-line no-control-regex -- what a screen is made of
  expect(lines.join('\n')).not.toMatch(/[\u001B─│⠀-⣿]|^[-|. ]*$/mu);
});

it('takes the key that messages call Esc', async () => {
  await say('8');
  expect(session.screen).toBe('events');
  await say('Esc');
  expect(session.screen).toBe('overview');
});

it('moves by name, by the beginning of a name, by key and by number, and reads the row pointed at', async () => {
  const row = await say('down');
  expect(row).toEqual([expect.stringMatching(/^> e\d+,/u)]);
  const further = await say('j 3');
  expect(further).toEqual([expect.stringMatching(/^> e\d+,/u)]);
  expect(idIn(row[0]) - idIn(further[0])).toBe(3);
  expect((await say('ope'))[0]).toMatch(new RegExp(`e${idIn(further[0])}\\b`, 'u'));
});

it('filters, says what is wrong with a filter, and keeps the one before', async () => {
  expect((await say('/fail:max_steps')).join('\n')).toMatch(/filter fail:max_steps/u);
  expect((await say('/fail:no_such')).join('\n')).toMatch(/no_such/u);
  expect((await say('screen')).join('\n')).toMatch(/filter fail:max_steps/u);
});

it('says so when a command is not there, may be two, or does nothing now', async () => {
  expect(await say('fly')).toEqual(['there is no command fly here; help lists them']);
  expect((await say('pause'))[0]).toMatch(/^which: pause\/resume, pause now/u);
  expect((await say('last diff')).join('\n')).toMatch(/does nothing now: nothing has been compared yet/u);
  expect((await say('help')).join('\n')).toMatch(/last diff: .*\(not now: nothing has been compared yet/u);
});

it('takes a line that is asked for as it is typed, says why it is refused, and can leave it', async () => {
  expect((await say('note')).at(-1)).toMatch(/^note on e\d+:/u);
  await say('down here it hangs');
  await marked(1);
  expect([...(session.marks?.marks.notes.values() ?? [])].map(({ text }) => text)).toEqual([
    'down here it hangs',
  ]);
  await say('3');
  await say('bulk');
  expect(await say('down')).toEqual([expect.stringMatching(/^> let go/u)]);
  await say('down 2');
  expect((await say('choose')).at(-1)).toMatch(/^do again how many of/u);
  expect((await say('many')).at(-1)).toMatch(/"many" is no number of episodes/u);
  await say('leave');
  expect(session.prompt).toBeNull();
  expect(fake.verbs).toEqual([]);
});

async function marked(count: number): Promise<void> {
  while (session.marks?.marks.notes.size !== count) await new Promise((resolve) => setTimeout(resolve, 10));
}

it('tells of trouble by itself', async () => {
  heard.length = 0;
  fake.store.appendEvent(
    eventOf({
      time: START + 9000,
      level: 'warning',
      kind: 'worker-died',
      subject: 'worker 1',
      message: 'was killed',
    }),
  );
  await session.run?.poll();
  expect(await until(/was killed$/u)).toContain('warning: worker 1: was killed');
});

it('asks before it stops a run, and leaves with bye', async () => {
  expect((await say('stop run')).join('\n')).toMatch(/stop/iu);
  await say('escape');
  expect(session.question).toBeNull();
  input.write('bye\n');
  await left;
  expect(session.quitting).toBe(true);
});

it('obeys what is there before it is ready, and leaves at the end of the input', async () => {
  const early = new PassThrough();
  early.end('help\nno such command\n');
  const output = new PassThrough();
  output.setEncoding('utf8');
  const said: string[] = [];
  output.on('data', (text: string) => said.push(text));
  await runLines(session, early, output);
  expect(said.join('')).toMatch(/quit: .*there is no command no such command here/su);
});
