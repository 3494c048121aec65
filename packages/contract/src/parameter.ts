/** Parameters and figures of points by name, and what clients need to show them. */
import Type, { type Static } from 'typebox';

const closed = { additionalProperties: false } as const;

export const ParamValue = Type.Union([Type.Number(), Type.String({ maxLength: 80 })]);
export type ParamValue = Static<typeof ParamValue>;

export const Params = Type.Record(Type.String(), ParamValue, {
  description: 'Parameters of the program by name',
});
export type Params = Static<typeof Params>;

/** A parameter that is a number; 0 if the program does not have it. */
export function numberParam(params: Params, name: string): number {
  const value = params[name];
  return typeof value === 'number' ? value : 0;
}

/** A parameter of a program, and how it is put in words. */
export const ParameterInfo = Type.Object(
  {
    name: Type.String(),
    title: Type.String({ description: 'Label of an axis: "payload bytes"' }),
    over: Type.String({ description: 'Completes a title: "Dequeue rate over the payload size"' }),
    one: Type.Optional(Type.String({ description: 'One of it, in words: "{} thread"; {} is the value' })),
    many: Type.Optional(Type.String({ description: 'Other numbers of it: "{} threads"' })),
    names: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'For a name, its value in words' }),
    ),
  },
  closed,
);
export type ParameterInfo = Static<typeof ParameterInfo>;

/** A figure that a program measures. */
export const FigureInfo = Type.Object(
  {
    name: Type.String(),
    label: Type.String({ description: 'Short name, for the control that selects it' }),
    title: Type.String({ description: 'Title of its chart, to be followed by "over threads"' }),
    unit: Type.String(),
    format: Type.Union([
      Type.Literal('rate'),
      Type.Literal('nanoseconds'),
      Type.Literal('microseconds'),
      Type.Literal('milliseconds'),
      Type.Literal('cores'),
      Type.Literal('count'),
      Type.Literal('ratio'),
    ]),
    ifSteady: Type.Optional(
      Type.Boolean({ description: 'Whether a point is without it if its repeats are not steady' }),
    ),
    growsWith: Type.Optional(
      Type.String({ description: 'A parameter to which the ideal is proportional; charts show a guide' }),
    ),
  },
  closed,
);
export type FigureInfo = Static<typeof FigureInfo>;

export const ProgramInfo = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    parameters: Type.Array(ParameterInfo, {
      description: 'From the outermost loop of a sweep to the innermost',
    }),
    figures: Type.Array(FigureInfo, { description: 'The first is the one that charts show' }),
    hasTicks: Type.Boolean({
      description:
        'Whether its trials report their state while they run; otherwise there is nothing between points',
    }),
  },
  closed,
);
export type ProgramInfo = Static<typeof ProgramInfo>;

export const SystemInfo = Type.Object(
  {
    id: Type.String(),
    title: Type.String(),
    about: Type.String({ description: 'What it is, in a sentence' }),
  },
  closed,
);
export type SystemInfo = Static<typeof SystemInfo>;

/** "16 threads", "backlog of 1,000", "rows in the same transaction" */
export function paramInWords(
  { one, many, names }: Pick<ParameterInfo, 'one' | 'many' | 'names'>,
  value: ParamValue,
): string {
  if (typeof value === 'string') return names?.[value] ?? value;
  const form = (value === 1 ? one : undefined) ?? many ?? one ?? '{}';
  return form.replace('{}', value.toLocaleString('en-US'));
}
