/** Checks that a schema cannot express: limits on products of fields, and consistency between fields. */
import { nearestName, queueLimits, type Scenario, scenarioLimits } from '@shardlab/contract';
import type { StudyRegistry } from '../studies/registry.ts';
import { checkConversion } from './conversion-checks.ts';
import { combinationCount, scaleScenario } from './expand-sweep.ts';
import { checkFaults } from './fault-checks.ts';
import type { ScenarioProblem } from './scenario-problems.ts';

/** The engine's limit for one transaction. */
const transactionBytesMax = 32 * 1024 ** 2;
/** Sessions stage their transactions in memory; all of them together must fit. */
const stagedBytesMax = 1024 ** 3;
/** The maximum backlog of all instances together must fit on an ordinary disk. */
const backlogBytesMax = 16 * 1024 ** 3;
/** A longer run is probably a typing error. */
const runMsMax = 24 * 60 * 60_000;

/** The faults of a scenario that matches the schema; empty if it can run. */
export function crossCheckScenario(scenario: Scenario, studies: StudyRegistry): ScenarioProblem[] {
  return [
    ...checkStudy(scenario, studies),
    ...checkClaims(scenario, studies),
    ...checkTopic(scenario),
    ...checkDurability(scenario),
    ...checkRows(scenario),
    ...checkSize(scenario),
    ...checkMemory(scenario),
    ...checkStreams(scenario),
    ...checkRoundTrips(scenario),
    ...checkFaults(scenario),
    ...checkConversion(scenario),
    ...checkSessionPlaces(scenario),
    ...checkQuick(scenario),
    ...checkReferences(scenario),
  ];
}

function checkStudy({ study }: Scenario, { studies }: StudyRegistry): ScenarioProblem[] {
  const ids = studies.map(({ id }) => id);
  if (study === undefined || ids.includes(study)) return [];
  return [
    {
      path: '/study',
      message: `There is no study "${study}"; the studies are ${ids.join(', ')}${hint(study, ids)}`,
    },
  ];
}

function hint(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === null ? '' : `; did you mean "${nearest}"?`;
}

function checkClaims(scenario: Scenario, studies: StudyRegistry): ScenarioProblem[] {
  const { claimIds } = studies;
  return scenario.claims.flatMap((id, index) => {
    const path = `/claims/${index}`;
    const study = studies.studyOf(id);
    if (study === undefined) {
      const claims = claimIds.join(', ');
      return [{ path, message: `There is no claim "${id}"; the claims are ${claims}${hint(id, claimIds)}` }];
    }
    if (scenario.study === undefined || scenario.study === study.id) return [];
    const message = `${id} is a claim of the study "${study.id}", but the scenario belongs to "${scenario.study}"`;
    return [{ path, message }];
  });
}

function checkTopic(scenario: Scenario): ScenarioProblem[] {
  const isTopic = scenario.queue.type === 'topic';
  const { subscribers } = scenario.workload;
  const isTold = subscribers !== undefined || scenario.sweep.subscribers !== undefined;
  if (isTopic && !isTold) {
    return [
      {
        path: '/workload/subscribers',
        message: 'A topic needs subscribers, either here or as an axis of the sweep',
      },
    ];
  }
  if (!isTopic && isTold) {
    const path = subscribers === undefined ? '/sweep/subscribers' : '/workload/subscribers';
    return [{ path, message: 'Only topics have subscribers: set the type of the queue to "topic"' }];
  }
  const { sweep } = scaleScenario(scenario, 'full');
  const sessions = Math.max(...sweep.threads) * (1 + Math.max(...(sweep.subscribers ?? [subscribers ?? 1])));
  if (sessions <= scenarioLimits.sessionsMax) return [];
  return [
    {
      path: '/sweep/threads',
      message: `The scenario needs up to ${number(sessions)} sessions (enqueuers, and dequeuers for every subscriber); the limit is ${number(scenarioLimits.sessionsMax)}`,
    },
  ];
}

function checkDurability(scenario: Scenario): ScenarioProblem[] {
  if (!scenario.sweep.implementation.includes('unsharded')) return [];
  const message =
    'Unsharded queues are always stored in a file: with "unsharded" in the sweep, durability must be "durable" or "relaxed"';
  const swept = scenario.sweep.durability;
  const at = swept?.indexOf('memory') ?? -1;
  if (at >= 0) return [{ path: `/sweep/durability/${at}`, message }];
  if (swept === undefined && scenario.queue.durability === 'memory')
    return [{ path: '/queue/durability', message }];
  return [];
}

/** Application tables are on one instance, in the file of its sharded queues. */
function checkRows({ sweep, queue }: Scenario): ScenarioProblem[] {
  const at = sweep.rows?.findIndex((rows) => rows !== 'none') ?? -1;
  const fits =
    sweep.implementation.every((each) => each === 'sharded') &&
    sweep.instances.every((instances) => instances === 1) &&
    queue.type !== 'topic';
  if (at < 0 || fits) return [];
  const message = 'Rows require one instance and a sharded queue, whose file contains their table';
  return [{ path: `/sweep/rows/${at}`, message }];
}

/** Messages are forwarded only between served instances, and only by queues that support it. */
function checkSessionPlaces({ sweep, workload, queue }: Scenario): ScenarioProblem[] {
  const index = sweep.dequeuers?.indexOf('other-instance') ?? -1;
  if (index < 0) return [];
  const path = `/sweep/dequeuers/${index}`;
  const memory = queue.durability === 'memory' || sweep.durability?.includes('memory') === true;
  return [
    ...(workload.sessions === 'remote'
      ? []
      : [
          {
            path,
            message: 'Requires remote sessions: an embedded instance cannot be reached by other instances',
          },
        ]),
    ...(Math.min(...sweep.instances) > 1
      ? []
      : [{ path, message: 'Requires at least two instances at every point' }]),
    ...(queue.type === 'topic' || memory
      ? [{ path, message: 'Only persistent queues forward messages; topics do not' }]
      : []),
  ];
}

function checkSize(scenario: Scenario): ScenarioProblem[] {
  const faults: ScenarioProblem[] = [];
  for (const scale of ['full', 'quick'] as const) {
    const path = scale === 'full' ? '/sweep' : '/quick/sweep';
    const { sweep, phases, repeats } = scaleScenario(scenario, scale);
    const points = combinationCount(sweep);
    if (points > scenarioLimits.pointsMax) {
      faults.push({
        path,
        message: `The sweep has ${number(points)} combinations; the limit is ${number(scenarioLimits.pointsMax)}`,
      });
    }
    const ms = points * repeats * (phases.warmupMs + phases.measureMs);
    if (ms > runMsMax) {
      faults.push({
        path: scale === 'full' ? '/phases' : '/quick/phases',
        message: `The run would take ${number(Math.round(ms / 3_600_000))} hours (combinations × repeats × phases); the limit is 24`,
      });
    }
    // Without a quick section, the quick scale is checked as part of the full scale.
    if (scenario.quick === undefined) break;
  }
  return faults;
}

/** A payload too large for a message is streamed, which only persistent sharded queues support. */
function checkStreams({ queue, workload, sweep }: Scenario): ScenarioProblem[] {
  const payloads = sweep.payloadBytes ?? [workload.payloadBytes];
  if (Math.max(...payloads) <= queueLimits.payloadBytesMax) return [];
  const faults: ScenarioProblem[] = [];
  const other = sweep.implementation.findIndex((implementation) => implementation !== 'sharded');
  if (other >= 0) {
    const message = 'Payloads above 1 MiB are streamed, which only sharded queues support';
    faults.push({ path: `/sweep/implementation/${other}`, message });
  }
  if ((sweep.durability ?? [queue.durability]).includes('memory')) {
    const path = sweep.durability === undefined ? '/queue/durability' : '/sweep/durability';
    faults.push({ path, message: 'Payloads above 1 MiB require a persistent queue' });
  }
  return faults;
}

function checkMemory(scenario: Scenario): ScenarioProblem[] {
  const faults: ScenarioProblem[] = [];
  const { backlogMax } = scenario.workload;
  const { sweep } = scaleScenario(scenario, 'full');
  const threads = Math.max(...sweep.threads);
  const payloadBytes = Math.max(...(sweep.payloadBytes ?? [scenario.workload.payloadBytes]));
  const operationsPerTransaction = operationsMax(scenario.workload, sweep);
  // Unsharded, an enqueue stores one copy per subscriber of the topic.
  const subscribers = Math.max(...(sweep.subscribers ?? [scenario.workload.subscribers ?? 1]));
  const copies = sweep.implementation.includes('unsharded') ? subscribers : 1;
  // Streamed payloads have been written in chunks before the commit.
  const inMemory = Math.min(payloadBytes, queueLimits.payloadBytesMax);
  const transaction = inMemory * operationsPerTransaction * copies;
  if (transaction > transactionBytesMax) {
    faults.push({
      path: '/workload/operationsPerTransaction',
      message: `A transaction of ${number(operationsPerTransaction * copies)} messages of ${number(payloadBytes)} bytes is ${mib(transaction)} in size; the limit is ${mib(transactionBytesMax)}`,
    });
  }
  const staged = transaction * threads;
  if (transaction <= transactionBytesMax && staged > stagedBytesMax) {
    faults.push({
      path: '/workload/operationsPerTransaction',
      message: `${number(threads)} sessions that stage ${number(operationsPerTransaction * copies)} messages of ${number(payloadBytes)} bytes need ${gib(staged)} of memory; the limit is ${gib(stagedBytesMax)}`,
    });
  }
  const standing = Math.max(...(sweep.backlog ?? [0]));
  const backlog = payloadBytes * copies * (backlogMax * Math.max(...sweep.instances) + standing);
  if (backlog > backlogBytesMax) {
    faults.push({
      path: '/workload/backlogMax',
      message: `The backlog may reach ${gib(backlog)} over all instances; the limit is ${gib(backlogBytesMax)}`,
    });
  }
  if (backlogMax < operationsPerTransaction) {
    faults.push({
      path: '/workload/backlogMax',
      message: `Must be at least ${number(operationsPerTransaction)}, the operations per transaction, not ${number(backlogMax)}`,
    });
  }
  return faults;
}

const operationsMax = (workload: Scenario['workload'], sweep: Scenario['sweep']): number =>
  Math.max(...(sweep.operationsPerTransaction ?? [workload.operationsPerTransaction]));

/** A client that is too slow to finish a transaction in the measured phase would have a rate of zero. */
function checkRoundTrips(scenario: Scenario): ScenarioProblem[] {
  const scales = scenario.quick === undefined ? (['full'] as const) : (['full', 'quick'] as const);
  return scales.flatMap((scale) => {
    const { sweep, phases } = scaleScenario(scenario, scale);
    const calls = operationsMax(scenario.workload, sweep) + 1;
    const axis = scale === 'quick' && scenario.quick?.sweep?.roundTripMs ? '/quick/sweep' : '/sweep';
    return sweep.roundTripMs.flatMap((roundTripMs, index) =>
      roundTripMs * calls <= phases.measureMs
        ? []
        : [
            {
              path: `${axis}/roundTripMs/${index}`,
              message: `A transaction of ${number(calls)} round trips takes at least ${number(roundTripMs * calls)} ms, longer than the measured phase of scale ${scale} (${number(phases.measureMs)} ms)`,
            },
          ],
    );
  });
}

function checkQuick(scenario: Scenario): ScenarioProblem[] {
  const quick = scenario.quick?.sweep;
  if (quick === undefined) return [];
  const faults: ScenarioProblem[] = [];
  for (const [axis, values] of Object.entries(quick)) {
    const fullValues: readonly (number | string)[] | undefined =
      scenario.sweep[axis as keyof Scenario['sweep']];
    if (fullValues === undefined) {
      faults.push({
        path: `/quick/sweep/${axis}`,
        message: 'The full sweep does not have this axis; quick can only narrow the full sweep',
      });
      continue;
    }
    for (const [index, value] of values.entries()) {
      const message = problemOfQuick(value, fullValues);
      if (message !== null) faults.push({ path: `/quick/sweep/${axis}/${index}`, message });
    }
  }
  const full = combinationCount(scenario.sweep);
  const points = combinationCount(scaleScenario(scenario, 'quick').sweep);
  if (points > full) {
    faults.push({
      path: '/quick/sweep',
      message: `The quick sweep has ${points} combinations, more than the full sweep (${full})`,
    });
  }
  return faults;
}

/** A number must be in the range of the full sweep; a name must be one of its values. */
function problemOfQuick(value: number | string, full: readonly (number | string)[]): string | null {
  const numbers = full.filter((each) => typeof each === 'number');
  if (typeof value === 'string') {
    return full.includes(value)
      ? null
      : `"${value}" is not in the full sweep; quick can only narrow the full sweep`;
  }
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return value >= low && value <= high
    ? null
    : `Must be in the range of the full sweep, ${low} to ${high}, not ${value}`;
}

function checkReferences(scenario: Scenario): ScenarioProblem[] {
  return (scenario.references ?? []).flatMap((reference, index) =>
    scenario.sweep.implementation.includes(reference.implementation)
      ? []
      : [
          {
            path: `/references/${index}/implementation`,
            message: `"${reference.implementation}" is not in the sweep, so there would be nothing to compare the reference with`,
          },
        ],
  );
}

const number = (value: number) => value.toLocaleString('en-US');
const mib = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
const gib = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
