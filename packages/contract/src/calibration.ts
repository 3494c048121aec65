/** The measurement of what the engine's work costs on the server's machine, for the model. */
import Type, { type Static } from 'typebox';
import { ErrorBody } from './error-body.ts';

const closed = { additionalProperties: false } as const;
const nullable = <T extends Type.TSchema>(schema: T, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });

export const StartCalibration = Type.Object(
  {
    sliceMs: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 1_000,
        description: 'Duration of one slice of a workload, milliseconds; default 80',
      }),
    ),
    rounds: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10, description: 'Slices of each workload; default 3' }),
    ),
  },
  closed,
);
export type StartCalibration = Static<typeof StartCalibration>;

export const Calibration = Type.Object(
  {
    state: Type.Union([
      Type.Literal('running'),
      Type.Literal('done'),
      Type.Literal('cancelled'),
      Type.Literal('failed'),
    ]),
    startedAtMs: Type.Integer(),
    endedAtMs: nullable(Type.Integer()),
    what: Type.String({ description: 'What is measured, or was last: "a sharded queue"' }),
    share: Type.Number({ minimum: 0, maximum: 1, description: 'How much of the work is done' }),
    etaMs: nullable(Type.Integer({ minimum: 0 }), 'Estimated time until it ends; null once it has'),
    error: nullable(ErrorBody, 'Why it failed'),
  },
  closed,
);
export type Calibration = Static<typeof Calibration>;

export const CalibrationAnswer = Type.Object(
  {
    calibration: nullable(Calibration, 'The latest since the server began; null for none'),
    expectedMs: Type.Integer({
      description: 'How long one takes: as the latest did, else on a quiet machine',
    }),
  },
  closed,
);
export type CalibrationAnswer = Static<typeof CalibrationAnswer>;
