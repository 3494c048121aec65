/**
 * A process that runs the toy study's scenario on a system whose server is the program `toy-server` of the package `toy-server`, and
 * prints the messages and the status of the run. `install-servers.test.ts` gives it a PATH with an `apt-get` of its own.
 */
import { readFile } from 'node:fs/promises';
import { parseScenario, type Study, StudyRegistry, startRun } from '@shardlab/lab';
import { installServers } from '../src/systems/debian-packages.ts';
import { findProgram } from '../src/systems/driver/server.ts';
import { missingOf } from '../src/systems/missing.ts';
import { redis } from '../src/systems/redis-server.ts';
import { systemOf } from '../src/systems/systems.ts';
import { study } from './toy-studies/toy/study.ts';

const [, , mayInstall] = process.argv;
const system = {
  ...systemOf('redis-snapshot'),
  server: {
    ...redis,
    aptPackage: 'toy-server',
    version: () => (findProgram('toy-server') === null ? null : '1'),
  },
};
const onServer: Study = {
  ...study,
  programs: study.programs!.map((program) => ({
    ...program,
    missing: (_, options) => missingOf([system], options),
    install: (_, say) => installServers([system], say, () => mayInstall === 'may'),
  })),
};
const studies = new StudyRegistry([onServer]);
const parsed = parseScenario(
  await readFile(new URL('toy-studies/toy/scenarios/toy-turns.json', import.meta.url), 'utf8'),
  studies,
);
if (!parsed.ok) throw parsed.error;

const said: string[] = [];
const run = () =>
  startRun({
    scenario: parsed.scenario,
    scale: 'full',
    studies,
    onEvent: (event) => {
      if (event.type === 'progress' && event.progress.current?.startsWith('Installing') === true)
        said.push(event.progress.current);
    },
  });
const runs = [await run(), await run()];
console.log(
  JSON.stringify({
    said,
    runs: runs.map(({ status, error }) => ({ status, message: error?.message ?? null })),
  }),
);
