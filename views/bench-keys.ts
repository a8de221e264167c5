import { type KeyBinding, needsLiveRun, needsRun } from './key-binding.ts';

/** Keys that turn knobs, and those of a knob that shows its preview. */
export const KNOB_KEYS = {
  clipDown: {
    keys: ['['],
    screens: ['overview'],
    label: 'clip -',
    description: 'PPO clip range down',
    disabled: needsLiveRun,
  },
  clipUp: {
    keys: [']'],
    screens: ['overview'],
    label: 'clip +',
    description: 'PPO clip range up',
    disabled: needsLiveRun,
  },
  klDown: {
    keys: ['{'],
    screens: ['overview'],
    label: 'KL -',
    description: 'KL coefficient down',
    disabled: needsLiveRun,
  },
  klUp: {
    keys: ['}'],
    screens: ['overview'],
    label: 'KL +',
    description: 'KL coefficient up',
    disabled: needsLiveRun,
  },
  nextKnob: {
    keys: ['tab'],
    screens: ['overview'],
    label: 'next knob',
    description: 'select the next knob for - and +',
    disabled: needsRun,
  },
  previousKnob: {
    keys: ['shift-tab'],
    screens: ['overview'],
    label: 'previous knob',
    description: 'select the previous knob for - and +',
    disabled: needsRun,
  },
  knobDown: {
    keys: ['-'],
    screens: ['overview'],
    label: 'knob -',
    description: 'selected knob down',
    disabled: needsLiveRun,
  },
  knobUp: {
    keys: ['+', '='],
    screens: ['overview'],
    label: 'knob +',
    description: 'selected knob up',
    disabled: needsLiveRun,
  },
  setKnob: {
    keys: ['s'],
    screens: ['overview'],
    label: 'set knob',
    description: 'type a value for the selected knob, or for others by their names: 0.1, or clip=0.1 kl=0.02',
    disabled: needsLiveRun,
  },
  undo: {
    keys: ['u'],
    screens: ['overview'],
    label: 'undo knob',
    description: 'take back the newest change of a knob by a person; again: the one before',
    disabled: (context) =>
      needsLiveRun(context) ?? (context.canUndo ? null : 'no change of a knob is left to take back'),
  },
  commit: {
    keys: ['enter'],
    screens: ['knob'],
    label: 'set now',
    description: 'while a knob shows its preview: set it now',
  },
  drop: {
    keys: ['escape', 'u'],
    screens: ['knob'],
    label: 'drop',
    description: 'while a knob shows its preview: leave it as it is',
  },
} as const satisfies Record<string, KeyBinding>;

/** Keys for the charts. */
export const CHART_KEYS = {
  chartPage: {
    keys: ['c'],
    screens: ['overview'],
    label: 'charts',
    description:
      'other charts: the run, the update (losses, entropy, staleness), reward by component, success by family',
    disabled: needsRun,
  },
  cursorLeft: {
    keys: ['left'],
    screens: ['overview'],
    label: 'earlier',
    description: 'read the charts an iteration earlier',
    disabled: needsRun,
  },
  cursorRight: {
    keys: ['right'],
    screens: ['overview'],
    label: 'later',
    description: 'read the charts an iteration later; past the newest they follow the run',
    disabled: needsRun,
  },
  zoomIn: {
    keys: ['z'],
    screens: ['overview'],
    label: 'zoom in',
    description: 'show half as many iterations; without a cursor the newest, as they come',
    disabled: needsRun,
  },
  zoomOut: {
    keys: ['Z'],
    screens: ['overview'],
    label: 'zoom out',
    description: 'show twice as many iterations',
    disabled: needsRun,
  },
  panLeft: {
    keys: [','],
    screens: ['overview'],
    label: 'pan left',
    description: 'zoomed in: earlier iterations',
    disabled: needsRun,
  },
  panRight: {
    keys: ['.'],
    screens: ['overview'],
    label: 'pan right',
    description: 'zoomed in: later iterations; at the newest they follow the run',
    disabled: needsRun,
  },
  smooth: {
    keys: ['a'],
    screens: ['overview'],
    label: 'smooth',
    description: 'running mean of the curves: none, light, heavy',
    disabled: needsRun,
  },
  logScale: {
    keys: ['L'],
    screens: ['overview'],
    label: 'log scale',
    description: 'logarithmic scales where all values are above 0',
    disabled: needsRun,
  },
  resetCharts: {
    keys: ['0'],
    screens: ['overview'],
    label: 'whole charts',
    description: 'the charts as they were at first: everything, following, not smoothed',
    disabled: needsRun,
  },
} as const satisfies Record<string, KeyBinding>;
