import { Hardware, Scenario } from '@shardlab/contract';

/** The text of `scenarios/scenario.schema.json`: the contract's schema as plain JSON Schema, for editors. */
export const scenarioSchemaText = (): string => schemaText(Scenario);

/** The text of `scenarios/hardware/hardware.schema.json`. */
export const hardwareSchemaText = (): string => schemaText(Hardware);

function schemaText(of: object): string {
  const schema = JSON.parse(JSON.stringify(of)) as Record<string, unknown>;
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, null, 2)}\n`;
}
