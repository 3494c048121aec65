/** Builds a hardware file from the measurements of a calibration and from known properties of the engine. */
import type { Environment } from '@shardlab/contract';
import type { HardwareFile, SourcedNumber } from '@shardlab/model';
import { calibratedId, hardwareSchemaFileName } from '../hardware/hardware-folder.ts';
import type { ClientCosts } from './client-costs.ts';
import { messagesPerPartition, type ShardedCosts } from './sharded-costs.ts';
import type { UnshardedCosts } from './unsharded-costs.ts';

export interface MeasuredCosts {
  environment: Environment;
  /** Epoch milliseconds. */
  calibratedAtMs: number;
  busyCoreSpeed: number;
  client: ClientCosts;
  sharded: ShardedCosts;
  unsharded: UnshardedCosts;
  transferUs: number;
  timerLateUs: number;
}

const measured = (value: number, note?: string) => sourced('measured', significant(value), note);
const built = <T>(value: T, note?: string) => sourced('built', value, note);

const chosen = <T>(value: T, note: string) => sourced('chosen', value, note);

function sourced<S extends 'measured' | 'built' | 'chosen', T>(
  source: S,
  value: T,
  note: string | undefined,
) {
  return note === undefined ? { source, value } : { source, value, note };
}

/** Rounds to four digits; the rest is noise. */
const significant = (value: number) => Number(value.toPrecision(4));

/** Limits and intervals of the engine that its public API does not expose; a test compares them with the engine's. */
export const engineBuild = {
  groupsInFlight: 2,
  groupBytesMax: 4 * 1024 ** 2,
  lookUs: 2_000,
  messagesPerPartition,
} as const;

export function hardwareFromMeasurements(found: MeasuredCosts): HardwareFile {
  const { environment, sharded, unsharded, client } = found;
  const zero = (note: string): SourcedNumber => built(0, note);
  return {
    $schema: `./${hardwareSchemaFileName}`,
    version: 1,
    id: calibratedId,
    title: `${environment.cores} × ${environment.cpuModel}, ${environment.fileSystem}`,
    about: describeCalibration(found),
    calibratedAtMs: found.calibratedAtMs,
    parameters: {},
    observations: [],
    costs: {
      machine: {
        nodes: built(1, 'All instances share the machine'),
        coresPerNode: measured(environment.cores),
        busyCoreSpeed: measured(found.busyCoreSpeed),
        sliceUs: chosen(1_500, "About Linux's base slice on two cores; 3 ms gives the same rates"),
        backgroundCpu: measured(sharded.backgroundCpu, 'Mostly garbage collection'),
      },
      variation: {
        cpu: chosen(0.3, 'Most bursts resemble the previous one'),
        redo: measured(sharded.syncVariation),
        network: chosen(0, 'An emulated round trip always takes the same time'),
      },
      sessions: {
        oneThread: built(true, 'JavaScript runs on a single thread of the process'),
        roundTripUs: zero('Sessions are embedded, unless a workload says otherwise'),
        timerLateUs: measured(found.timerLateUs, 'Median of a timer of 1 ms'),
        clientEnqueueUs: measured(client.enqueueUs, 'Generates a payload and its checksum'),
        clientDequeueUs: measured(client.dequeueUs, 'Verifies every byte'),
        clientTransactionUs: measured(client.transactionUs),
      },
      interconnectUs: chosen(
        significant(found.transferUs),
        'Assumed equal to passing the lock between two processes',
      ),
      redo: {
        groupsInFlight: built(engineBuild.groupsInFlight),
        groupBytesMax: built(engineBuild.groupBytesMax),
        syncUs: measured(sharded.syncUs),
        usPerKib: measured(sharded.syncUsPerKib),
        syncCpuUs: measured(sharded.syncCpuUs, 'CPU time of the system'),
        threadHopUs: measured(sharded.threadHopUs, 'What does not count as the write'),
      },
      sharded: {
        callUs: measured(sharded.callUs),
        enqueueUs: measured(sharded.enqueueUs),
        dequeueUs: measured(sharded.dequeueUs),
        transactionUs: measured(sharded.transactionUs),
        groupUs: measured(sharded.groupUs),
        writeGroupUs: measured(sharded.writeGroupUs),
        writeEnqueueUs: measured(sharded.writeEnqueueUs),
        writeConsumptionUs: measured(sharded.writeConsumptionUs),
        forwardUs: chosen(significant(sharded.dequeueUs), 'Assumed equal to a dequeue'),
        forwardBatchMax: built(256),
      },
      maintenance: {
        scope: built('instance', 'A partition is truncated in a group commit of its instance'),
        counts: built('messages'),
        operationsPerPartition: built(engineBuild.messagesPerPartition),
        partitionUs: measured(sharded.partitionUs),
      },
      unsharded: {
        callUs: zero('Included in the claim'),
        enqueueUs: measured(unsharded.enqueueUs),
        dequeueUs: zero('Included in the claim'),
        transactionUs: zero('Included in the write'),
        skipUs: zero('The index begins with ready messages'),
        blocks: built(1, 'One file has one writer'),
        enter: {
          at: built('commit', 'Enqueues are staged in memory until the commit'),
          visitUs: measured(unsharded.enter.visitUs),
          entryUs: measured(unsharded.enter.messageUs),
        },
        claim: {
          visitUs: measured(unsharded.claim.visitUs),
          messageUs: measured(unsharded.claim.messageUs),
        },
        leave: {
          visitUs: measured(unsharded.leave.visitUs),
          messageUs: measured(unsharded.leave.messageUs),
        },
        syncInBlock: built(true, 'A commit syncs while it holds the write lock'),
        syncUs: measured(unsharded.syncUs),
        transferUs: measured(found.transferUs),
        visitsPerTurn: built(
          1_000,
          'A process serves all sessions that were waiting when another process requested the lock',
        ),
        order: built('alternating', 'The write lock serves all waiting deliveries, then all waiting commits'),
        transferBy: built(
          'process',
          'The first process serves the lock; messages are handled on session threads',
        ),
        lookUs: built(engineBuild.lookUs),
      },
    },
  };
}

function describeCalibration({ environment, sharded }: MeasuredCosts): string {
  const { memoryGiB, node, sqlite, commit, syncMs, platform } = environment;
  return (
    `Calibrated on ${memoryGiB} GiB, ${platform}, Node ${node}, SQLite ${sqlite}${commit === null ? '' : `, commit ${commit}`}; ` +
    `an appending sync of 4 KiB took ${syncMs.p50} ms (p99 ${syncMs.p99} ms). ` +
    `Other processes used ${Math.round(sharded.disturbance * 100)} % of the machine's CPU during the slices that count. ` +
    `Sums of these costs typically reproduce the measured workloads within ${Math.round(sharded.error * 100)} %.`
  );
}
