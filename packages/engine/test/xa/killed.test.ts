/**
 * The processes of two instances and of a coordinator are killed again and again while distributed transactions move tokens between the
 * instances. No token is lost or duplicated, each has at least the number of hops that was acknowledged, and the rows that count hops
 * agree with the messages.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { openInstance } from '../../src/index.ts';
import { makeFolder, openTestInstance } from '../folder.ts';
import { drawnSeed, random } from '../random.ts';
import { rows, run } from './rows-support.ts';
import { put, takeAll } from './support.ts';

type Role = 'one' | 'two' | 'coordinator';

const rounds: Role[][] = [
  ['coordinator'],
  ['one'],
  ['two'],
  ['one', 'two'],
  ['coordinator', 'one'],
  ['coordinator', 'two'],
  ['coordinator', 'one', 'two'],
];
const tokens = Array.from({ length: 24 }, (_, index) => `t${index}`);

it('transfers are all or nothing, whichever process is killed', { timeout: 120_000 }, async () => {
  const dir = makeFolder();
  const first = await openInstance({ dir });
  await first.createQueue({ name: 'tokens', forwarding: false, attemptsMax: null });
  await put(first, 'tokens', ...tokens.map((token) => `${token} 0`));
  await run(first, 'CREATE TABLE token (name TEXT PRIMARY KEY, hops INTEGER) WITHOUT ROWID');
  for (const token of tokens) await run(first, ['INSERT INTO token VALUES (?, 0)', [token]]);
  await first.close();

  const draw = random(drawnSeed);
  const processes = new Map<Role, ChildProcess>();
  const acknowledged = new Map<string, number>(tokens.map((token) => [token, 0]));
  let transfers = 0;
  const start = async (role: Role) => {
    const child = fork(new URL('./transfer-process.ts', import.meta.url), [dir, role]);
    onTestFinished(() => void child.kill('SIGKILL'));
    child.on('message', (hop: string) => {
      if (hop === 'serving') return;
      const [token, hops] = hop.split(' ') as [string, string];
      acknowledged.set(token, Math.max(acknowledged.get(token)!, Number(hops)));
      transfers += 1;
    });
    await once(child, 'message');
    processes.set(role, child);
  };
  const kill = async (role: Role) => {
    const child = processes.get(role)!;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    expect((await ended)[1]).toBe('SIGKILL');
  };

  await Promise.all([start('one'), start('two')]);
  await start('coordinator');
  for (const roles of rounds) {
    const killAt = transfers + 5 + Math.floor(draw() * 40);
    await expect.poll(() => transfers, { interval: 2 }).toBeGreaterThanOrEqual(killAt);
    await Promise.all(roles.map(kill));
    await Promise.all(roles.filter((role) => role !== 'coordinator').map(start));
    if (roles.includes('coordinator')) await start('coordinator');
  }
  await Promise.all([...processes.keys()].map(kill));

  const [one, two, three] = [
    await openTestInstance({ dir }),
    await openTestInstance({ dir, instance: 2 }),
    await openTestInstance({ dir, instance: 3 }),
  ];
  const coordinator = three.coordinator({ one: one.xa, two: two.xa });
  await coordinator.resolve();
  coordinator.close();
  expect([await one.xa.recover(), await two.xa.recover()]).toEqual([[], []]);
  const counted = await rows(one, "SELECT name || ' ' || hops AS hop FROM token ORDER BY hop");
  const left = [...(await takeAll(one, 'tokens')), ...(await takeAll(two, 'tokens'))];
  const hops = left.map((payload) => payload.split(' ') as [string, string]);
  expect(counted.map(({ hop }) => hop)).toEqual([...left].sort());
  expect(hops.map(([token]) => token).sort()).toEqual([...tokens].sort());
  for (const [token, count] of hops)
    expect(Number(count), token).toBeGreaterThanOrEqual(acknowledged.get(token)!);
});
