/**
 * A long run of kills and partitions of servers: `npm run jetstream-faults -- [--seed n] [--kills n] [--partitions n]
 * [--sync always|interval]`. Prints the seed first. If the history is illegal it is kept, and the exit code is 1.
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeVerdict } from '@shardlab/history';
import { findServer, NatsCluster } from '../../src/servers/index.ts';
import { runFaults } from './run-faults.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    kills: { type: 'string', default: '50' },
    partitions: { type: 'string', default: '20' },
    sync: { type: 'string', default: 'always' },
  },
});
const found = findServer();
if ('missing' in found) {
  console.error(found.missing);
  process.exit(1);
}
const seed = Number(values.seed);
console.log(`seed ${seed}, nats-server ${found.version}, sync ${values.sync}`);
const cluster = await NatsCluster.start({
  program: found.program,
  servers: 3,
  sync: values.sync === 'always' ? 'always' : 'interval',
});
try {
  const { verdict, history, enqueued, consumed, unknown, left, gapMs } = await runFaults({
    cluster,
    seed,
    kills: Number(values.kills),
    partitions: Number(values.partitions),
    log: console.log,
  });
  console.log(describeVerdict(verdict));
  console.log(`${enqueued} messages enqueued, ${consumed} consumed, ${unknown} commits of unknown outcome`);
  console.log(
    `longest time without a commit: ${(gapMs.kill / 1000).toFixed(1)} s around kills, ${(gapMs.partition / 1000).toFixed(1)} s around partitions`,
  );
  if (left > 0) console.log(`${left} messages are left that nobody was given`);
  if (verdict.violations.length > 0 || left > 0) {
    const file = join(mkdtempSync(join(tmpdir(), 'shardlab-faults-')), 'history.jsonl');
    writeFileSync(file, history);
    console.log(`the history is in ${file}`);
    process.exitCode = 1;
  }
} finally {
  await cluster.stop();
}
