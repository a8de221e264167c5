import { describe, expect, it } from 'vitest';
import { configSchema } from '../../src/config/schema.ts';
import { initialKnobs } from '../../src/domain/knob.ts';
import { describeStop, type RejectedUpdate, reactTo } from '../../src/run/guard.ts';

const SPIKE: RejectedUpdate = {
  iteration: 57,
  cause: 'kl_spike',
  reason: 'minibatch 3: KL 0.9, the guard allows 0.5',
  spot: {
    minibatch: 3,
    kl: 0.9,
    episodes: [
      { id: 'e12', logRatio: null },
      { id: 'e7', logRatio: -2.345 },
    ],
  },
};

function guard(changes: object) {
  return configSchema.parse({ guard: changes }).guard;
}

describe('an update that was rolled back', () => {
  it('is told with update, minibatch and the episodes that stood out', () => {
    expect(reactTo(SPIKE, guard({}), initialKnobs())).toEqual({
      kind: 'update-rolled-back',
      message:
        'update 57 rolled back: minibatch 3: KL 0.9, the guard allows 0.5; ' +
        'largest |log ratio|: e12 (not finite), e7 (-2.35)',
      episodes: ['e12', 'e7'],
      ease: {},
      pause: null,
    });
  });

  it('pauses the run if the config says so, with the reason', () => {
    const { pause, message, ease } = reactTo(SPIKE, guard({ action: 'pause' }), initialKnobs());
    expect(pause).toBe('update 57 rolled back: minibatch 3: KL 0.9, the guard allows 0.5');
    expect(message).toMatch(/; the run pauses$/u);
    expect(ease).toEqual({});
  });

  it('eases knobs by the factors of the config, within their ranges and kinds', () => {
    const rule = { action: 'ease', ease: { lr: 0.5, kl: 10, epochs: 0.5, minibatch: 10, clip: 1 } };
    const knobs = { ...initialKnobs(), kl: 5, epochs: 3, minibatch: 65_536 };
    const { ease, message, pause } = reactTo(SPIKE, guard(rule), knobs);
    expect(ease).toEqual({ lr: 0.0005, kl: 10, epochs: 2 });
    expect(message).toMatch(/; eased: lr 0\.001 → 0\.0005, kl 5 → 10, epochs 3 → 2$/u);
    expect(pause).toBeNull();
  });

  it('says when nothing is left to ease', () => {
    const { ease, message } = reactTo(SPIKE, guard({ action: 'ease' }), { ...initialKnobs(), lr: 0 });
    expect(ease).toEqual({});
    expect(message).toMatch(/nothing is left to ease$/u);
  });
});

it('a batch that was refused as a whole is dropped, whatever the config says of spikes', () => {
  const refused = { iteration: 4, cause: 'bad_batch', reason: 'there were no samples', spot: null } as const;
  for (const action of ['continue', 'pause', 'ease']) {
    expect(reactTo(refused, guard({ action }), initialKnobs())).toEqual({
      kind: 'update-rejected',
      message: 'update 4 was dropped: there were no samples',
      episodes: [],
      ease: {},
      pause: null,
    });
  }
});

it('an update that the KL limit ended says where, and names the episodes', () => {
  const spot = { minibatch: 9, kl: 0.0712, episodes: [{ id: 'e3', logRatio: 0.5 }] };
  expect(describeStop(8, spot)).toEqual({
    message:
      'update 8 ended after minibatch 9: its KL is 0.0712, above kl_limit; largest |log ratio|: e3 (0.5)',
    episodes: ['e3'],
  });
});
