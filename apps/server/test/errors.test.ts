import { readFileSync } from 'node:fs';
import { errorRegistry, QueueError } from '@shardlab/engine';
import { LabError, labErrorRegistry } from '@shardlab/lab';
import { describe, expect, it } from 'vitest';
import { ServerError, serverErrorRegistry } from '../src/errors.ts';
import { mapError, statusOf } from '../src/http/map-error.ts';

interface Row {
  status: string;
  retryable: string;
  meaning: string;
  action: string;
}

function documented(): Map<string, Row> {
  const text = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');
  const rows = new Map<string, Row>();
  for (const line of text.split('\n')) {
    const [, code, status, retryable, meaning, action] = line.split('|').map((cell) => cell.trim());
    if (!code?.startsWith('`')) continue;
    const name = code.slice(1, -1);
    expect(rows.has(name), `${name} stands twice`).toBe(false);
    rows.set(name, { status: status!, retryable: retryable!, meaning: meaning!, action: action! });
  }
  return rows;
}

function registered(): Map<string, Omit<Row, 'action'>> {
  const kinds = [...Object.entries(errorRegistry), ...Object.entries(labErrorRegistry)].map(
    ([code, { kind, ...entry }]) => [code, { ...entry, status: statusOf(code, kind) }] as const,
  );
  const all = [...kinds, ...Object.entries(serverErrorRegistry)];
  expect(new Set(all.map(([code]) => code)).size, 'a code belongs to one registry').toBe(all.length);
  return new Map(
    all.map(([code, { status, retryable, message }]) => [
      code,
      { status: String(status ?? '–'), retryable: retryable ? 'yes' : 'no', meaning: message },
    ]),
  );
}

describe('docs/errors.md', () => {
  const docs = documented();
  const registries = registered();

  it('lists every code of the registries and no other', () => {
    expect([...docs.keys()].sort()).toEqual([...registries.keys()].sort());
  });

  it.each([...registries])('has the entry of the registry for %s, and says what to do', (code, entry) => {
    const { action, ...row } = docs.get(code)!;
    expect(row).toEqual(entry);
    expect(action).not.toBe('');
  });
});

describe('the error mapper', () => {
  it('answers each code with its registered status, and never with a stack', () => {
    for (const [code, { status }] of registered()) {
      const error =
        code in errorRegistry
          ? new QueueError(code as never)
          : code in labErrorRegistry
            ? new LabError(code as never)
            : new ServerError(code as never);
      const mapped = mapError(error);
      expect(String(mapped.status)).toBe(status === '–' ? '500' : status);
      expect(Object.keys(mapped.body).sort()).toEqual(['code', 'message', 'retryable']);
    }
  });

  it('reveals nothing about an unknown error', () => {
    const { status, body, unexpected } = mapError(new Error('password in /etc/secret'));
    expect({ status, code: body.code, unexpected }).toEqual({
      status: 500,
      code: 'INTERNAL',
      unexpected: true,
    });
    expect(JSON.stringify(body)).not.toContain('secret');
  });
});
