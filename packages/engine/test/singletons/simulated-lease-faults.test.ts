/** Lease faults in a simulated cluster: each seed gives a run of faults, in which there must be one writer at a time. */
import { expect, it } from 'vitest';
import { drawnSeed, isTorture } from '../random.ts';
import { SimulatedCluster } from './simulated-cluster.ts';
import { findWriterFaults } from './writer-history.ts';

const runs = isTorture ? 200 : 20;
const faultsPerRun = 10;

async function runSeed(seed: number, options = {}): Promise<{ cluster: SimulatedCluster; faults: string[] }> {
  const cluster = new SimulatedCluster(seed, options);
  const faults: string[] = [];
  await cluster.begin();
  for (let fault = 0; fault < faultsPerRun; fault += 1) faults.push(await cluster.fault());
  await cluster.end();
  return { cluster, faults };
}

it(`leave one writer at a time: ${runs} seeds of ${faultsPerRun} faults`, async () => {
  let [refused, written] = [0, 0];
  const seen = new Set<string>();
  for (let seed = drawnSeed; seed < drawnSeed + runs; seed += 1) {
    const { cluster, faults } = await runSeed(seed);
    for (const fault of faults) seen.add(fault);
    expect(
      findWriterFaults(cluster.file.written, { acknowledged: cluster.acknowledged }),
      `seed ${seed}: ${faults.join(', ')}`,
    ).toEqual([]);
    refused += cluster.refused;
    written += cluster.file.written.length;
  }
  console.info(`simulated lease faults: seed ${drawnSeed}, ${written} writes, ${refused} refused`);
  expect([...seen].sort()).toEqual(['hang', 'kill', 'stop', 'wall clock', 'woken in time', 'wrongly dead']);
  expect(refused).toBeGreaterThan(runs);
});

it('a run without the comparison of epochs shows two writers', async () => {
  const { cluster } = await runSeed(drawnSeed, { comparesEpochs: false });
  expect(findWriterFaults(cluster.file.written, { acknowledged: [] })).not.toEqual([]);
});

it('a seed always gives the same run', async () => {
  const [one, two] = [await runSeed(3), await runSeed(3)];
  expect(one.cluster.file.written).toEqual(two.cluster.file.written);
  expect(one.faults).toEqual(two.faults);
});
