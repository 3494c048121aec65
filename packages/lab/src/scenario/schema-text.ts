import { Scenario } from '@shardlab/contract';

/** The text of `scenarios/scenario.schema.json`: the contract's schema as plain JSON Schema, for editors. */
export function scenarioSchemaText(): string {
  const schema = JSON.parse(JSON.stringify(Scenario)) as Record<string, unknown>;
  return `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, null, 2)}\n`;
}
