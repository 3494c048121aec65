/** A run as a file, which another server imports: all that this one shows of it. */
import Type, { type Static } from 'typebox';
import { Run } from './run.ts';
import { Tick } from './run-event.ts';

export const ExportedRun = Type.Object(
  {
    ...Run.properties,
    ticks: Type.Optional(
      Type.Array(Tick, {
        description:
          'In the order of their times: the samples that are kept of its trials, which its replay shows',
      }),
    ),
  },
  { additionalProperties: false },
);
export type ExportedRun = Static<typeof ExportedRun>;
