/**
 * Checks the rooms of the engine and of the lab against `rooms.json`, where their order is declared: imports go downwards
 * only, and of the engine only the files named there use time, timers, chance and processes directly, or name the real ports:
 * everything else takes ports as arguments. In no package may folders import each other in a cycle. Types count as imports.
 * Biome finds cycles between files (`noImportCycles`).
 */
import { globSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * @typedef {{ imports: string[], modules?: string[] }} Room without `modules` it may import any from outside the package
 * @typedef {{ usePlatform: Record<string, string>, nodePorts: string[], entries: string[] }} Ports
 * @typedef {{ folder: string, rooms: Record<string, Room> } & Partial<Ports>} RoomTable without ports any file may use the platform
 * @typedef {{ path: string, code: string, imports: string[] }} SourceFile `path` and relative `imports` from the folder
 */

const commentOrString = /\/\/.*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/g;
const specifiers = /^(?:import|export)\b[^;'"`]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\(\s*'([^']+)'/gm;
const platform = [
  /\bDate\.now\b/g,
  /\bnew Date\(\s*\)/g,
  /\bperformance\.(?:now|timeOrigin)\b/g,
  /\bprocess\.(?:hrtime|uptime|(?:cpu|threadCpu|resource|memory)Usage)\b/g,
  /\b(?:setTimeout|setInterval|setImmediate)\b/g,
  /\bAbortSignal\.timeout\b/g,
  /\bMath\.random\b/g,
  /\b(?:randomUUID|randomBytes|randomInt|randomFillSync|getRandomValues)\b/g,
  /\bnode:(?:timers|perf_hooks|child_process)\b[^']*/g,
  /(?<![.#])\bprocess\.(?:p?pid|kill)\b/g,
  /\bnew Worker\b/g,
  // With three arguments it is allowed: the fourth is a timeout, and a wait without one is not a timer.
  /\bAtomics\.wait(?:Async)?\b(?!\((?:(?:[^(),]|\((?:[^()]|\([^()]*\))*\))+(?:,\s*|(?=\)))){3}\))/g,
];

/** @returns {{ engine: RoomTable & Ports, lab: RoomTable }} */
export function readRoomTables() {
  const { engine, lab } = JSON.parse(readFileSync(new URL('rooms.json', import.meta.url), 'utf8'));
  return { engine, lab };
}

/**
 * Every violation as a sentence; none if all is well. Throws if the table itself is not in order.
 * @param {string} root the folder that `table.folder` is in
 * @param {RoomTable} table
 * @returns {string[]}
 */
export function findViolations(root, table) {
  const allowed = allowedRooms(table);
  const files = readSources(join(root, table.folder));
  const { usePlatform } = table;
  return [
    ...files.flatMap((file) => importViolations(file, table, allowed)),
    ...files.flatMap((file) =>
      usePlatform === undefined || file.path in usePlatform ? [] : portViolations(file),
    ),
  ].map((sentence) => `${table.folder}/${sentence}`);
}

/**
 * A sentence for each cycle of folders in the sources of a package, and in its tests; none if all is well.
 * @param {string} root the folder that `packages` and `apps` are in
 * @returns {string[]}
 */
export function findCycles(root) {
  const folders = globSync('{packages,apps}/*/{src,test}', { cwd: root }).sort();
  return folders.flatMap((folder) =>
    folderCycles(readSources(join(root, folder))).map((sentence) => `${folder}/${sentence}`),
  );
}

/**
 * The rooms that each room may import, itself left out. A room names only rooms declared before it, so no order of
 * rooms can have a cycle.
 * @param {RoomTable} table
 * @returns {Map<string, Set<string>>}
 */
export function allowedRooms({ rooms }) {
  /** @type {Map<string, Set<string>>} */
  const allowed = new Map();
  for (const [room, { imports }] of Object.entries(rooms)) {
    const below = new Set(imports);
    for (const name of imports) {
      const further = allowed.get(name);
      if (further === undefined)
        throw new Error(`rooms.json: ${room} names ${name}, declared after it or not at all`);
      for (const lower of further) below.add(lower);
    }
    allowed.set(room, below);
  }
  return allowed;
}

const isSource = (/** @type {string} */ path) => /\.tsx?$/.test(path);

/** @returns {SourceFile[]} */
function readSources(/** @type {string} */ folder) {
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return paths
    .filter(isSource)
    .map((path) => path.replaceAll('\\', '/'))
    .sort()
    .map((path) => {
      const text = readFileSync(join(folder, path), 'utf8');
      const code = text.replace(commentOrString, (part) =>
        part.startsWith('/') ? part.replace(/[^\n]/g, ' ') : part,
      );
      const imports = [...code.matchAll(specifiers)].map(([, from, bare, dynamic]) => {
        const name = from ?? bare ?? dynamic ?? '';
        return name.startsWith('.') ? posix.join('.', dirname(path), name) : name;
      });
      return { path, code, imports };
    });
}

/** A file outside of all folders counts as a folder and a room of its own. */
const folderOf = (/** @type {string} */ path) => (path.includes('/') ? dirname(path) : path);
const roomOf = (/** @type {string} */ path) => path.split('/')[0] ?? path;

/**
 * @param {SourceFile} file
 * @param {RoomTable} table
 * @param {Map<string, Set<string>>} allowed
 * @returns {string[]}
 */
function importViolations({ path, imports }, { rooms, nodePorts = [], entries = [] }, allowed) {
  const room = roomOf(path);
  const below = allowed.get(room);
  if (below === undefined) return [`${path} is in no room that scripts/rooms.json declares`];
  const modules = rooms[room]?.modules;
  const lower = Object.keys(rooms).filter((name) => below.has(name));
  return imports.flatMap((target) => {
    const isFile = isSource(target);
    const isPorts = nodePorts.includes(target);
    if (isPorts && entries.includes(path)) return [];
    if (isFile ? roomOf(target) === room || below.has(roomOf(target)) : (modules?.includes(target) ?? true)) {
      return isPorts ? [`${path} imports ${target}: only the entries in scripts/rooms.json may`] : [];
    }
    const permitted = isFile
      ? lower.join(', ') || 'nothing'
      : `${modules?.join(', ') || 'nothing'} from outside the package`;
    return [`${path} imports ${target}: ${room} may import ${permitted}`];
  });
}

/**
 * One sentence for each set of folders that import each other, with an import on each way.
 * @param {SourceFile[]} files
 * @returns {string[]}
 */
function folderCycles(files) {
  /** @type {Map<string, Map<string, string>>} folder → folder that it imports → an example */
  const graph = new Map();
  for (const { path, imports } of files) {
    const from = folderOf(path);
    for (const target of imports.filter((name) => isSource(name) && !name.startsWith('..'))) {
      const to = folderOf(target);
      const targets = graph.get(from) ?? new Map();
      graph.set(from, targets);
      if (from !== to && !targets.has(to)) targets.set(to, `${path} imports ${target}`);
    }
  }
  const reported = new Set();
  /** @type {string[]} */
  const sentences = [];
  for (const start of graph.keys()) {
    const cycle = reported.has(start) ? undefined : shortestCycle(graph, start);
    if (cycle === undefined) continue;
    for (const folder of cycle) reported.add(folder);
    const examples = cycle.map((folder, i) => graph.get(folder)?.get(cycle[(i + 1) % cycle.length] ?? ''));
    sentences.push(`${start} is in a cycle of folders: ${examples.join('; ')}`);
  }
  return sentences;
}

/**
 * @param {Map<string, Map<string, string>>} graph
 * @param {string} start
 * @returns {string[] | undefined} the folders on the way from `start` back to it
 */
function shortestCycle(graph, start) {
  /** @type {string[][]} */
  const ways = [[start]];
  const seen = new Set();
  for (const way of ways) {
    for (const next of graph.get(way.at(-1) ?? '')?.keys() ?? []) {
      if (next === start) return way;
      if (!seen.has(next)) ways.push([...way, next]);
      seen.add(next);
    }
  }
  return undefined;
}

/**
 * A sentence for each permission of the table that nothing uses, so that the table never allows more than the code needs.
 * @param {string} root the folder that `table.folder` is in
 * @param {RoomTable} table
 * @returns {string[]}
 */
export function findUnused(root, table) {
  const files = readSources(join(root, table.folder));
  const file = (/** @type {string} */ path) => files.find((each) => each.path === path);
  const unused = Object.entries(table.rooms).flatMap(([room, { imports, modules = [] }]) => {
    const targets = files.filter(({ path }) => roomOf(path) === room).flatMap((each) => each.imports);
    const isNeeded = (/** @type {string} */ name) => {
      const rooms = {
        ...table.rooms,
        [room]: { imports: imports.filter((other) => other !== name), modules },
      };
      const without = allowedRooms({ ...table, rooms }).get(room);
      return targets.some(
        (target) => isSource(target) && roomOf(target) !== room && !without?.has(roomOf(target)),
      );
    };
    return [
      ...imports.filter((name) => !isNeeded(name)).map((name) => `${room} need not name ${name}`),
      ...modules.filter((name) => !targets.includes(name)).map((name) => `${room} does not import ${name}`),
    ];
  });
  for (const path of Object.keys(table.usePlatform ?? {})) {
    const source = file(path);
    if (source === undefined || portViolations(source).length === 0)
      unused.push(`usePlatform: ${path} uses nothing of the platform`);
  }
  for (const path of table.entries ?? []) {
    if (!file(path)?.imports.some((target) => table.nodePorts?.includes(target)))
      unused.push(`entries: ${path} does not import the real ports`);
  }
  return unused.map((sentence) => `scripts/rooms.json: ${table.folder}: ${sentence}`);
}

/** @returns {string[]} */
function portViolations(/** @type {SourceFile} */ { path, code }) {
  return platform
    .flatMap((pattern) => [...code.matchAll(pattern)])
    .sort((a, b) => a.index - b.index)
    .map(({ index, 0: source }) => {
      const line = code.slice(0, index).split('\n').length;
      return `${path}:${line} uses ${source}: time, timers, chance and processes come through model/ports.ts`;
    });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const root = fileURLToPath(new URL('..', import.meta.url));
  const tables = Object.values(readRoomTables());
  const violations = [
    ...tables.flatMap((table) => [...findViolations(root, table), ...findUnused(root, table)]),
    ...findCycles(root),
  ];
  for (const sentence of violations) console.error(sentence);
  if (violations.length > 0) {
    console.error(
      `${violations.length} violations of the order of rooms (docs/decisions/rooms-of-the-engine.md, rooms-of-the-lab.md)`,
    );
    process.exitCode = 1;
  }
}
