/** The ledger of the torture: each kind of fault is reported, and what a kill may leave is no fault. */
import { describe, expect, it } from 'vitest';
import { itemPayload, readItem } from '../src/torture/item.ts';
import { Ledger } from '../src/torture/ledger.ts';
import { type Delivered, forwardedShard, type Note, parseNote } from '../src/torture/notes.ts';

const about = (transaction: string, enqueues: string[], consumes: string[] = []): Note => ({
  kind: 'about',
  transaction,
  enqueues,
  consumes,
});
const committed = (transaction: string): Note => ({ kind: 'committed', transaction });
const refused = (transaction: string): Note => ({ kind: 'refused', transaction });
const at = (...items: string[]): Delivered[] => items.map((item) => ({ item, shard: '100' }));
const delivered = (...items: string[]): Note => ({ kind: 'delivered', delivered: at(...items) });

/** Kinds of fault, with what they name, after these notes of one process and an inspection that found these. */
function faultsOf(notes: Note[], found: string[], sharedOrder = true): Record<string, string[]> {
  const ledger = new Ledger({ sharedOrder });
  for (const note of notes) ledger.recordNote(note, 'process');
  ledger.compareWithFound(at(...found));
  const { faults } = ledger.takeTotals();
  return Object.fromEntries(Object.entries<string[]>({ ...faults }).filter(([, list]) => list.length > 0));
}

const put = (...items: string[]) => [about('t', items), committed('t')];

describe('the ledger', () => {
  it('finds nothing wrong where all that was acknowledged is there, in order', () => {
    expect(faultsOf([...put('s.0', 's.1'), delivered('s.0')], ['s.0', 's.1'])).toEqual({});
  });

  it('reports what is lost', () => {
    expect(faultsOf(put('s.0', 's.1'), ['s.1'])).toEqual({ lost: ['s.0'] });
  });

  it('reports a message seen again after its consumption was acknowledged, in the queue or in a delivery', () => {
    const notes = [...put('s.0'), delivered('s.0'), about('u', [], ['s.0']), committed('u')];
    expect(faultsOf(notes, [])).toEqual({});
    expect(faultsOf(notes, ['s.0'])).toEqual({ duplicated: ['s.0'] });
    expect(faultsOf([...notes, delivered('s.0')], [])).toEqual({ duplicated: ['s.0'] });
    const again = [about('v', [], ['s.0']), committed('v')];
    expect(faultsOf([...notes, ...again], [])).toEqual({ duplicated: ['s.0'] });
  });

  it('reports duplicates, and messages that were never enqueued', () => {
    expect(faultsOf(put('s.0'), ['s.0', 's.0'])).toEqual({ duplicated: ['s.0'] });
    expect(faultsOf(put('s.0'), ['s.0', 's.7'])).toEqual({ unknown: ['s.7'] });
    expect(faultsOf([about('t', ['s.0']), refused('t')], ['s.0'])).toEqual({ unknown: ['s.0'] });
  });

  it('reports a first delivery, or a position in the queue, that is out of order', () => {
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

  it('takes a delivered message as proof of its commit', () => {
    const notes = [about('open', ['s.0', 's.1']), delivered('s.0'), about('u', [], ['s.0']), committed('u')];
    expect(faultsOf(notes, ['s.1'])).toEqual({});
    expect(faultsOf(notes, [])).toEqual({ torn: ['open'] });
  });

  it('remembers after an inspection what was present and what was not', () => {
    const ledger = new Ledger({ sharedOrder: true });
    for (const note of [...put('s.0'), about('open', ['s.1'])]) ledger.recordNote(note, 'a');
    ledger.compareWithFound(at('s.0'));
    for (const note of put('s.2')) ledger.recordNote(note, 'b');
    ledger.compareWithFound(at('s.0', 's.1', 's.2'));
    expect(ledger.takeTotals().faults).toMatchObject({ unknown: ['s.1'] });
    ledger.compareWithFound(at('s.2'));
    expect(ledger.takeTotals().faults).toMatchObject({ lost: ['s.0'] });
  });

  it('asks no order of a queue that several processes share', () => {
    const ledger = new Ledger({ sharedOrder: false });
    for (const note of put('s.0', 's.1')) ledger.recordNote(note, 'a');
    ledger.recordNote({ kind: 'delivered', delivered: [{ item: 's.1', shard: '0' }] }, 'a');
    ledger.recordNote({ kind: 'delivered', delivered: [{ item: 's.0', shard: '0' }] }, 'a');
    expect(ledger.takeTotals().faults.outOfOrder).toEqual([]);
  });

  it('requires one order over all processes where messages move, except for what an ended process may have received', () => {
    const ledger = new Ledger({ sharedOrder: true });
    const moved = (item: string): Note => ({
      kind: 'delivered',
      delivered: [{ item, shard: forwardedShard('100') }],
    });
    for (const note of put('s.0', 's.1', 's.2')) ledger.recordNote(note, 'a');
    ledger.recordNote(moved('s.1'), 'a');
    ledger.recordNote(moved('s.0'), 'b');
    expect(ledger.takeTotals().faults.outOfOrder).toEqual(['s.0']);
    for (const note of put('r.0', 'r.1')) ledger.recordNote(note, 'a');
    ledger.recordNote(moved('r.1'), 'a');
    ledger.recordProcessEnd();
    ledger.recordNote(moved('r.0'), 'b');
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
    expect(() => parseNote('12 ? x')).toThrow('Not a note');
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
