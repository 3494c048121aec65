/** A program that runs a cluster and is killed by its test. It sends the pids of the cluster's processes once all serve. */
import { startCluster } from '../../src/index.ts';

const cluster = await startCluster({ dir: process.argv[2]!, instances: 2 });
process.send!(cluster.topology().map((each) => each.process!.pid));
