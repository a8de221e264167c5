import { describe, expect, it } from 'vitest';
import { formatEffective } from '../../src/config/effective.ts';
import { loadConfig } from '../../src/config/load.ts';
import { LabError } from '../../src/domain/error.ts';

function refused(alert: string): string {
  const text = `alerts:\n  - name: a\n${alert
    .split('\n')
    .map((line) => `    ${line}`)
    .join('\n')}\n`;
  try {
    loadConfig(text, { file: 'lab.yaml' });
  } catch (thrown) {
    if (thrown instanceof LabError) return thrown.message;
    throw thrown;
  }
  return 'accepted';
}

describe('alerts of a config', () => {
  it('come back from the effective config as they are', () => {
    const text = `
alerts:
  - { name: stuck, filter: 'fail:gave_up part.goal<1', among: 'is:train', last: 500, above: 30% }
  - { name: kl, metric: kl, last: 3, above: 0.05, cooldownS: 60 }
  - { name: slow, metric: env_steps_per_s, withinS: 120, below: 1000 }
`;
    const { config, origins } = loadConfig(text, { file: 'lab.yaml' });
    expect(config.alerts).toHaveLength(3);
    expect(config.alerts[0]).toMatchObject({ above: '30%', cooldownS: 300 });
    expect(loadConfig(formatEffective(config, origins), { file: 'x' }).config).toEqual(config);
  });

  it.each([
    ['filter: fail:any\nlast: 5\nabove: 1', 'accepted'],
    ['last: 5\nabove: 1', 'lab.yaml:2: alerts.0: watches nothing: wanted filter or metric'],
    ['filter: fail:any\nmetric: kl\nlast: 5\nabove: 1', /alerts\.0\.metric: given beside filter/u],
    ['filter: fail:any\nlast: 5', /alerts\.0: has no limit: wanted above or below/u],
    ['filter: fail:any\nlast: 5\nabove: 1\nbelow: 3', /alerts\.0\.below: given beside above/u],
    ['filter: fail:any\nabove: 1', /looks back over nothing: wanted last, .* or withinS/u],
    ['filter: fail:any\nlast: 5\nwithinS: 9\nabove: 1', /alerts\.0\.withinS: given beside last/u],
    ['metric: kl\namong: is:train\nabove: 1', /alerts\.0\.among: .*wanted filter/u],
    ['metric: kll\nabove: 1', /alerts\.0\.metric: got "kll", .*did you mean "kl"\?/u],
    ['filter: fail:any\nlast: 5\nabove: 1.5.2', /alerts\.0\.above: .*wanted a number, or a share as 30%/u],
    ['filter: fail:any\nlast: 5\nabove: 100%', '100%: a share is never above that'],
    ['filter: fail:any\nlast: 5\nabove: 5', '5: a count of 5 episodes is never above that'],
    ['filter: fail:any\nlast: 5\nbelow: 0', '0: a count of 5 episodes is never below that'],
    ['filter: fial:any\nlast: 5\nabove: 1', /lab\.yaml:3: alerts\.0\.filter: .*did you mean fail/u],
    [
      'filter: "is:train crash"\nlast: 5\nabove: 1',
      /"crash" is looked for in an episode's steps.*wanted detail:/u,
    ],
    ['filter: "-(age<1m or is:eval)"\nlast: 5\nabove: 1', /every episode is new .*wanted withinS/u],
    ['filter: "is:eval sort:steps"\nlast: 5\nabove: 1', /wanted no sort:/u],
    ['filter: "@stuck"\nlast: 5\nabove: 1', /a saved filter may change under the run/u],
    ['fliter: fail:any\nlast: 5\nabove: 1', /unknown key; did you mean "filter"\?/u],
  ])('%j', (alert, message) => {
    const said = refused(alert);
    const isSaid = typeof message === 'string' ? said.includes(message) : message.test(said);
    expect(isSaid ? '' : said).toBe('');
  });

  it('have names of their own', () => {
    const one = '  - { name: a, metric: kl, above: 1 }\n';
    expect(() => loadConfig(`alerts:\n${one}${one}`, { file: 'lab.yaml' })).toThrow(
      /lab\.yaml:3: alerts\.1\.name: "a" is already the name of alerts\.0/u,
    );
  });
});
