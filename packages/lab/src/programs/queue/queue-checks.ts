/**
 * Rules that a schema cannot express for scenarios of the programs `queue` and `topic`: bounds of products, and valid
 * combinations.
 */
import { canBeSkewed, queueLimits, type Scenario, scenarioLimits } from '@shardlab/contract';
import type { ScenarioProblem } from '../../errors/scenario-problems.ts';
import { sharesOneTable, storesCopies } from '../../systems/queue-systems.ts';
import { scaleScenario, scalesOf } from '../expand-sweep.ts';
import { checkConversion } from './conversion-checks.ts';
import { checkFaults } from './fault-checks.ts';
import { largest, placeOf, placeOfUnsharded, valuesIn } from './scenario-values.ts';

/** The engine's limit for one transaction. */
const transactionBytesMax = 32 * 1024 ** 2;
/** Sessions stage their transactions in memory; all of them together must fit. */
const stagedBytesMax = 1024 ** 3;
/** The maximum backlog of all instances together must fit on an ordinary disk. */
const backlogBytesMax = 16 * 1024 ** 3;

export function checkQueueScenario(scenario: Scenario): ScenarioProblem[] {
  return [
    ...checkSessions(scenario),
    ...checkDurability(scenario),
    ...checkRows(scenario),
    ...checkMemory(scenario),
    ...checkStreams(scenario),
    ...checkRoundTrips(scenario),
    ...checkFaults(scenario),
    ...checkConversion(scenario),
    ...checkDequeuers(scenario),
    ...checkPlacement(scenario),
  ];
}

function checkSessions(scenario: Scenario): ScenarioProblem[] {
  const perThread = 1 + Math.max(1, largest(scenario, 'subscribers'));
  const sessions = largest(scenario, 'threads') * perThread;
  if (sessions <= scenarioLimits.sessionsMax) return [];
  const message = `The scenario needs up to ${number(sessions)} sessions (enqueuers, and dequeuers for every subscriber); the limit is ${number(scenarioLimits.sessionsMax)}`;
  return [{ path: placeOf(scenario, 'threads'), message }];
}

function checkDurability(scenario: Scenario): ScenarioProblem[] {
  const unsharded = scenario.systems.find(sharesOneTable);
  if (unsharded === undefined || !valuesIn(scenario, 'durability').includes('memory')) return [];
  const message = `Unsharded queues are always stored in a file: with "${unsharded}" among the systems, durability must be "durable" or "relaxed"`;
  return [{ path: placeOf(scenario, 'durability', 'memory'), message }];
}

/** Application tables are on one instance, in the file of its sharded queues. */
function checkRows(scenario: Scenario): ScenarioProblem[] {
  const rows = valuesIn(scenario, 'rows').find((each) => each !== 'none');
  const fits =
    scenario.systems.every((each) => each === 'sharded') &&
    valuesIn(scenario, 'instances').every((instances) => instances === 1) &&
    scenario.program === 'queue';
  if (rows === undefined || fits) return [];
  const message = 'Rows require one instance and a sharded queue, whose file contains their table';
  return [{ path: placeOf(scenario, 'rows', rows), message }];
}

/** Messages are forwarded only between served instances, and only by queues that support it. */
function checkDequeuers(scenario: Scenario): ScenarioProblem[] {
  if (!valuesIn(scenario, 'dequeuers').includes('other-instance')) return [];
  const path = placeOf(scenario, 'dequeuers', 'other-instance');
  const messages = [
    ...(valuesIn(scenario, 'sessions').every((place) => place === 'remote')
      ? []
      : ['Requires remote sessions: an embedded instance cannot be reached by other instances']),
    ...(Math.min(...valuesIn(scenario, 'instances')) > 1
      ? []
      : ['Requires at least two instances at every point']),
    ...(scenario.program === 'topic' || valuesIn(scenario, 'durability').includes('memory')
      ? ['Only persistent queues forward messages; topics do not']
      : []),
  ];
  return messages.map((message) => ({ path, message }));
}

/** An instance without threads would be idle. */
function checkPlacement(scenario: Scenario): ScenarioProblem[] {
  if (!valuesIn(scenario, 'placement').includes('skewed')) return [];
  const fits = scalesOf(scenario).every((scale) =>
    valuesIn(scenario, 'instances', scale).every((instances) =>
      valuesIn(scenario, 'threads', scale).every((threads) => canBeSkewed({ threads, instances })),
    ),
  );
  if (fits) return [];
  const message =
    'Requires at least two instances at every point, and four threads for each instance but the first';
  return [{ path: placeOf(scenario, 'placement', 'skewed'), message }];
}

/** A payload too large for a message is streamed, which only persistent sharded queues support. */
function checkStreams(scenario: Scenario): ScenarioProblem[] {
  if (largest(scenario, 'payloadBytes') <= queueLimits.payloadBytesMax) return [];
  const unsharded = placeOfUnsharded(scenario);
  return [
    ...(unsharded === undefined
      ? []
      : [
          {
            path: unsharded,
            message: 'Payloads above 1 MiB are streamed, which only sharded queues support',
          },
        ]),
    ...(valuesIn(scenario, 'durability').includes('memory')
      ? [
          {
            path: placeOf(scenario, 'durability', 'memory'),
            message: 'Payloads above 1 MiB require a persistent queue',
          },
        ]
      : []),
  ];
}

function checkMemory(scenario: Scenario): ScenarioProblem[] {
  const faults: ScenarioProblem[] = [];
  const threads = largest(scenario, 'threads');
  const payloadBytes = largest(scenario, 'payloadBytes');
  const operations = largest(scenario, 'operationsPerTransaction');
  const backlogMax = Math.min(...valuesIn(scenario, 'backlogMax'));
  const copies = scenario.systems.some(storesCopies) ? Math.max(1, largest(scenario, 'subscribers')) : 1;
  // Streamed payloads have been written in chunks before the commit.
  const inMemory = Math.min(payloadBytes, queueLimits.payloadBytesMax);
  const transaction = inMemory * operations * copies;
  const operationsPath = placeOf(scenario, 'operationsPerTransaction');
  if (transaction > transactionBytesMax) {
    faults.push({
      path: operationsPath,
      message: `A transaction of ${number(operations * copies)} messages of ${number(payloadBytes)} bytes is ${mib(transaction)} in size; the limit is ${mib(transactionBytesMax)}`,
    });
  }
  const staged = transaction * threads;
  if (transaction <= transactionBytesMax && staged > stagedBytesMax) {
    faults.push({
      path: operationsPath,
      message: `${number(threads)} sessions that stage ${number(operations * copies)} messages of ${number(payloadBytes)} bytes need ${gib(staged)} of memory; the limit is ${gib(stagedBytesMax)}`,
    });
  }
  const most =
    largest(scenario, 'backlogMax') * largest(scenario, 'instances') + largest(scenario, 'backlog');
  const backlog = payloadBytes * copies * most;
  if (backlog > backlogBytesMax) {
    faults.push({
      path: placeOf(scenario, 'backlogMax'),
      message: `The backlog may reach ${gib(backlog)} over all instances; the limit is ${gib(backlogBytesMax)}`,
    });
  }
  if (backlogMax < operations) {
    faults.push({
      path: placeOf(scenario, 'backlogMax', backlogMax),
      message: `Must be at least ${number(operations)}, the operations per transaction, not ${number(backlogMax)}`,
    });
  }
  return faults;
}

/** A client that is too slow to finish a transaction in the measured phase would have a rate of zero. */
function checkRoundTrips(scenario: Scenario): ScenarioProblem[] {
  const calls = largest(scenario, 'operationsPerTransaction') + 1;
  return scalesOf(scenario).flatMap((scale) => {
    const { measureMs } = scaleScenario(scenario, scale).phases;
    const inQuick = scale === 'quick' && scenario.quick?.sweep?.roundTripMs !== undefined;
    return valuesIn(scenario, 'roundTripMs', scale).flatMap((roundTripMs, index) =>
      roundTripMs * calls <= measureMs
        ? []
        : [
            {
              path: inQuick
                ? `/quick/sweep/roundTripMs/${index}`
                : placeOf(scenario, 'roundTripMs', roundTripMs),
              message: `A transaction of ${number(calls)} round trips takes at least ${number(roundTripMs * calls)} ms, longer than the measured phase of scale ${scale} (${number(measureMs)} ms)`,
            },
          ],
    );
  });
}

const number = (value: number) => value.toLocaleString('en-US');
const mib = (bytes: number) => `${(bytes / 1024 ** 2).toFixed(0)} MiB`;
const gib = (bytes: number) => `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
