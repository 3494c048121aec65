/** A study as clients see it: the document, and what of it cannot be measured here. */
import Type, { type Static } from 'typebox';
import { ParamValue, ProgramInfo, SystemInfo } from './parameter.ts';
import { patterns } from './patterns.ts';

const closed = { additionalProperties: false } as const;

export const StudyDocument = Type.Object(
  {
    letter: Type.Optional(
      Type.String({
        pattern: patterns.documentLetter.pattern,
        description: 'Begins the ids of most of its claims',
      }),
    ),
    title: Type.String(),
    originalTitle: Type.Optional(Type.String({ description: 'In its language, if that is not English' })),
    kind: Type.String({ description: 'White paper, blog post, …, with its publisher' }),
    author: Type.String({ description: 'Who wrote it, or a note that the document names no author' }),
    date: Type.String({ description: 'Year, month and day, as far as the document gives it: 2015-03' }),
    addresses: Type.Array(
      Type.Object({ title: Type.String({ description: 'What is there' }), address: Type.String() }, closed),
      { description: 'On the web, as the document itself gives them; it may give none' },
    ),
    language: Type.Optional(
      Type.String({ description: 'Language tag of its text: zh; left out for English' }),
    ),
    about: Type.String({ description: 'What it describes and claims, in a sentence or two' }),
  },
  closed,
);
export type StudyDocument = Static<typeof StudyDocument>;

/** A document's statement about a claim, in its own words. */
export const ClaimStatement = Type.Object(
  {
    claim: Type.String({ description: 'Id of the claim' }),
    where: Type.String({
      description: 'Heading, figure, table or section, as a reader of the document finds it',
    }),
    stated: Type.String({
      description:
        "Quoted, with the document's number in its own unit; ` … ` between passages that are apart",
    }),
    translation: Type.Optional(
      Type.String({ description: 'Of `stated`, in English; left out for a document in English' }),
    ),
  },
  closed,
);
export type ClaimStatement = Static<typeof ClaimStatement>;

/** A contradiction of a document's own numbers. */
export const Slip = Type.Object(
  {
    claims: Type.Array(Type.String(), { description: 'Ids of the claims that rest on these numbers' }),
    what: Type.String({ description: 'The quantity' }),
    slip: Type.String({ description: 'What contradicts what, with both places' }),
  },
  closed,
);
export type Slip = Static<typeof Slip>;

/** Numbers as a document prints them, shown beside those that are measured here. */
export const DocumentTable = Type.Object(
  {
    id: Type.String({ description: 'Unique in its study' }),
    title: Type.String(),
    source: Type.String({ description: 'Where the document has them' }),
    columns: Type.Array(Type.Object({ name: Type.String(), title: Type.String() }, closed)),
    rows: Type.Array(Type.Array(Type.Union([ParamValue, Type.Null()])), {
      description: 'A value for each column',
    }),
    curves: Type.Optional(
      Type.Object(
        {
          program: Type.String({ description: 'Whose figures are drawn beside them' }),
          over: Type.String({ description: 'The column and parameter of the horizontal axis' }),
          system: Type.String({ description: 'The system to which they are compared' }),
          params: Type.Record(Type.String(), ParamValue, {
            description: 'Parameters of the points that repeat them',
          }),
        },
        {
          ...closed,
          description:
            'Left out if no column is a curve. Those that are named like a figure of the program are',
        },
      ),
    ),
  },
  closed,
);
export type DocumentTable = Static<typeof DocumentTable>;

/** The chart that a run is about. */
export const HeroChart = Type.Union(
  [
    Type.Literal('figure'),
    Type.Literal('rate over time'),
    Type.Literal('cpu over time'),
    Type.Literal('lanes'),
    Type.Literal('sequence'),
  ],
  {
    description:
      'figure: what it measures, over its sweep; rate over time: with the faults or the conversion of the scenario marked; cpu over time: of each instance; lanes: the events of each session after one message, or who had a service when; sequence: one transaction, call by call',
  },
);
export type HeroChart = Static<typeof HeroChart>;

export const StudyHero = Type.Object(
  {
    program: Type.Optional(Type.String({ description: 'Only of scenarios of this program' })),
    figure: Type.Optional(Type.String({ description: 'Only of scenarios that replay this figure' })),
    chart: HeroChart,
  },
  closed,
);
export type StudyHero = Static<typeof StudyHero>;

export const StudyInfo = Type.Object(
  {
    id: Type.String(),
    document: StudyDocument,
    claims: Type.Array(Type.String(), { description: 'Ids of its claims, in their order' }),
    statements: Type.Array(ClaimStatement, {
      description: 'What the document states of each claim, in their order',
    }),
    notMeasured: Type.Array(Type.Object({ statement: Type.String(), reason: Type.String() }, closed), {
      description: 'Statements of the document that no scenario measures',
    }),
    notBuilt: Type.Array(Type.Object({ feature: Type.String(), instead: Type.String() }, closed), {
      description: 'What the document names and the engine does not have, and what it has instead',
    }),
    slips: Type.Array(Slip, { description: "Where the document's own numbers contradict each other" }),
    tables: Type.Array(DocumentTable),
    heroes: Type.Array(StudyHero, {
      description:
        'The chart that runs of its scenarios are about; the first that applies. None: rate over time with faults or a conversion, otherwise the figure',
    }),
  },
  closed,
);
export type StudyInfo = Static<typeof StudyInfo>;

export const StudyList = Type.Object(
  {
    studies: Type.Array(StudyInfo),
    programs: Type.Array(ProgramInfo),
    systems: Type.Array(SystemInfo),
  },
  closed,
);
export type StudyList = Static<typeof StudyList>;
