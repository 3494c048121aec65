/** What a schema cannot say: bounds on products of fields, and what one field must mean to another. */
import { queueLimits, type Scenario, scenarioLimits } from '@shardlab/contract';
import { claimIds } from '../claims/ledger.ts';
import { checkConversion } from './conversion-checks.ts';
import { combinationCount, scaleScenario } from './expand-sweep.ts';
import { checkFaults } from './fault-checks.ts';
import { nearestName } from './nearest-name.ts';
import type { ScenarioFault } from './schema-faults.ts';

/** What the engine accepts in one transaction. */
const transactionBytesMax = 32 * 1024 ** 2;
/** Sessions stage their transactions in memory: all of them together must fit beside the rest. */
const stagedBytesMax = 1024 ** 3;
/** Messages that wait at most, all instances together, must fit on an ordinary disk. */
const backlogBytesMax = 16 * 1024 ** 3;
/** A run longer than this is a mistyped number. */
const runMsMax = 24 * 60 * 60_000;

/** Faults of a scenario whose shape is right already; empty if it may run. */
export function crossCheckScenario(scenario: Scenario): ScenarioFault[] {
  return [
    ...checkClaims(scenario),
    ...checkTopic(scenario),
    ...checkDurability(scenario),
    ...checkRows(scenario),
    ...checkSize(scenario),
    ...checkMemory(scenario),
    ...checkStreams(scenario),
    ...checkRoundTrips(scenario),
    ...checkFaults(scenario),
    ...checkConversion(scenario),
    ...checkPlaces(scenario),
    ...checkQuick(scenario),
    ...checkReferences(scenario),
  ];
}

function checkClaims(scenario: Scenario): ScenarioFault[] {
  return scenario.claims.flatMap((id, index) => {
    if (claimIds.includes(id)) return [];
    const nearest = nearestName(id, claimIds);
    const hint = nearest === null ? '' : `; did you mean "${nearest}"?`;
    return [
      {
        path: `/claims/${index}`,
        message: `No judge exists for the claim "${id}"; known are ${claimIds.join(', ')}${hint}`,
      },
    ];
  });
}

function checkTopic(scenario: Scenario): ScenarioFault[] {
  const isTopic = scenario.queue.type === 'topic';
  const { subscribers } = scenario.workload;
  const isTold = subscribers !== undefined || scenario.sweep.subscribers !== undefined;
  if (isTopic && !isTold) {
    return [
      {
        path: '/workload/subscribers',
        message: 'A topic needs subscribers, here or as an axis of the sweep',
      },
    ];
  }
  if (!isTopic && isTold) {
    const path = subscribers === undefined ? '/sweep/subscribers' : '/workload/subscribers';
    return [{ path, message: 'Only a topic has subscribers: set the type of the queue to "topic"' }];
  }
  const { sweep } = scaleScenario(scenario, 'full');
  const sessions = Math.max(...sweep.threads) * (1 + Math.max(...(sweep.subscribers ?? [subscribers ?? 1])));
  if (sessions <= scenarioLimits.sessionsMax) return [];
  return [
    {
      path: '/sweep/threads',
      message: `Enqueuers and their dequeuers for every subscriber are up to ${number(sessions)} sessions; at most ${number(scenarioLimits.sessionsMax)} are accepted`,
    },
  ];
}

function checkDurability(scenario: Scenario): ScenarioFault[] {
  if (!scenario.sweep.implementation.includes('unsharded')) return [];
  const message =
    'An unsharded queue lies in a file: with "unsharded" in the sweep it must be "durable" or "relaxed"';
  const swept = scenario.sweep.durability;
  const at = swept?.indexOf('memory') ?? -1;
  if (at >= 0) return [{ path: `/sweep/durability/${at}`, message }];
  if (swept === undefined && scenario.queue.durability === 'memory')
    return [{ path: '/queue/durability', message }];
  return [];
}

/** The tables of an application lie on one instance, in the file of its sharded queues. */
function checkRows({ sweep, queue }: Scenario): ScenarioFault[] {
  const at = sweep.rows?.findIndex((rows) => rows !== 'none') ?? -1;
  const fits =
    sweep.implementation.every((each) => each === 'sharded') &&
    sweep.instances.every((instances) => instances === 1) &&
    queue.type !== 'topic';
  if (at < 0 || fits) return [];
  const message = 'Rows need one instance and a sharded queue: their tables lie in its file';
  return [{ path: `/sweep/rows/${at}`, message }];
}

/** Messages move only between instances that are served, and of queues that can forward. */
function checkPlaces({ sweep, workload, queue }: Scenario): ScenarioFault[] {
  const index = sweep.dequeuers?.indexOf('elsewhere') ?? -1;
  if (index < 0) return [];
  const path = `/sweep/dequeuers/${index}`;
  const memory = queue.durability === 'memory' || sweep.durability?.includes('memory') === true;
  return [
    ...(workload.sessions === 'remote'
      ? []
      : [
          {
            path,
            message:
              'Needs sessions "remote": an instance in the process of its sessions is not served to others',
          },
        ]),
    ...(Math.min(...sweep.instances) > 1
      ? []
      : [{ path, message: 'Needs two instances or more at every point' }]),
    ...(queue.type === 'topic' || memory
      ? [{ path, message: 'Only messages of a persistent queue are forwarded, not those of a topic' }]
      : []),
  ];
}

function checkSize(scenario: Scenario): ScenarioFault[] {
  const faults: ScenarioFault[] = [];
  for (const scale of ['full', 'quick'] as const) {
    const path = scale === 'full' ? '/sweep' : '/quick/sweep';
    const { sweep, phases, repeats } = scaleScenario(scenario, scale);
    const points = combinationCount(sweep);
    if (points > scenarioLimits.pointsMax) {
      faults.push({
        path,
        message: `The sweep has ${number(points)} combinations; at most ${number(scenarioLimits.pointsMax)} are accepted`,
      });
    }
    const ms = points * repeats * (phases.warmupMs + phases.measureMs);
    if (ms > runMsMax) {
      faults.push({
        path: scale === 'full' ? '/phases' : '/quick/phases',
        message: `Would measure for ${number(Math.round(ms / 3_600_000))} hours (combinations × repeats × phases); at most 24 are accepted`,
      });
    }
    // Without a part of its own, quick repeats what full says already.
    if (scenario.quick === undefined) break;
  }
  return faults;
}

/** A payload too large for a message is streamed, which only a persistent sharded queue can. */
function checkStreams({ queue, workload, sweep }: Scenario): ScenarioFault[] {
  const payloads = sweep.payloadBytes ?? [workload.payloadBytes];
  if (Math.max(...payloads) <= queueLimits.payloadBytesMax) return [];
  const faults: ScenarioFault[] = [];
  const other = sweep.implementation.findIndex((implementation) => implementation !== 'sharded');
  if (other >= 0) {
    const message = 'Payloads above 1 MiB are streamed, which a sharded queue alone does';
    faults.push({ path: `/sweep/implementation/${other}`, message });
  }
  if ((sweep.durability ?? [queue.durability]).includes('memory')) {
    const path = sweep.durability === undefined ? '/queue/durability' : '/sweep/durability';
    faults.push({ path, message: 'A nonpersistent queue has no place for payloads above 1 MiB' });
  }
  return faults;
}

function checkMemory(scenario: Scenario): ScenarioFault[] {
  const faults: ScenarioFault[] = [];
  const { backlogMax } = scenario.workload;
  const { sweep } = scaleScenario(scenario, 'full');
  const threads = Math.max(...sweep.threads);
  const payloadBytes = Math.max(...(sweep.payloadBytes ?? [scenario.workload.payloadBytes]));
  const operationsPerTransaction = operationsMax(scenario.workload, sweep);
  // Unsharded, an enqueue makes a copy for each subscriber of a topic.
  const subscribers = Math.max(...(sweep.subscribers ?? [scenario.workload.subscribers ?? 1]));
  const copies = sweep.implementation.includes('unsharded') ? subscribers : 1;
  // What is streamed lies in chunks by then.
  const inMemory = Math.min(payloadBytes, queueLimits.payloadBytesMax);
  const transaction = inMemory * operationsPerTransaction * copies;
  if (transaction > transactionBytesMax) {
    faults.push({
      path: '/workload/operationsPerTransaction',
      message: `A transaction of ${number(operationsPerTransaction * copies)} messages of ${number(payloadBytes)} bytes has ${mib(transaction)}; at most ${mib(transactionBytesMax)} is accepted`,
    });
  }
  const staged = transaction * threads;
  if (transaction <= transactionBytesMax && staged > stagedBytesMax) {
    faults.push({
      path: '/workload/operationsPerTransaction',
      message: `${number(threads)} sessions that stage ${number(operationsPerTransaction * copies)} messages of ${number(payloadBytes)} bytes need ${gib(staged)} of memory; at most ${gib(stagedBytesMax)} is accepted`,
    });
  }
  const standing = Math.max(...(sweep.backlog ?? [0]));
  const backlog = payloadBytes * copies * (backlogMax * Math.max(...sweep.instances) + standing);
  if (backlog > backlogBytesMax) {
    faults.push({
      path: '/workload/backlogMax',
      message: `The backlog may reach ${gib(backlog)} over all instances; at most ${gib(backlogBytesMax)} is accepted`,
    });
  }
  if (backlogMax < operationsPerTransaction) {
    faults.push({
      path: '/workload/backlogMax',
      message: `Must be at least the operations of one transaction, ${number(operationsPerTransaction)}, not ${number(backlogMax)}`,
    });
  }
  return faults;
}

const operationsMax = (workload: Scenario['workload'], sweep: Scenario['sweep']): number =>
  Math.max(...(sweep.operationsPerTransaction ?? [workload.operationsPerTransaction]));

/** A client so slow that it finishes no transaction while it is measured would show a rate of zero. */
function checkRoundTrips(scenario: Scenario): ScenarioFault[] {
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
              message: `A transaction of ${number(calls)} round trips takes ${number(roundTripMs * calls)} ms at least, longer than the ${number(phases.measureMs)} ms that ${scale} measures`,
            },
          ],
    );
  });
}

function checkQuick(scenario: Scenario): ScenarioFault[] {
  const quick = scenario.quick?.sweep;
  if (quick === undefined) return [];
  const faults: ScenarioFault[] = [];
  for (const [axis, values] of Object.entries(quick)) {
    const fullValues: readonly (number | string)[] | undefined =
      scenario.sweep[axis as keyof Scenario['sweep']];
    if (fullValues === undefined) {
      faults.push({
        path: `/quick/sweep/${axis}`,
        message: 'Not an axis of the full sweep, which quick may only narrow',
      });
      continue;
    }
    for (const [index, value] of values.entries()) {
      const message = faultOfQuick(value, fullValues);
      if (message !== null) faults.push({ path: `/quick/sweep/${axis}/${index}`, message });
    }
  }
  const full = combinationCount(scenario.sweep);
  const points = combinationCount(scaleScenario(scenario, 'quick').sweep);
  if (points > full) {
    faults.push({
      path: '/quick/sweep',
      message: `Quick has ${points} combinations, more than the ${full} of the full sweep`,
    });
  }
  return faults;
}

/** A number may lie between those of the full sweep; a name must be one of them. */
function faultOfQuick(value: number | string, full: readonly (number | string)[]): string | null {
  const numbers = full.filter((each) => typeof each === 'number');
  if (typeof value === 'string') {
    return full.includes(value) ? null : `"${value}" is not in the full sweep, which quick may only narrow`;
  }
  const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
  return value >= low && value <= high
    ? null
    : `Must lie in the range of the full sweep, ${low} to ${high}, not ${value}`;
}

function checkReferences(scenario: Scenario): ScenarioFault[] {
  return (scenario.references ?? []).flatMap((reference, index) =>
    scenario.sweep.implementation.includes(reference.implementation)
      ? []
      : [
          {
            path: `/references/${index}/implementation`,
            message: `"${reference.implementation}" is not in the sweep, so the line would have nothing to compare with`,
          },
        ],
  );
}

const number = (value: number) => value.toLocaleString('en-US');
const mib = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
const gib = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
