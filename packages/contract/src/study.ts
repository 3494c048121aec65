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
    kind: Type.String({ description: 'White paper, blog post, …, with its publisher' }),
    date: Type.String({ description: 'Year, month and day, as far as the document tells: 2015-03' }),
    about: Type.String({ description: 'What it describes and claims, in a sentence or two' }),
  },
  closed,
);
export type StudyDocument = Static<typeof StudyDocument>;

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

/** Numbers as a document prints them, to be shown beside those that are measured here. */
export const DocumentTable = Type.Object(
  {
    id: Type.String({ description: 'Unique in its study' }),
    title: Type.String(),
    source: Type.String({ description: 'Where the document has them' }),
    columns: Type.Array(Type.Object({ name: Type.String(), title: Type.String() }, closed)),
    rows: Type.Array(Type.Array(Type.Union([ParamValue, Type.Null()])), {
      description: 'A value for each column',
    }),
  },
  closed,
);
export type DocumentTable = Static<typeof DocumentTable>;

export const StudyInfo = Type.Object(
  {
    id: Type.String(),
    document: StudyDocument,
    claims: Type.Array(Type.String(), { description: 'Ids of its claims, in their order' }),
    notMeasured: Type.Array(Type.Object({ statement: Type.String(), reason: Type.String() }, closed), {
      description: 'Statements of the document that no scenario measures',
    }),
    notBuilt: Type.Array(Type.Object({ feature: Type.String(), instead: Type.String() }, closed), {
      description: 'What the document names and the engine does not have, and what it has instead',
    }),
    slips: Type.Array(Slip, { description: "Where the document's own numbers contradict each other" }),
    tables: Type.Array(DocumentTable),
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
