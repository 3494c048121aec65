/** A program that only the toy study has: children take turns with one box. It has the shortest trials, whose figures are computed. */
import Type from 'typebox';
import type { Program } from '../../../src/programs/program.ts';
import { measuredOutcome } from '../../../src/trial/trial.ts';

const turnsPerSec = 120;

export const toyProgram: Program = {
  id: 'toy-box',
  title: 'Children who take turns with a toy box',
  parameters: [
    {
      name: 'children',
      title: 'children',
      over: 'children',
      one: '{} child',
      many: '{} children',
      schema: Type.Integer({ minimum: 1, maximum: 8, description: 'Children who share the box' }),
    },
  ],
  figures: [
    {
      name: 'turnsPerChild',
      label: 'Turns',
      title: 'Turns of each child',
      unit: 'turns per second',
      format: 'rate',
    },
  ],
  systems: [
    { id: 'wooden-box', title: 'Wooden box', about: 'A box with one lid' },
    { id: 'locked-box', title: 'Locked box', about: 'A box whose key no machine has' },
  ],
  missing: (systems) =>
    systems.includes('locked-box') ? ['locked-box needs its key; ask who locked it'] : [],
  check: () => [],
  estimateTrialMs: (_, { measureMs }) => measureMs,
  trialBytesMax: () => 1024,
  run: async ({ trial, phases }) =>
    measuredOutcome({
      figures: { turnsPerChild: turnsPerSec / Number(trial.params.children) },
      integrity: { lost: 0, duplicated: 0, damaged: 0, outOfOrder: 0, left: 0 },
      measuredMs: phases.measureMs,
    }),
};
