/**
 * The rooms of the engine and of the lab: each boundary of `rooms.json` is broken once on purpose, in a folder of its own. And
 * cycles of folders, in any package.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { allowedRooms, findCycles, findUnused, findViolations, readRoomTables } from '../check-rooms.mjs';

const tables = readRoomTables();
const table = tables.engine;
const allowed = allowedRooms(table);
const rooms = Object.keys(table.rooms);
let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shardlab-rooms-'));
  for (const each of Object.values(tables)) mkdirSync(join(folder, each.folder), { recursive: true });
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(file: string, text: string, of = table.folder) {
  const path = join(folder, of, file);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

const violationsOf = (of: Parameters<typeof findViolations>[1]) =>
  findViolations(folder, of).map((sentence) => sentence.slice(of.folder.length + 1));
const violations = () => violationsOf(table);
const cycles = () => findCycles(folder);

const fileIn = (room: string, name: string) => (room.endsWith('.ts') ? room : `${room}/${name}.ts`);
const pathFrom = (room: string, target: string) => (room.endsWith('.ts') ? `./${target}` : `../${target}`);

describe.each(Object.entries(tables))('in the rooms of the %s', (_name, table) => {
  const allowed = allowedRooms(table);
  const rooms = Object.keys(table.rooms);

  describe('an import of a room that is not below is reported', () => {
    const pairs = rooms.flatMap((room) =>
      rooms
        .filter((other) => other !== room && !allowed.get(room)!.has(other))
        .map((other) => ({ room, other })),
    );
    test.each(pairs)('$room importing $other', ({ room, other }) => {
      const [file, target] = [fileIn(room, 'a'), fileIn(other, 'b')];
      const text = `import type { B } from '${pathFrom(room, target)}';\nexport type A = B;\n`;
      write(file, text, table.folder);
      const names = rooms.filter((name) => allowed.get(room)!.has(name)).join(', ') || 'nothing';
      expect(violationsOf(table)).toEqual([`${file} imports ${target}: ${room} may import ${names}`]);
    });
  });

  test('an import of an allowed room is not reported', () => {
    for (const room of rooms) {
      const lines = [...allowed.get(room)!].map(
        (other, i) => `import { b${i} } from '${pathFrom(room, fileIn(other, 'b'))}';`,
      );
      write(fileIn(room, 'a'), `${lines.join('\n')}\n`, table.folder);
      if (!room.endsWith('.ts')) write(`${room}/c.ts`, `import './a.ts';\n`, table.folder);
    }
    expect(violationsOf(table)).toEqual([]);
  });

  test('a file in no room is reported', () => {
    write('helpers/a.ts', '', table.folder);
    expect(violationsOf(table)).toEqual(['helpers/a.ts is in no room that scripts/rooms.json declares']);
  });
});

describe('a module from outside the engine that a room does not name is reported', () => {
  test.each(rooms)('%s', (room) => {
    const file = fileIn(room, 'a');
    const modules = table.rooms[room]!.modules!;
    const lines = [...modules, 'node:http'].map((name, i) => `import * as m${i} from '${name}';`);
    write(file, `${lines.join('\n')}\n`);
    const names = modules.join(', ') || 'nothing';
    expect(violations().filter((sentence) => sentence.includes(' imports '))).toEqual([
      `${file} imports node:http: ${room} may import ${names} from outside the package`,
    ]);
  });
});

test.each([
  ['a value', `import { b } from '../queues/b.ts';`],
  ['a type', `import type { B } from '../queues/b.ts';`],
  ['names over several lines', `import {\n  b,\n  c,\n} from '../queues/b.ts';`],
  ['nothing', `import '../queues/b.ts';`],
  ['a re-export', `export { b } from '../queues/b.ts';`],
  ['a re-export of all', `export * from '../queues/b.ts';`],
  ['a dynamic import', `const b = () => import('../queues/b.ts');`],
  ['a type inside an expression', `export type A = import('../queues/b.ts').B;`],
])('%s counts as an import', (_, line) => {
  write('log/a.ts', `${line}\n`);
  expect(violations()).toEqual(['log/a.ts imports queues/b.ts: log may import api, model']);
});

test('an import in a comment or in a string is ignored', () => {
  write('log/a.ts', `// import '../queues/b.ts';\n/* import { b } from '../queues/b.ts'; */\n`);
  write('log/b.ts', "export const sql = `\n  SELECT seq FROM 'ASC' -- from 'b'\n`;\n");
  expect(violations()).toEqual([]);
});

test('an import that leaves the engine is reported', () => {
  write('cluster/a.ts', `import '../../../lab/src/index.ts';\n`);
  expect(violations()).toEqual([
    `cluster/a.ts imports ../../lab/src/index.ts: cluster may import ${rooms.filter((room) => allowed.get('cluster')!.has(room)).join(', ')}`,
  ]);
});

describe('a cycle of folders is reported', () => {
  test('also inside a room, and if the files themselves have no cycle', () => {
    write('storage/sqlite/a.ts', `import '../catalog/b.ts';\n`);
    write('storage/catalog/b.ts', '');
    write('storage/catalog/c.ts', `import '../threads/d.ts';\n`);
    write('storage/threads/d.ts', `import '../sqlite/e.ts';\n`);
    write('storage/sqlite/e.ts', '');
    expect(cycles()).toEqual([
      `${table.folder}/storage/catalog is in a cycle of folders: storage/catalog/c.ts imports storage/threads/d.ts; ` +
        'storage/threads/d.ts imports storage/sqlite/e.ts; storage/sqlite/a.ts imports storage/catalog/b.ts',
    ]);
  });

  test.each([
    'packages/lab/src',
    'packages/model/src',
    'packages/history/src',
    'packages/jetstream/src',
    'packages/contract/src',
    'packages/engine/test',
    'apps/server/src',
    'apps/web/src',
  ])('in %s, of types', (of) => {
    write('a/b.ts', `import type { D } from '../c/d.ts';\nexport type B = D;\n`, of);
    write('c/d.ts', 'export type D = 1;\n', of);
    write('c/e.tsx', `export type E = import('../a/b.ts').B;\n`, of);
    expect(cycles()).toEqual([
      `${of}/a is in a cycle of folders: a/b.ts imports c/d.ts; c/e.tsx imports a/b.ts`,
    ]);
  });

  test('but not imports in one direction', () => {
    write('main.ts', `import './a/b.ts';\n`, 'apps/server/src');
    write('a/b.ts', `import '../c/d.ts';\nimport '../limits.ts';\n`, 'apps/server/src');
    write('c/d.ts', `import '../limits.ts';\n`, 'apps/server/src');
    expect(cycles()).toEqual([]);
  });
});

test('a permission that nothing uses is reported', () => {
  const { folder: path, nodePorts } = table;
  write('a/a.ts', '');
  write('b/b.ts', `import '../a/a.ts';\nimport 'node:fs';\n`);
  write('c/c.ts', `import '../b/b.ts';\nimport '../a/a.ts';\nsetTimeout(f, 1);\n`);
  const rooms = {
    a: { imports: [], modules: ['node:os'] },
    b: { imports: ['a'], modules: ['node:fs'] },
    c: { imports: ['a', 'b'], modules: [] },
  };
  const usePlatform = { 'b/b.ts': 'a reason', 'c/c.ts': 'a reason' };
  expect(findUnused(folder, { folder: path, rooms, nodePorts, usePlatform, entries: ['a/a.ts'] })).toEqual([
    'scripts/rooms.json: packages/engine/src: a does not import node:os',
    'scripts/rooms.json: packages/engine/src: c need not name a',
    'scripts/rooms.json: packages/engine/src: usePlatform: b/b.ts uses nothing of the platform',
    'scripts/rooms.json: packages/engine/src: entries: a/a.ts does not import the real ports',
  ]);
});

test('only entries may import the real ports', () => {
  const pathTo = (file: string, target: string) => `${'../'.repeat(file.split('/').length - 1)}${target}`;
  for (const file of table.entries) {
    write(file, `import { nodePorts } from '${pathTo(file, 'node-ports.ts')}';\n`);
  }
  write('cluster/a.ts', `import { nodeClusterPorts } from './node-cluster-ports.ts';\n`);
  expect(violations()).toEqual([
    'cluster/a.ts imports cluster/node-cluster-ports.ts: only the entries in scripts/rooms.json may',
  ]);
});

describe('time, timers, chance and processes outside the ports are reported', () => {
  test.each([
    'Date.now()',
    'new Date()',
    'performance.now()',
    'process.hrtime.bigint()',
    'process.uptime()',
    'process.cpuUsage()',
    'process.threadCpuUsage()',
    'process.resourceUsage()',
    'process.memoryUsage.rss()',
    'setTimeout(f, 1)',
    'globalThis.setInterval(f, 1)',
    'setImmediate(f)',
    'AbortSignal.timeout(1)',
    'Math.random()',
    'crypto.randomUUID()',
    'randomBytes(8)',
    'crypto.getRandomValues(bytes)',
    ['`', '$', '{Date.now()}', '`'].join(''),
    'process.pid',
    'process.ppid',
    'process.kill(1, 0)',
    'new Worker(url)',
    'Atomics.wait(words, 0, 0, 5)',
    'Atomics.wait(words, at(of(1, 2), 3), 0, ms())',
    'Atomics.wait(\n  words,\n  0,\n  0,\n  5,\n)',
    'Atomics.waitAsync(words, 0, 0, 5)',
    'Atomics.wait',
  ])('%s', (expression) => {
    write('queues/a.ts', `export const f = () => 0;\nexport const a = ${expression};\n`);
    expect(violations()).toEqual([
      expect.stringMatching(/^queues\/a\.ts:2 uses .*: time, timers, chance and processes/),
    ]);
  });

  test('as imports', () => {
    write('queues/a.ts', `import { setTimeout as pause } from 'node:timers/promises';\n`);
    expect(violations()).toContainEqual(expect.stringMatching(/^queues\/a\.ts:1 uses /));
  });

  test('but not in files that may use them, in comments, for a given time, or in a wait without a timeout', () => {
    for (const file of Object.keys(table.usePlatform)) write(file, 'export const a = Date.now();\n');
    write(
      'queues/a.ts',
      '/** Not Date.now. */\nexport const a = (ms: number) => new Date(ms); // Math.random\n' +
        'Atomics.wait(words, index(1, 2), 0);\nAtomics.wait(\n  words,\n  0,\n  0,\n);\n',
    );
    expect(violations()).toEqual([]);
  });
});

test('a table that names a room before it is declared is refused', () => {
  const circular = {
    ...table,
    rooms: { a: { imports: ['b'], modules: [] }, b: { imports: [], modules: [] } },
  };
  expect(() => allowedRooms(circular)).toThrow('rooms.json: a names b');
});
