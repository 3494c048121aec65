/** Resolves a hardware file to plain costs. */
import type { ClusterCosts } from '../sim/costs.ts';
import type { FreeParameter, HardwareFile, Sourced, SourcedNumber } from './hardware-file.ts';

/** Throws a RangeError for a number that names no parameter of the file. */
export function resolveHardware({
  costs,
  parameters,
}: Pick<HardwareFile, 'costs' | 'parameters'>): ClusterCosts {
  return resolve(costs, parameters) as ClusterCosts;
}

function resolve(node: unknown, parameters: Record<string, FreeParameter>): unknown {
  if (node === null || typeof node !== 'object') return node;
  if ('source' in node) return numberOf(node as SourcedNumber, parameters);
  return Object.fromEntries(Object.entries(node).map(([name, child]) => [name, resolve(child, parameters)]));
}

function numberOf(leaf: SourcedNumber, parameters: Record<string, FreeParameter>): unknown {
  if (leaf.source !== 'fitted') return leaf.value;
  const parameter = parameters[leaf.parameter];
  if (parameter === undefined) throw new RangeError(`there is no free parameter "${leaf.parameter}"`);
  return leaf.times * parameter.value;
}

/** The file with other values of its free parameters. */
export function withParameters(
  hardware: HardwareFile,
  values: Readonly<Record<string, number>>,
): HardwareFile {
  const parameters = Object.fromEntries(
    Object.entries(hardware.parameters).map(([name, parameter]) => [
      name,
      { ...parameter, value: values[name] ?? parameter.value },
    ]),
  );
  return { ...hardware, parameters };
}

/** Each number or switch of a tree with its path, in the order of the tree: for tables and for checks. */
export function sourcesOf(costs: Sourced<ClusterCosts>): { path: string; leaf: SourcedNumber }[] {
  const leaves: { path: string; leaf: SourcedNumber }[] = [];
  const walk = (node: unknown, path: string) => {
    if (node === null || typeof node !== 'object') return;
    if ('source' in node) leaves.push({ path, leaf: node as SourcedNumber });
    else
      for (const [name, child] of Object.entries(node)) walk(child, path === '' ? name : `${path}.${name}`);
  };
  walk(costs, '');
  return leaves;
}
