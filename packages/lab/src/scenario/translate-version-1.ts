/**
 * The same scenario as version 2, for a document of version 1, which had one shape of workload: `queue` and `workload` held
 * its parameters, and the axes of the sweep included the implementation.
 */
import { scenarioVersion } from '@shardlab/contract';

type Fields = Record<string, unknown>;

export const isVersion1 = (value: unknown): value is Fields => isFields(value) && value.version === 1;

/** Keeps what it does not know, so that a fault of the original is one of the translation too. */
export function translateVersion1({
  document,
  queue,
  workload,
  sweep,
  quick,
  references,
  ...rest
}: Fields): Fields {
  const { type, ...ofQueue } = fieldsOf(queue);
  const axes = axesOf(sweep);
  const single = Object.entries({ ...ofQueue, ...fieldsOf(workload) }).filter(
    ([name]) => !(name in axes.sweep),
  );
  return {
    ...rest,
    version: scenarioVersion,
    ...(document === 'A' ? { study: 'white-paper' } : {}),
    program: type ?? 'queue',
    ...axes,
    parameters: Object.fromEntries(single),
    ...(isFields(quick)
      ? { quick: { ...quick, ...(quick.sweep === undefined ? {} : axesOf(quick.sweep)) } }
      : {}),
    ...(Array.isArray(references) ? { references: references.map(referenceOf) } : {}),
  };
}

function axesOf(sweep: unknown): { systems?: unknown; sweep: Fields } {
  const { implementation, ...others } = fieldsOf(sweep);
  return { ...(implementation === undefined ? {} : { systems: implementation }), sweep: others };
}

function referenceOf(reference: unknown): unknown {
  if (!isFields(reference)) return reference;
  const { metric, implementation, ...rest } = reference;
  return { ...rest, figure: metric, system: implementation };
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
