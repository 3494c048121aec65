/**
 * The worst lease faults, on real files: a living holder of a service is replaced because it was stopped or its death was falsely
 * reported, and it continues to write. None of its later writes may get into the file. Clocks that are wrong have no effect.
 */
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFailed, onTestFinished, vi } from 'vitest';
import { openInstance } from '../../src/index.ts';
import { nodePorts } from '../../src/node-ports.ts';
import { Membership } from '../../src/storage/catalog/membership.ts';
import { makeFolder } from '../folder.ts';
import { drawnSeed, isTorture, random } from '../random.ts';
import { waiting } from '../waiting.ts';
import { VirtualMachine, VirtualMember } from './virtual-member.ts';
import { findWriterFaults, readWriterJournal } from './writer-history.ts';

const faultCount = isTorture ? 200 : 6;
const instances = [1, 2, 3];
const preferred = 1;
const faults = ['hang', 'false death', 'clock ahead', 'clock behind', 'wall clock', 'stop'] as const;
type Fault = (typeof faults)[number];

const module = fileURLToPath(new URL('./stubborn-writer.ts', import.meta.url));
async function readWritten(dir: string): Promise<{ epoch: number; number: number }[]> {
  const instance = await openInstance({ dir, instance: preferred });
  const session = instance.openSession();
  const written: { epoch: number; number: number }[] = [];
  for (;;) {
    const messages = await session.dequeue('written', { max: 10_000 });
    if (messages.length === 0) break;
    for (const { payload } of messages) {
      const [epoch, number] = payload.toString().split(' ').map(Number) as [number, number];
      written.push({ epoch, number });
    }
  }
  await session.close();
  await instance.close();
  return written;
}

describe('lease faults', () => {
  it(`leave one writer at a time (${faultCount} faults)`, { timeout: 3_600_000 }, async () => {
    console.info(`lease faults: seed ${drawnSeed}`);
    const next = random(drawnSeed);
    const dir = makeFolder();
    const journal = join(dir, 'journal');
    const services = [{ name: 'writer', preferred, module, options: { journal } }];
    const first = await openInstance({ dir });
    await first.createQueue({ name: 'written' });
    await first.close();
    const membership = new Membership(dir, { busyMs: 1_000, processes: nodePorts.processes });
    onTestFinished(() => membership.close());
    for (const instance of instances) membership.addMember(instance);
    const hostOf = (instance: number) => membership.hosts().find((host) => host.instance === instance)?.pid;

    const machine = new VirtualMachine();
    const joinAs = (instance: number) => VirtualMember.join(machine, { dir, instance, services });
    const members: VirtualMember[] = [];
    onTestFinished(async () => void (await Promise.allSettled(members.map((member) => member.leave()))));
    for (const instance of instances) members.push(await joinAs(instance));
    const done: string[] = [];
    onTestFailed(() => {
      const states = members.map((member) => {
        const events = member.events.slice(-8).map(({ type, instance, code, message }) => ({
          ...{ type, instance, code, message },
        }));
        const { pid, instance } = member;
        return { pid, instance, alive: machine.isAlive(pid), service: member.service(preferred), events };
      });
      console.info(JSON.stringify({ round: done.length, last: done.slice(-3), states }, null, 1));
    });

    const holders = () =>
      members.filter(
        (member) => machine.isAlive(member.pid) && member.service(preferred)?.status === 'active',
      );
    const numberNow = () => readWriterJournal(journal).acknowledged.length;
    const holderAtWork = async (): Promise<VirtualMember> =>
      vi.waitFor(() => {
        const [holder, ...others] = holders();
        expect(holder).toBeDefined();
        expect(others).toEqual([]);
        const { epoch } = holder!.service(preferred)!;
        expect(readWriterJournal(journal).acknowledged.some((write) => write.epoch === epoch)).toBe(true);
        return holder!;
      }, waiting);

    const refused = new Map<string, number>();
    for (let round = 0; round < faultCount; round += 1) {
      const holder = await holderAtWork();
      const { epoch } = holder.service(preferred)!;
      const fault: Fault = faults[isTorture ? Math.floor(next() * faults.length) : round % faults.length]!;
      done.push(`${fault} of process ${holder.pid}`);
      if (fault === 'hang') holder.freeze();
      else if (fault === 'false death') machine.declareDead(holder.pid);
      else if (fault === 'stop') await holder.leave();
      else {
        if (fault === 'clock ahead')
          for (const member of members) if (member !== holder) member.machineClockOffMs = 60_000;
        if (fault === 'clock behind') holder.machineClockOffMs = -60_000;
        if (fault === 'wall clock') holder.wallClockOffMs = (next() < 0.5 ? -1 : 1) * 86_400_000;
        // No clock is compared with another, so none of this is anybody's death.
        const before = numberNow();
        await vi.waitFor(() => expect(numberNow()).toBeGreaterThan(before + 3), waiting);
        expect(holder.service(preferred)).toMatchObject({ epoch, status: 'active' });
        holder.wallClockOffMs = 0;
        for (const member of members) member.machineClockOffMs = 0;
        continue;
      }
      // Another process claims the instance, and opens it once the replaced holder has noticed and closed its files.
      await vi.waitFor(() => expect(hostOf(preferred)).not.toBe(holder.pid), waiting);
      machine.declareDead(holder.pid);
      holder.thaw();
      await vi.waitFor(() => {
        const other = members.find((member) => member !== holder && member.service(preferred) !== undefined);
        expect(other?.service(preferred)?.status).toBe('active');
        expect(other!.service(preferred)!.epoch).toBeGreaterThan(epoch);
      }, waiting);
      const code = await vi.waitFor(() => {
        const ended = readWriterJournal(journal).ended.get(epoch);
        expect(ended).toBeDefined();
        return ended!;
      }, waiting);
      expect(['INSTANCE_FENCED', 'INSTANCE_CLOSED', 'SESSION_CLOSED', 'INSTANCE_FAILED']).toContain(code);
      refused.set(`${fault}: ${code}`, (refused.get(`${fault}: ${code}`) ?? 0) + 1);
      // A process that lost its own instance ends, and so do those that were declared dead.
      for (const [index, member] of members.entries()) {
        if (member !== holder && machine.isAlive(member.pid) && !member.lostOwnInstance) continue;
        machine.declareDead(member.pid);
        await member.leave();
        members[index] = await joinAs(member.instance);
      }
    }
    console.info(`lease faults: ${[...refused].map(([what, times]) => `${what} ${times}`).join(', ')}`);
    for (const member of members) await member.leave();
    for (const member of members) machine.declareDead(member.pid);
    const written = await readWritten(dir);
    expect(findWriterFaults(written, readWriterJournal(journal))).toEqual([]);
    expect(written.length).toBeGreaterThan(faultCount);
    expect(refused.size).toBeGreaterThan(0);
  });

  it('are detected: a second writer, a writer of an earlier epoch and a lost write', () => {
    const one = [
      { epoch: 1, number: 1 },
      { epoch: 2, number: 2 },
    ];
    expect(findWriterFaults(one, { acknowledged: one })).toEqual([]);
    const faulty = [...one, { epoch: 1, number: 2 }];
    expect(findWriterFaults(faulty, { acknowledged: [{ epoch: 2, number: 3 }] })).toEqual([
      'write 3 of the file has the number 2',
      'epoch 1 wrote after epoch 2',
      'write 3 of epoch 2 was acknowledged and is missing',
    ]);
  });
});
