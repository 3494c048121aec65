/** Handles the kernel's requests to the disk, one by one. */
import { constants } from 'node:os';
import { type DiskContents, type DiskEntry, DiskError } from './disk-contents.ts';
import {
  answerTo,
  attributesAnswer,
  entryAnswer,
  folderAnswer,
  initAnswer,
  namesOf,
  numberAt,
  opcodes,
  openAnswer,
  type Request,
  statfsAnswer,
} from './fuse-messages.ts';

type Handler = (request: Request) => Buffer | undefined;

/** Flag of an open file: each write is synced before it returns. `O_SYNC` includes it. */
const syncedWrites = 0o10000;
const setsMode = 1;
const setsSize = 8;

export class FuseRequests {
  readonly #disk: DiskContents;
  /** The entries of a folder when it was opened, by handle. */
  readonly #openFolders = new Map<number, [string, DiskEntry][]>();
  #lastHandle = 0;
  readonly #handlers: ReadonlyMap<number, Handler>;

  constructor(disk: DiskContents) {
    this.#disk = disk;
    this.#handlers = this.#allHandlers();
  }

  /** The answer; undefined for requests that have none. */
  answer(request: Request): Buffer | undefined {
    const { opcode } = request;
    if ([opcodes.forget, opcodes.batchForget, opcodes.interrupt].some((silent) => silent === opcode))
      return undefined;
    const handler = this.#handlers.get(opcode);
    if (handler === undefined) return answerTo(request, constants.errno.ENOSYS);
    try {
      return answerTo(request, 0, handler(request));
    } catch (error) {
      if (error instanceof DiskError) return answerTo(request, error.errno);
      throw error;
    }
  }

  #allHandlers(): Map<number, Handler> {
    const disk = this.#disk;
    const nothing = () => undefined;
    const sync: Handler = ({ id }) => void disk.file(id).content.sync();
    return new Map<number, Handler>([
      [opcodes.init, ({ body }) => initAnswer(body.readUInt32LE(8))],
      [opcodes.statfs, statfsAnswer],
      [opcodes.lookup, ({ id, body }) => entryAnswer(disk.lookUp(id, namesOf(body)[0]!))],
      [opcodes.getattr, ({ id }) => attributesAnswer(disk.entry(id))],
      [opcodes.setattr, (request) => this.#setAttributes(request)],
      [
        opcodes.mkdir,
        ({ id, body }) =>
          entryAnswer(disk.createFolder(id, namesOf(body.subarray(8))[0]!, body.readUInt32LE(0))),
      ],
      [opcodes.unlink, ({ id, body }) => void disk.removeFile(id, namesOf(body)[0]!)],
      [opcodes.rmdir, ({ id, body }) => void disk.removeFolder(id, namesOf(body)[0]!)],
      [opcodes.rename, ({ id, body }) => this.#rename(id, body, 8)],
      [opcodes.rename2, ({ id, body }) => this.#rename(id, body, 16)],
      [opcodes.open, ({ id }) => openAnswer(disk.file(id).id, { isDirect: true })],
      [
        opcodes.create,
        ({ id, body }) => {
          const file = disk.createFile(id, namesOf(body.subarray(16))[0]!, body.readUInt32LE(4));
          return Buffer.concat([entryAnswer(file), openAnswer(file.id, { isDirect: true })]);
        },
      ],
      [opcodes.read, ({ id, body }) => disk.file(id).content.read(numberAt(body, 8), body.readUInt32LE(16))],
      [opcodes.write, (request) => this.#write(request)],
      [opcodes.fsync, sync],
      [opcodes.flush, nothing],
      [opcodes.release, nothing],
      [opcodes.fsyncdir, nothing],
      [opcodes.access, nothing],
      [opcodes.destroy, nothing],
      [opcodes.opendir, (request) => this.#openFolder(request)],
      [
        opcodes.readdir,
        ({ body }) =>
          folderAnswer(
            this.#openFolders.get(numberAt(body, 0)) ?? [],
            numberAt(body, 8),
            body.readUInt32LE(16),
          ),
      ],
      [opcodes.releasedir, ({ body }) => void this.#openFolders.delete(numberAt(body, 0))],
    ]);
  }

  #setAttributes({ id, body }: Request): Buffer {
    const wanted = body.readUInt32LE(0);
    const entry = this.#disk.entry(id);
    if ((wanted & setsSize) !== 0) this.#disk.file(id).content.resize(numberAt(body, 16));
    if ((wanted & setsMode) !== 0) entry.mode = body.readUInt32LE(68);
    entry.changedAtMs = Date.now();
    return attributesAnswer(entry);
  }

  #rename(folder: number, body: Buffer, namesAt: number): undefined {
    const [from, to] = namesOf(body.subarray(namesAt)) as [string, string];
    this.#disk.rename({ folder, name: from }, { folder: numberAt(body, 0), name: to });
  }

  #write({ id, body }: Request): Buffer {
    const bytes = body.readUInt32LE(16);
    const file = this.#disk.file(id);
    file.content.write(numberAt(body, 8), body.subarray(40, 40 + bytes));
    file.changedAtMs = Date.now();
    if ((body.readUInt32LE(32) & syncedWrites) !== 0) file.content.sync();
    const written = Buffer.alloc(8);
    written.writeUInt32LE(bytes, 0);
    return written;
  }

  #openFolder({ id }: Request): Buffer {
    this.#lastHandle += 1;
    this.#openFolders.set(this.#lastHandle, [...this.#disk.folder(id).entries]);
    return openAnswer(this.#lastHandle, { isDirect: false });
  }
}
