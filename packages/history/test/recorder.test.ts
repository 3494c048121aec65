/** What a recorder writes can be read, even if the process was killed while it wrote. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { HistoryError, parseHistory, RecordedSession, Recorder, type SessionMessage } from '../src/index.ts';

class Lines {
  text = '';
  #now = 0;
  readonly recorder = new Recorder({
    process: 'p',
    write: (line) => {
      this.text += line;
    },
    now: () => {
      this.#now += 1;
      return this.#now;
    },
  });
}

const refused = Object.assign(new Error('refused'), { code: 'TX_NOT_COMMITTED' });

/** A session that returns one message for each dequeue. */
function sessionThat(commit: () => Promise<void>) {
  const messages = [{ id: '100.1', receipt: 'r1' }];
  return {
    id: 's',
    enqueue: () => undefined,
    dequeue: async () => messages,
    receive: async () => messages,
    acknowledge: () => undefined,
    release: async () => undefined,
    extend: async () => undefined,
    commit,
    rollback: async () => undefined,
    close: async () => undefined,
  };
}

function recorded(lines: Lines, commit: () => Promise<void>): RecordedSession<SessionMessage, string> {
  const identify = ({ id }: SessionMessage) => ({ message: `m${id}` });
  return new RecordedSession<SessionMessage, string>(sessionThat(commit), {
    recorder: lines.recorder,
    name: 'session',
    identify,
  });
}

describe('a history as text', () => {
  it('has an operation from its start on, and its outcome once it is known', () => {
    const lines = new Lines();
    const operation = lines.recorder.begin({ type: 'lease', resource: 'r' });
    expect(parseHistory(lines.text)).toMatchObject([{ outcome: 'unknown', end: Number.POSITIVE_INFINITY }]);
    operation.end('ok');
    expect(parseHistory(lines.text)).toMatchObject([
      { id: 'p.1', start: 1, end: 2, outcome: 'ok', resource: 'r' },
    ]);
  });

  it('is read without a last line that was cut off', () => {
    const lines = new Lines();
    lines.recorder.begin({ type: 'lease', resource: 'r' }).end('ok');
    for (let length = lines.text.length - 1; length >= 0; length -= 1) {
      const read = parseHistory(lines.text.slice(0, length));
      expect(read.every(({ outcome }) => outcome === 'unknown')).toBe(true);
    }
  });

  it('is refused with a message that names the wrong line or operation', () => {
    expect(() => parseHistory('{"id":"a","type":"kill","start":1}\nnonsense\n')).toThrow(
      'line 2 is not JSON',
    );
    expect(() => parseHistory('{"type":"kill"}\n')).toThrow(HistoryError);
    expect(() => parseHistory('{"id":"a","type":"party","start":1}\n')).toThrow(
      'operation a has no known type: party',
    );
    expect(() => parseHistory('{"id":"a","type":"kill"}\n')).toThrow('operation a has no start');
  });
});

describe('a recorded session', () => {
  it('records what it enqueued and consumed with the outcome of the commit', async () => {
    const lines = new Lines();
    const session = recorded(lines, async () => undefined);
    await session.dequeue('q', { max: 3 });
    session.enqueue('q', 'payload', { message: 'new' });
    await session.commit();
    expect(parseHistory(lines.text)).toMatchObject([
      { id: 'p.1', type: 'delivery', max: 3, messages: [{ message: 'm100.1' }] },
      {
        type: 'transaction',
        outcome: 'ok',
        enqueues: [{ queue: 'q', message: 'new' }],
        consumes: [{ delivery: 'p.1', message: 'm100.1' }],
      },
    ]);
  });

  it.each([
    ['fail', refused],
    ['unknown', Object.assign(new Error('lost'), { code: 'COMMIT_OUTCOME_UNKNOWN' })],
    ['unknown', new Error('a bug')],
  ])('records a rejected commit as %s', async (outcome, error) => {
    const lines = new Lines();
    const session = recorded(lines, () => Promise.reject(error));
    session.enqueue('q', 'payload', { message: 'new' });
    await expect(session.commit()).rejects.toBe(error);
    expect(parseHistory(lines.text)).toMatchObject([{ type: 'transaction', outcome }]);
  });

  it('records a rollback and a close as a failed transaction, and as nothing if no transaction was open', async () => {
    const lines = new Lines();
    const session = recorded(lines, async () => undefined);
    await session.rollback();
    expect(lines.text).toBe('');
    await session.dequeue('q');
    await session.rollback();
    session.enqueue('q', 'payload', { message: 'new' });
    await session.close();
    const outcomes = parseHistory(lines.text).map(({ type, outcome }) => `${type} ${outcome}`);
    expect(outcomes).toEqual(['delivery ok', 'transaction fail', 'transaction fail']);
  });

  it('records timed holds by their receipts', async () => {
    const lines = new Lines();
    const session = recorded(lines, async () => undefined);
    await session.receive('q', { holdMs: 10 });
    await session.extend('q', ['r1'], 20);
    await session.release('q', ['r1']);
    session.acknowledge('q', ['r1', 'of another session']);
    await session.commit();
    const part = { delivery: 'p.1', queue: 'q', message: 'm100.1' };
    expect(parseHistory(lines.text)).toMatchObject([
      { type: 'delivery', holdMs: 10 },
      { type: 'extend', holdMs: 20, deliveries: [part] },
      { type: 'release', deliveries: [part] },
      { type: 'transaction', consumes: [part] },
    ]);
  });
});

describe('the command', () => {
  const cli = fileURLToPath(new URL('../src/cli.ts', import.meta.url));
  const run = (...args: string[]) => spawnSync(process.execPath, [cli, ...args], { encoding: 'utf8' });
  const folder = () => {
    const dir = mkdtempSync(join(tmpdir(), 'shardlab-history-'));
    onTestFinished(() => rmSync(dir, { recursive: true }));
    return dir;
  };

  it('judges files together and says so by its exit code', () => {
    const dir = folder();
    const [put, got] = [join(dir, 'put.jsonl'), join(dir, 'got.jsonl')];
    const enqueues = [{ queue: 'q', message: 'x' }];
    const base = { process: 'p', outcome: 'ok' };
    writeFileSync(
      put,
      `${JSON.stringify({ ...base, id: 'a', type: 'transaction', session: 's', start: 1, end: 2, enqueues })}\n`,
    );
    const delivery = {
      ...base,
      id: 'b',
      type: 'delivery',
      queue: 'q',
      max: 1,
      start: 3,
      end: 4,
      messages: [{ message: 'x' }],
    };
    writeFileSync(got, `${JSON.stringify(delivery)}\n`);
    const legal = run(put, got);
    expect(legal.stdout).toContain('legal');
    expect(legal.status).toBe(0);
    const illegal = run(got);
    expect(illegal.stdout).toContain('invention: x is in q, and no client enqueued it');
    expect(illegal.status).toBe(1);
  });

  it('refuses what it cannot read', () => {
    expect(run().status).toBe(2);
    expect(run(join(folder(), 'missing.jsonl'))).toMatchObject({ status: 2 });
  });
});
