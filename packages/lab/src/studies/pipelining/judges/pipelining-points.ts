/** The points of the study's two programs, and the values that judges read from them. */
import { figureOf, numberParam, type Point } from '@shardlab/contract';
import { figureSample } from '../../../judging/point-samples.ts';
import type { Sample } from '../../../judging/sample.ts';
import type { PipelineCaseName } from '../../../programs/pipelining/cases.ts';
import type { Configuration, PipeliningParams } from '../../../programs/pipelining/pipelining-params.ts';

/** All are busy past this share of them, however the kernel counts. */
const fullShare = 0.9;

export const producersOf = ({ params }: Point): number => numberParam(params, 'producers');
export const payloadOf = ({ params }: Point): number => numberParam(params, 'payloadBytes');
/** Sends a second of each producer; 0 for as many as it can. */
export const pacedOf = ({ params }: Point): number => Number(params.sendsPerSec ?? 0);
export const subscribersOf = ({ params }: Point): number => numberParam(params, 'subscribers');
export const configurationOf = ({ params }: Point) => params.configuration as Configuration;

export const rateOf = (point: Point): Sample => figureSample(point, 'messagesPerSec');

export const loadPoints = (points: readonly Point[]): Point[] =>
  points.filter(({ program }) => program === 'pipelining');

export const slowConsumerPoints = (points: readonly Point[]): Point[] =>
  points.filter(({ program }) => program === 'slow-consumer');

export const casePoints = (points: readonly Point[], name: PipelineCaseName): Point[] =>
  points.filter(({ program, params }) => program === 'pipelining-cases' && params.case === name);

/** Groups of points that are equal in all parameters but these. */
export function groupsBy(points: readonly Point[], ...axes: (keyof PipeliningParams)[]): Point[][] {
  const rest = ({ params }: Point) =>
    JSON.stringify({ ...params, ...Object.fromEntries(axes.map((axis) => [axis, undefined])) });
  return [...Map.groupBy(loadPoints(points), rest).values()];
}

export const fillsCores = (point: Point, cores: number | null): boolean =>
  cores !== null && figureOf(point, 'cpuCores') >= fullShare * cores;
