/** A hardware file from what a calibration measured, and from how the engine is built. */
import type { Environment } from '@shardlab/contract';
import type { HardwareFile, SourcedNumber } from '@shardlab/model';
import { calibratedId, hardwareSchemaFileName } from '../hardware/hardware-folder.ts';
import type { ClientCosts } from './client-costs.ts';
import { messagesPerPartition, type ShardedCosts } from './sharded-costs.ts';
import type { UnshardedCosts } from './unsharded-costs.ts';

export interface Measured {
  environment: Environment;
  busyCoreSpeed: number;
  client: ClientCosts;
  sharded: ShardedCosts;
  unsharded: UnshardedCosts;
  transferUs: number;
}

const measured = (value: number, note?: string) => sourced('measured', significant(value), note);
const built = <T>(value: T, note?: string) => sourced('built', value, note);

function sourced<S extends 'measured' | 'built', T>(source: S, value: T, note: string | undefined) {
  return note === undefined ? { source, value } : { source, value, note };
}

/** What is beyond four digits is noise. */
const significant = (value: number) => Number(value.toPrecision(4));

/** Bounds and periods of the engine that its public door does not tell; a test holds them equal to its own. */
export const engineBuild = {
  groupsInFlight: 2,
  groupBytesMax: 4 * 1024 ** 2,
  lookUs: 2_000,
  messagesPerPartition,
} as const;

export function hardwareOf(found: Measured): HardwareFile {
  const { environment, sharded, unsharded, client } = found;
  const zero = (note: string): SourcedNumber => built(0, note);
  return {
    $schema: `./${hardwareSchemaFileName}`,
    version: 1,
    id: calibratedId,
    title: `${environment.cores} × ${environment.cpuModel}, ${environment.fileSystem}`,
    about: aboutOf(found),
    parameters: {},
    observations: [],
    costs: {
      machine: {
        nodes: built(1, 'All instances share the machine'),
        coresPerNode: measured(environment.cores),
        busyCoreSpeed: measured(found.busyCoreSpeed),
        backgroundCpu: measured(sharded.backgroundCpu, 'Mostly garbage collection'),
      },
      variation: {
        cpu: built(0.3, 'Chosen: most bursts are much like the last one'),
        redo: measured(sharded.syncVariation),
        network: zero('An emulated round trip takes the same each time'),
      },
      sessions: {
        oneThread: built(true, 'JavaScript runs on one thread of the process'),
        roundTripUs: zero('Sessions are embedded; a workload may say otherwise'),
        clientEnqueueUs: measured(client.enqueueUs, 'Makes a payload and its check sum'),
        clientDequeueUs: measured(client.dequeueUs, 'Verifies every byte'),
        clientTransactionUs: measured(client.transactionUs),
      },
      interconnectUs: measured(found.transferUs, 'Taken as that of a hand-over between two processes'),
      redo: {
        groupsInFlight: built(engineBuild.groupsInFlight),
        groupBytesMax: built(engineBuild.groupBytesMax),
        syncUs: measured(sharded.syncUs),
        usPerKib: measured(sharded.syncUsPerKib),
        syncCpuUs: measured(sharded.syncCpuUs, 'Of the system, and of looking for the next group'),
        threadHopUs: zero('In the writer’s part of a group'),
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
        forwardUs: measured(sharded.dequeueUs, 'Taken as that of a dequeue'),
        forwardBatchMax: built(256),
      },
      maintenance: {
        scope: built('instance', 'A partition is emptied in a group commit of its instance'),
        counts: built('messages'),
        operationsPerPartition: built(engineBuild.messagesPerPartition),
        partitionUs: measured(sharded.partitionUs),
      },
      unsharded: {
        callUs: zero('In the claim'),
        enqueueUs: measured(unsharded.enqueueUs),
        dequeueUs: zero('In the claim'),
        transactionUs: zero('In the write'),
        skipUs: zero('The index starts with what is ready'),
        blocks: built(1, 'One file has one writer'),
        enter: {
          at: built('commit', 'Enqueues are staged in memory until then'),
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
        syncInBlock: built(true, 'A commit syncs while it has the write lock'),
        syncUs: measured(unsharded.syncUs),
        transferUs: measured(found.transferUs),
        visitsPerTurn: built(1_000, 'A process serves all that waited when another asked'),
        lookUs: built(engineBuild.lookUs),
      },
    },
  };
}

function aboutOf({ environment, sharded }: Measured): string {
  const { memoryGiB, node, sqlite, commit, syncMs, platform } = environment;
  return (
    `Calibrated on ${memoryGiB} GiB, ${platform}, Node ${node}, SQLite ${sqlite}${commit === null ? '' : `, commit ${commit}`}; ` +
    `an appending sync of 4 KiB took ${syncMs.p50} ms (p99 ${syncMs.p99} ms). ` +
    `Other processes took ${Math.round(sharded.disturbance * 100)} % of the machine's CPU at the slices that count. ` +
    `Sums of these costs repeat the workloads that they were taken from within ${Math.round(sharded.error * 100)} %, typically.`
  );
}
