/**
 * A lesson: a guided experiment as data. It asks a question, takes a guess, names the scenario that answers it, and says in
 * sentences over measured quantities what happened and where sessions waited. No sentence contains a result.
 */
import Type, { type Static } from 'typebox';
import { FigureInfo, Params } from './parameter.ts';
import { FaultKind, Scenario } from './scenario.ts';

const closed = { additionalProperties: false } as const;

export const lessonLimits = {
  quantitiesMax: 24,
  casesMax: 6,
  sentencesMax: 8,
  textMax: 600,
  /** Maximum estimated duration of a lesson's run that a visitor is expected to wait for. */
  runMsMax: 30_000,
} as const;

const text = (description: string) =>
  Type.String({ minLength: 1, maxLength: lessonLimits.textMax, description });

const QuantityName = Type.String({ pattern: '^[a-z][A-Za-z0-9]{0,39}$' });

export const PointSelector = Type.Object(
  { system: Type.String(), params: Params },
  {
    ...closed,
    description: 'The one point of the scenario with this system and, among others, these parameters',
  },
);
export type PointSelector = Static<typeof PointSelector>;

export const QuantityFormat = Type.Union([...FigureInfo.properties.format.anyOf, Type.Literal('times')], {
  description: 'How it is written; times: "11.2 times"',
});
export type QuantityFormat = Static<typeof QuantityFormat>;

const format = QuantityFormat;
const at = PointSelector;
const two = Type.Unsafe<[string, string]>(Type.Array(QuantityName, { minItems: 2, maxItems: 2 }));

/** A number that a run yields. */
export const Quantity = Type.Union([
  Type.Object(
    { figure: Type.String({ description: 'Name of a figure of the program' }), at, format },
    closed,
  ),
  Type.Object(
    {
      wait: Type.String({ description: 'Wait event: how many sessions were in it, on average' }),
      at,
      format,
    },
    closed,
  ),
  Type.Object(
    {
      fault: FaultKind,
      take: Type.Union([
        Type.Literal('takeoverMs'),
        Type.Literal('outageMs'),
        Type.Literal('before'),
        Type.Literal('during'),
        Type.Literal('after'),
      ]),
      at,
      format,
    },
    { ...closed, description: 'Of the first fault of its kind: its times, or the dequeue rates around it' },
  ),
  Type.Object(
    {
      integrity: Type.Union([Type.Literal('lost'), Type.Literal('duplicated'), Type.Literal('outOfOrder')]),
      at,
      format,
    },
    closed,
  ),
  Type.Object({ ratio: two, format }, { ...closed, description: 'The first divided by the second' }),
  Type.Object({ difference: two, format }, { ...closed, description: 'The first less the second' }),
]);
export type Quantity = Static<typeof Quantity>;

/** Cases ascend by `below` and the last has none, so that each value has exactly one. */
const below = Type.Optional(Type.Number({ description: 'The case of values under this; the last has none' }));

export const Guess = Type.Union([
  Type.Object(
    {
      kind: Type.Literal('choice'),
      of: QuantityName,
      ask: text('What is to be guessed'),
      options: Type.Array(Type.Object({ below, label: text('The answer') }, closed), {
        minItems: 2,
        maxItems: lessonLimits.casesMax,
      }),
    },
    closed,
  ),
  Type.Object(
    {
      kind: Type.Literal('slider'),
      of: QuantityName,
      ask: text('What is to be guessed'),
      min: Type.Number(),
      max: Type.Number(),
      step: Type.Number({ exclusiveMinimum: 0 }),
    },
    closed,
  ),
]);
export type Guess = Static<typeof Guess>;

/** `{name}` in a text stands for the quantity of that name, with its unit. */
export const Sentence = Type.Union([
  text('Said of every result'),
  Type.Object(
    {
      by: QuantityName,
      cases: Type.Array(Type.Object({ below, say: text('Said of values in this case') }, closed), {
        minItems: 2,
        maxItems: lessonLimits.casesMax,
      }),
    },
    { ...closed, description: 'One of several, by the value of a quantity' },
  ),
]);
export type Sentence = Static<typeof Sentence>;

const Sentences = Type.Array(Sentence, { maxItems: lessonLimits.sentencesMax });

/** The id, the title and the question of a lesson are those of its scenario. */
export const Lesson = Type.Object(
  {
    position: Type.Integer({ minimum: 1, description: 'Lessons are listed in this order' }),
    topic: text('One or two words'),
    background: text('What one must know to guess'),
    scenario: Scenario,
    quantities: Type.Record(QuantityName, Quantity, {
      maxProperties: lessonLimits.quantitiesMax,
      description: 'By name; a ratio or a difference is of quantities that stand before it',
    }),
    guess: Guess,
    happened: Type.Array(Sentence, { minItems: 1, maxItems: lessonLimits.sentencesMax }),
    waited: Type.Object(
      {
        points: Type.Array(Type.Object({ as: text('What the point is'), at }, closed), {
          maxItems: 4,
          description: 'Points whose longest waits are shown, in the order of the list',
        }),
        sentences: Sentences,
      },
      closed,
    ),
  },
  { ...closed, title: 'Shardlab lesson' },
);
export type Lesson = Static<typeof Lesson>;

export const LessonEntry = Type.Object({ lesson: Lesson, estimatedMs: Type.Integer() }, closed);
export type LessonEntry = Static<typeof LessonEntry>;

export const LessonList = Type.Object({ lessons: Type.Array(LessonEntry) }, closed);
export type LessonList = Static<typeof LessonList>;
