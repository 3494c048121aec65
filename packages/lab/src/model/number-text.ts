/** Numbers and bottlenecks as the tables of the model show them. */
import type { ScalingPoint } from '@shardlab/model';

export const wholeNumber = (value: number): string => Math.round(value).toLocaleString('en-US');

/** Three digits. */
export const significant = (value: number): string =>
  Math.abs(value) >= 1000 ? wholeNumber(value) : String(Number(value.toPrecision(3)));

export const bottleneckInWords = (bottleneck: ScalingPoint['bottleneck']): string =>
  bottleneck === null
    ? '–'
    : `${resourceNames[bottleneck.resource]}, ${Math.round(bottleneck.share * 100)} %`;

const resourceNames = {
  cores: 'cores',
  sessionThread: 'session thread',
  writerThread: 'writer thread',
  redoDevice: 'disk',
  partitionMaintenance: 'partition maintenance',
  indexBlock: 'write lock',
} as const;
