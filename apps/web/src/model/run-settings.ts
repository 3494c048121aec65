/** The settings of a run in words, to be compared with those of other runs; ids and texts are left out. */
import type { ProgramInfo, Run } from '@shardlab/contract';
import { machineFacts } from './environment-facts.ts';
import { formatMs } from './format.ts';

const leftOut = new Set(['$schema', 'id', 'title', 'question', 'claims', 'references', 'version', 'quick']);

const names: Readonly<Record<string, string>> = {
  study: 'Document',
  sweepOf: 'Fewer values for',
  kills: 'Kill of one trial',
  warmupMs: 'Warm-up',
  measureMs: 'Measured time',
  drainMs: 'Drain at most',
};

/** Settings by name. `program` gives the titles of its parameters; without it they have their names in the scenario. */
export function settingsOf(
  { scenario, scale, environment }: Pick<Run, 'scenario' | 'scale' | 'environment'>,
  program: Pick<ProgramInfo, 'parameters'> | undefined,
): Map<string, string> {
  const { parameters, sweep, phases, ...others } = {
    ...scenario,
    ...(scale === 'quick' ? scenario.quick : undefined),
  };
  const titleOf = (name: string) =>
    capitalized(program?.parameters.find((each) => each.name === name)?.title ?? name);
  return new Map([
    ['Scale', scale] as const,
    ...Object.entries(parameters).map(([name, value]) => [titleOf(name), String(value)] as const),
    ...Object.entries(sweep).map(([name, values]) => [`${titleOf(name)}, swept`, inWords(values)] as const),
    ...Object.entries(phases).map(([name, ms]) => [names[name] ?? name, formatMs(Number(ms))] as const),
    ...Object.entries(others)
      .filter(([name, value]) => !leftOut.has(name) && value !== undefined && value !== null)
      .map(([name, value]) => [nameOf(name), inWords(value)] as const),
    ...(environment === null ? [] : machineFacts(environment)).map(
      ({ name, value }) => [name, value] as const,
    ),
  ]);
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
const nameOf = (name: string): string => names[name] ?? capitalized(name);

function inWords(value: unknown): string {
  if (Array.isArray(value)) return value.map(inWords).join(', ');
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .map(([name, inner]) => `${name} ${inWords(inner)}`)
    .join(' ');
}
