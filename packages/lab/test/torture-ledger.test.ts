/** The ledger of the torture: each kind of fault is told, and what a kill may leave is none. */
import { describe, expect, it } from 'vitest';
import { itemPayload, readItem } from '../src/torture/item.ts';
import { Ledger } from '../src/torture/ledger.ts';
import { type Delivered, movingShard, type Note, parseNote } from '../src/torture/notes.ts';

const about = (transaction: string, puts: string[], takes: string[] = []): Note => ({
  kind: 'about',
  transaction,
  puts,
  takes,
});
const committed = (transaction: string): Note => ({ kind: 'committed', transaction });
const refused = (transaction: string): Note => ({ kind: 'refused', transaction });
const at = (...items: string[]): Delivered[] => items.map((item) => ({ item, shard: '100' }));
const delivered = (...items: string[]): Note => ({ kind: 'delivered', delivered: at(...items) });

/** Kinds of fault, with what they name, after these notes of one process and a look that found these. */
function faultsOf(notes: Note[], found: string[], sharedOrder = true): Record<string, string[]> {
  const ledger = new Ledger({ sharedOrder });
  for (const note of notes) ledger.take(note, 'life');
  ledger.check(at(...found));
  const { faults } = ledger.takeTotals();
  return Object.fromEntries(Object.entries<string[]>({ ...faults }).filter(([, list]) => list.length > 0));
}

const put = (...items: string[]) => [about('t', items), committed('t')];

describe('the ledger', () => {
  it('finds nothing wrong where all that was acknowledged is there, in order', () => {
    expect(faultsOf([...put('s.0', 's.1'), delivered('s.0')], ['s.0', 's.1'])).toEqual({});
  });

  it('tells what is lost', () => {
    expect(faultsOf(put('s.0', 's.1'), ['s.1'])).toEqual({ lost: ['s.0'] });
  });

  it('tells what came back after its consumption was acknowledged, from the queue or in a delivery', () => {
    const notes = [...put('s.0'), delivered('s.0'), about('u', [], ['s.0']), committed('u')];
    expect(faultsOf(notes, [])).toEqual({});
    expect(faultsOf(notes, ['s.0'])).toEqual({ doubled: ['s.0'] });
    expect(faultsOf([...notes, delivered('s.0')], [])).toEqual({ doubled: ['s.0'] });
    const again = [about('v', [], ['s.0']), committed('v')];
    expect(faultsOf([...notes, ...again], [])).toEqual({ doubled: ['s.0'] });
  });

  it('tells what is there twice, and what nobody enqueued', () => {
    expect(faultsOf(put('s.0'), ['s.0', 's.0'])).toEqual({ doubled: ['s.0'] });
    expect(faultsOf(put('s.0'), ['s.0', 's.7'])).toEqual({ unknown: ['s.7'] });
    expect(faultsOf([about('t', ['s.0']), refused('t')], ['s.0'])).toEqual({ unknown: ['s.0'] });
  });

  it('tells a first delivery, and a place in the queue, that is out of order', () => {
    const notes = put('s.0', 's.1');
    expect(faultsOf([...notes, delivered('s.1'), delivered('s.0')], ['s.0', 's.1'])).toEqual({
      outOfOrder: ['s.0'],
    });
    expect(faultsOf([...notes, delivered('s.0', 's.1'), delivered('s.0')], ['s.0', 's.1'])).toEqual({});
    expect(faultsOf(notes, ['s.1', 's.0'])).toEqual({ outOfOrder: ['s.0'] });
  });

  it('lets a transaction that was not acknowledged be whole or absent, and nothing else', () => {
    const notes = [...put('s.0'), about('open', ['s.1', 's.2'], ['s.0'])];
    expect(faultsOf(notes, ['s.1', 's.2'])).toEqual({});
    expect(faultsOf(notes, ['s.0'])).toEqual({});
    expect(faultsOf(notes, ['s.1'])).toEqual({ torn: ['open'] });
    expect(faultsOf(notes, ['s.0', 's.1', 's.2'])).toEqual({ torn: ['open'] });
    expect(faultsOf(notes, [])).toEqual({ torn: ['open'] });
  });

  it('takes a message that was handed out as proof of its commit', () => {
    const notes = [about('open', ['s.0', 's.1']), delivered('s.0'), about('u', [], ['s.0']), committed('u')];
    expect(faultsOf(notes, ['s.1'])).toEqual({});
    expect(faultsOf(notes, [])).toEqual({ torn: ['open'] });
  });

  it('remembers after a look what it found, and what it did not', () => {
    const ledger = new Ledger({ sharedOrder: true });
    for (const note of [...put('s.0'), about('open', ['s.1'])]) ledger.take(note, 'a');
    ledger.check(at('s.0'));
    for (const note of put('s.2')) ledger.take(note, 'b');
    ledger.check(at('s.0', 's.1', 's.2'));
    expect(ledger.takeTotals().faults).toMatchObject({ unknown: ['s.1'] });
    ledger.check(at('s.2'));
    expect(ledger.takeTotals().faults).toMatchObject({ lost: ['s.0'] });
  });

  it('asks no order of a queue that several processes share', () => {
    const ledger = new Ledger({ sharedOrder: false });
    for (const note of put('s.0', 's.1')) ledger.take(note, 'a');
    ledger.take({ kind: 'delivered', delivered: [{ item: 's.1', shard: '0' }] }, 'a');
    ledger.take({ kind: 'delivered', delivered: [{ item: 's.0', shard: '0' }] }, 'a');
    expect(ledger.takeTotals().faults.outOfOrder).toEqual([]);
  });

  it('asks one order of all processes where messages move, but not of what one that ended may have been handed', () => {
    const ledger = new Ledger({ sharedOrder: true });
    const moved = (item: string): Note => ({
      kind: 'delivered',
      delivered: [{ item, shard: movingShard('100') }],
    });
    for (const note of put('s.0', 's.1', 's.2')) ledger.take(note, 'a');
    ledger.take(moved('s.1'), 'a');
    ledger.take(moved('s.0'), 'b');
    expect(ledger.takeTotals().faults.outOfOrder).toEqual(['s.0']);
    for (const note of put('r.0', 'r.1')) ledger.take(note, 'a');
    ledger.take(moved('r.1'), 'a');
    ledger.ended();
    ledger.take(moved('r.0'), 'b');
    expect(ledger.takeTotals().faults.outOfOrder).toEqual([]);
  });
});

describe('a note', () => {
  it('is read as it was written', () => {
    expect(parseNote('12 b t1 a.0,a.1 -')).toEqual({ atNs: 12n, note: about('t1', ['a.0', 'a.1']) });
    expect(parseNote('12 d a.0#100,b.0@x#101').note).toEqual({
      kind: 'delivered',
      delivered: [
        { item: 'a.0', shard: '100' },
        { item: 'b.0@x', shard: '101' },
      ],
    });
    expect(parseNote('12 w ').note).toEqual({ kind: 'working' });
    expect(() => parseNote('12 ? x')).toThrow('No note');
  });
});

describe('a payload', () => {
  it('names its item unless a byte of it changed', () => {
    const payload = Buffer.from(itemPayload('s.0', 40));
    expect(readItem(payload)).toBe('s.0');
    for (let at = 0; at < payload.length; at += 1) {
      const damaged = Buffer.from(payload);
      damaged[at] = damaged[at]! ^ 1;
      expect(readItem(damaged)).toBeUndefined();
    }
  });
});
