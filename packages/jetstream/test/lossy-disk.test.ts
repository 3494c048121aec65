/** Disks that lose unsynced content at a power cut: their content in memory, and the same mounted through the kernel. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text as textOf } from 'node:stream/consumers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { DiskContents } from '../src/servers/lossy-disk/disk-contents.ts';
import { FileContent } from '../src/servers/lossy-disk/file-content.ts';
import { LossyDisk, missingForLossyDisks } from '../src/servers/lossy-disk/lossy-disk.ts';

const place = fc.integer({ min: 0, max: 10_000 });
const step = fc.oneof(
  fc.record({ what: fc.constant('write' as const), at: place, bytes: fc.uint8Array({ maxLength: 9_000 }) }),
  fc.record({ what: fc.constant('resize' as const), size: place }),
  fc.record({ what: fc.constantFrom('sync' as const, 'forget' as const) }),
);

describe('the content of a file', () => {
  it('behaves like an array of bytes, and after a power cut is that of the last sync', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const file = new FileContent();
        let now = Buffer.alloc(0);
        let synced = now;
        for (const each of steps) {
          if (each.what === 'write') {
            file.write(each.at, Buffer.from(each.bytes));
            const longer = Buffer.alloc(Math.max(now.length, each.at + each.bytes.length));
            now.copy(longer);
            longer.set(each.bytes, each.at);
            now = longer;
          } else if (each.what === 'resize') {
            file.resize(each.size);
            now = Buffer.concat([
              now.subarray(0, each.size),
              Buffer.alloc(Math.max(0, each.size - now.length)),
            ]);
          } else if (each.what === 'sync') {
            file.sync();
            synced = now;
          } else {
            file.forgetUnsynced();
            now = synced;
          }
          expect(file.size).toBe(now.length);
          expect(file.read(0, 100_000).equals(now)).toBe(true);
          expect(file.read(4_090, 20).equals(now.subarray(4_090, 4_110))).toBe(true);
        }
      }),
      { numRuns: 200 },
    );
  });
});

describe('a disk', () => {
  it('keeps names and synced contents at a power cut', () => {
    const disk = new DiskContents();
    const folder = disk.createFolder(1, 'folder', 0o755);
    const file = disk.createFile(folder.id, 'old', 0o644);
    file.content.write(0, Buffer.from('synced'));
    disk.syncAll();
    file.content.write(0, Buffer.from('newer!'));
    disk.rename({ folder: folder.id, name: 'old' }, { folder: 1, name: 'new' });
    disk.createFile(1, 'empty', 0o644).content.write(0, Buffer.from('lost'));
    disk.cutPower();
    expect(disk.file(disk.lookUp(1, 'new').id).content.read(0, 99).toString()).toBe('synced');
    expect(disk.file(disk.lookUp(1, 'empty').id).content.size).toBe(0);
    expect([...disk.folder(folder.id).entries.keys()]).toEqual([]);
  });

  it('refuses the calls that a file system refuses', () => {
    const disk = new DiskContents();
    const folder = disk.createFolder(1, 'folder', 0o755);
    disk.createFile(folder.id, 'file', 0o644);
    for (const [refused, errno] of [
      [() => disk.lookUp(1, 'nothing'), 2],
      [() => disk.createFile(1, 'folder', 0o644), 17],
      [() => disk.lookUp(disk.lookUp(folder.id, 'file').id, 'x'), 20],
      [() => disk.removeFile(1, 'folder'), 21],
      [() => disk.removeFolder(1, 'folder'), 39],
      [() => disk.rename({ folder: folder.id, name: 'file' }, { folder: 1, name: 'folder' }), 21],
    ] as const) {
      expect(refused).toThrow(expect.objectContaining({ errno }));
    }
    disk.removeFile(folder.id, 'file');
    disk.removeFolder(1, 'folder');
    expect(disk.folder(1).entries.size).toBe(0);
  });
});

const lacking = missingForLossyDisks();

describe.skipIf(lacking !== null)(`a mounted disk${lacking === null ? '' : ` (${lacking})`}`, () => {
  it('is visible to one program, outlives it, and loses what that did not sync', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'shardlab-disk-'));
    const folder = join(parent, 'data');
    mkdirSync(folder);
    const disk = new LossyDisk();
    const run = async (script: string, ...more: string[]) => {
      const { command, args, device } = disk.mountFor(folder, process.execPath, [
        '-e',
        script,
        folder,
        ...more,
      ]);
      const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit', device] });
      let output = '';
      child.stdout!.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
      await new Promise((resolve) => child.once('close', resolve));
      await disk.unmounted();
      return output;
    };
    try {
      await run(`
        const fs = require('node:fs');
        process.chdir(process.argv[1]);
        fs.mkdirSync('a/b', { recursive: true });
        const file = fs.openSync('a/b/file', 'w');
        fs.writeSync(file, 'x'.repeat(300_000));
        fs.fsyncSync(file);
        fs.writeSync(file, 'lost');
        fs.writeFileSync('a/written', 'lost');
        fs.writeFileSync('a/temporary', 'synced', { flag: 'as' });
        fs.renameSync('a/temporary', 'a/renamed');
        process.kill(process.pid, 'SIGKILL');
      `);
      expect(readdirSync(folder)).toEqual([]);
      const readScript = `
        const fs = require('node:fs');
        process.chdir(process.argv[1]);
        const sizes = fs.readdirSync('a').sort().map((name) => [name, fs.statSync('a/' + name)])
          .map(([name, stat]) => name + (stat.isDirectory() ? '' : ' ' + stat.size));
        console.log([...sizes, fs.readFileSync('a/b/file', 'utf8').length, fs.readFileSync('a/renamed', 'utf8')].join());
      `;
      expect(await run(readScript)).toBe('b,renamed 6,written 4,300004,synced\n');
      await disk.cutPower();
      expect(await run(readScript)).toBe('b,renamed 6,written 0,300000,synced\n');
    } finally {
      await disk.close();
      rmSync(parent, { recursive: true, force: true });
    }
  });

  it('loses nothing that several writers have synced before they are killed', async () => {
    const parent = mkdtempSync(join(tmpdir(), 'shardlab-disk-'));
    const folder = join(parent, 'data');
    mkdirSync(folder);
    const disk = new LossyDisk();
    const start = (script: string) => {
      const { command, args, device } = disk.mountFor(folder, process.execPath, ['-e', script, folder]);
      return spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit', device] });
    };
    // The writers work like a server: a log is synced after each record, and a small file is replaced by a synced one.
    const writers = `
      const { writeSync } = require('node:fs');
      const { open, rename } = require('node:fs/promises');
      process.chdir(process.argv[1]);
      async function write(writer) {
        const log = await open('log-' + writer, 'a');
        const folder = await open('.');
        for (let size = 0, count = 0; ; count += 1) {
          const record = new Uint8Array(1 + (count * 7919) % 9000).map((_, at) => ((size + at) * 31 + writer) % 251);
          await log.write(record);
          await (count % 2 === 0 ? log.sync() : log.datasync());
          size += record.length;
          const isSyncedByWrite = count % 3 > 0;
          const next = await open('size-' + writer + '.tmp', isSyncedByWrite ? 'as' : 'w');
          await next.write(String(size));
          if (!isSyncedByWrite) await next.sync();
          await next.close();
          await rename('size-' + writer + '.tmp', 'size-' + writer);
          await folder.sync();
          writeSync(1, writer + ' ' + size + '\\n');
        }
      }
      for (const writer of [0, 1, 2, 3]) write(writer);
    `;
    const reader = `
      const { readFileSync } = require('node:fs');
      process.chdir(process.argv[1]);
      console.log(JSON.stringify([0, 1, 2, 3].map((writer) => {
        const log = readFileSync('log-' + writer);
        const wrong = log.findIndex((byte, at) => byte !== (at * 31 + writer) % 251);
        return { stated: Number(readFileSync('size-' + writer, 'utf8')), size: log.length, wrong };
      })));
    `;
    try {
      const synced = [0, 0, 0, 0];
      const writing = start(writers);
      let lines = 0;
      for await (const line of createInterface({ input: writing.stdout! })) {
        const [writer, size] = line.split(' ').map(Number) as [number, number];
        synced[writer] = size;
        lines += 1;
        if (lines === 100) writing.kill('SIGKILL');
      }
      await disk.unmounted();
      await disk.cutPower();
      const found: { stated: number; size: number; wrong: number }[] = JSON.parse(
        await textOf(start(reader).stdout!),
      );
      for (const [writer, { stated, size, wrong }] of found.entries()) {
        expect(stated).toBeGreaterThanOrEqual(synced[writer]!);
        expect(size).toBeGreaterThanOrEqual(stated);
        expect(wrong).toBe(-1);
      }
      expect(synced.every((size) => size > 0)).toBe(true);
    } finally {
      await disk.close();
      rmSync(parent, { recursive: true, force: true });
    }
  });

  it('ends if its program cannot be started', async () => {
    const disk = new LossyDisk();
    const { command, args, device } = disk.mountFor('/nowhere/at/all', process.execPath, []);
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'ignore', device] });
    await new Promise((resolve) => child.once('exit', resolve));
    await expect(disk.unmounted()).resolves.toBeUndefined();
    await disk.close();
  });
});
