/** The schema of a scenario, narrowed to the parameters, systems and figures of a program. */
import {
  axisOf,
  Hardware,
  referencesMax,
  Scenario,
  scenarioVersion,
  sweepOfSystems,
  systemsOf,
} from '@shardlab/contract';
import Type, { type TSchema } from 'typebox';
import type { Program } from '../programs/program.ts';

const closed = { additionalProperties: false } as const;

/** A folder of scenarios has many of one program. */
const schemas = new WeakMap<Program, TSchema>();

export function scenarioSchemaOf(program: Program): TSchema {
  const known = schemas.get(program);
  if (known !== undefined) return known;
  const schema = makeSchema(program);
  schemas.set(program, schema);
  return schema;
}

function makeSchema(program: Program): TSchema {
  const { properties } = Scenario;
  const systems = systemsOf(oneOf(program.systems));
  const parameters = Object.fromEntries(
    program.parameters.map(({ name, schema }) => [name, Type.Optional(schema)]),
  );
  const sweep = Type.Object(
    Object.fromEntries(
      program.parameters.map(({ name, title, schema }) => [
        name,
        Type.Optional(axisOf(schema, `Values of: ${title}`)),
      ]),
    ),
    { ...closed, description: 'Axes: one point for every combination of values, for each system' },
  );
  const quick = Type.Object(
    { ...properties.quick.properties, systems: Type.Optional(systems), sweep: Type.Optional(sweep) },
    closed,
  );
  const reference = Type.Object(
    {
      ...properties.references.items.properties,
      figure: Type.Union(program.figures.map(({ name }) => Type.Literal(name))),
      system: oneOf(program.systems),
    },
    closed,
  );
  return Type.Object(
    {
      ...properties,
      program: Type.Literal(program.id, { description: program.title }),
      systems,
      parameters: Type.Object(parameters, {
        ...closed,
        description: 'Parameters that have the same value at every point',
      }),
      sweep,
      sweepOf: Type.Optional(sweepOfSystems(sweep)),
      quick: Type.Optional(quick),
      references: Type.Optional(
        Type.Array(reference, {
          maxItems: referencesMax,
          description: "The document's own figures, drawn as labelled lines, never as points",
        }),
      ),
    },
    { ...closed, title: `Shardlab scenario, version ${scenarioVersion}: ${program.title}` },
  );
}

/** The schema for a document whose program is missing or unknown: its error lists the programs. */
export const schemaOfAnyProgram = (programs: readonly Program[]): TSchema =>
  Type.Object({ ...Scenario.properties, program: oneOf(programs) }, closed);

const oneOf = (named: readonly { id: string; title: string }[]) =>
  Type.Union(named.map(({ id, title }) => Type.Literal(id, { description: title })));

/** The text of `scenarios/scenario.schema.json`: one of the programs' schemas, for editors. */
export const scenarioSchemaText = (programs: readonly Program[]): string =>
  schemaText({ title: 'Shardlab scenario', anyOf: programs.map(scenarioSchemaOf) });

/** The text of `scenarios/hardware/hardware.schema.json`. */
export const hardwareSchemaText = (): string => schemaText(Hardware);

function schemaText(of: object): string {
  const schema = JSON.parse(JSON.stringify(of)) as Record<string, unknown>;
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, null, 2)}\n`;
}
