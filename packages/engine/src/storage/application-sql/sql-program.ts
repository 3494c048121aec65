/**
 * Checks a statement by its compiled program, which `EXPLAIN` lists with the programs of the triggers and foreign keys
 * that it runs, because the binding has no authorizer. Whatever a table is called, its rows are in a b-tree, and an
 * instruction that opens, clears or destroys one names its root page. Only root pages of the application's tables are
 * allowed, and only instructions known to touch nothing else: an instruction of a later SQLite is refused until reviewed.
 */
import { changesSchema, type StatementKeyword } from '../../model/sql-statement.ts';

/** A row of `EXPLAIN`. */
export interface Instruction {
  addr: number;
  opcode: string;
  p1: number;
  p2: number;
  p3: number;
  p4: string | null;
  p5: number;
}

/** They work on registers, on cursors that are open already, or on tables that live as long as the statement. */
const harmlessOpcodes = new Set(
  `Add AddImm Affinity AggFinal AggInverse AggStep AggStep1 AggValue And BeginSubrtn BitAnd BitNot BitOr Blob Cast Close
  ClrSubtype CollSeq Column ColumnsUsed Compare Concat Copy Count CursorLock CursorUnlock DecrJumpZero DeferredSeek Delete
  Divide ElseEq EndCoroutine Eq Expire Explain Filter FilterAdd FinishSeek FkCheck FkIfZero Found Ge GetSubtype Gosub Goto
  Gt IFindKey IdxDelete IdxGE IdxGT IdxInsert IdxLE IdxLT IdxRowid If IfEmpty IfNoHope IfNot IfNotZero IfNullRow IfPos
  IfSizeBetween Init InitCoroutine Insert Int64 IntCopy Integer IsNull IsTrue IsType Jump Last Le Lt MakeRecord MemMax Move
  Multiply MustBeInt Ne NewRowid Next NoConflict Noop Not NotExists NotFound NotNull Null NullRow OffsetLimit Once
  OpenAutoindex OpenDup OpenEphemeral OpenPseudo Or Param Permutation Prev Program Real RealAffinity ReleaseReg Remainder
  ResetCount ResetSorter ResultRow Return Rewind RowCell RowData RowSetAdd RowSetRead RowSetTest Rowid SCopy SeekEnd SeekGE
  SeekGT SeekHit SeekLE SeekLT SeekRowid SeekScan Sequence SequenceTest SetSubtype ShiftLeft ShiftRight SoftNull Sort
  SorterCompare SorterData SorterInsert SorterNext SorterOpen SorterSort String String8 Subtract TypeCheck Variable Yield
  ZeroOrNull`.split(/\s+/),
);

/** The operand that numbers the database: 0 is the file, 1 the temporary tables. */
const databaseOperands: Record<string, 'p1' | 'p2' | 'p3'> = {
  Transaction: 'p1',
  ReadCookie: 'p1',
  SetCookie: 'p1',
  CreateBtree: 'p1',
  ParseSchema: 'p1',
  DropTable: 'p1',
  DropIndex: 'p1',
  Destroy: 'p3',
  Clear: 'p2',
  OpenRead: 'p3',
  OpenWrite: 'p3',
  ReopenIdx: 'p3',
};

const temporaryDatabase = 1;

const rootOperands: Record<string, 'p1' | 'p2'> = {
  Destroy: 'p1',
  Clear: 'p1',
  OpenRead: 'p2',
  OpenWrite: 'p2',
  ReopenIdx: 'p2',
};

const schemaChangeOpcodes = ['SetCookie', 'CreateBtree', 'ParseSchema', 'DropTable', 'DropIndex', 'Destroy'];

/** `ALTER TABLE` also searches the temporary tables, and runs `quick_check` on the changed table. */
const alterOpcodes = ['VOpen', 'VFilter', 'VColumn', 'VNext'];

/** The schema table: SQLite itself lets only schema changes write to it. */
const schemaRoot = 1;

/** The root page is that of a table that the same program created. */
const rootInRegisterFlag = 0x10;
/** Halt and roll back the whole transaction, which is the group's. */
const rollbackAction = 1;
/** `CREATE … IF NOT EXISTS` of an existing object queries the journal mode, so that it counts as a write. */
const journalModeQuery = -1;
/** The query with which SQLite checks a new table that has generated columns. */
const newTableCheckPrefix = 'SELECT*FROM"main".';
/** The instruction sets the rowid that `last_insert_rowid()` returns. */
const lastRowidFlag = 0x20;

/** The engine's own function, which its triggers call with the keys of a row that a statement writes to (`row-locks.ts`). */
export const touchFunction = 'shardlab_touch';
export const guardTriggerPrefix = 'shardlab_row_';

const refusedFunctions = new RegExp(
  `^(load_extension|fts3_tokenizer|sqlite_attach|sqlite_detach|${touchFunction})\\(`,
);

export interface ProgramContext {
  keyword: StatementKeyword;
  /** Root pages of the application's tables and indexes. */
  rootPages: Pick<ReadonlySet<number>, 'has'>;
}

/** Why the program may not run, in words; undefined: it may. */
export function refusalReason(program: readonly Instruction[], judged: ProgramContext): string | undefined {
  for (const instruction of withoutGuards(program)) {
    const reason = instructionRefusalReason(instruction, judged);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function instructionRefusalReason(instruction: Instruction, judged: ProgramContext): string | undefined {
  const { opcode, p1, p2, p3, p4 } = instruction;
  const { keyword } = judged;
  if (opcode === 'Halt' || opcode === 'HaltIfNull') {
    return p1 !== 0 && p2 === rollbackAction
      ? 'it would roll back other transactions (ON CONFLICT ROLLBACK)'
      : undefined;
  }
  if (opcode === 'FkCounter') {
    return p1 === 0 ? undefined : 'a deferred foreign key is checked only when others have committed with it';
  }
  if (opcode === 'Function' || opcode === 'PureFunc') {
    return refusedFunctions.test(p4 ?? '') ? `it calls ${p4}` : undefined;
  }
  if (harmlessOpcodes.has(opcode)) return undefined;
  if (keyword === 'ALTER' && alterOpcodes.includes(opcode)) return undefined;
  if (opcode === 'JournalMode' && p3 === journalModeQuery) return undefined;
  if (opcode === 'SqlExec' && keyword === 'CREATE' && p4?.startsWith(newTableCheckPrefix)) return undefined;
  if (schemaChangeOpcodes.includes(opcode) && !changesSchema(keyword))
    return `it has the instruction ${opcode}`;
  const database = databaseOperands[opcode];
  if (database === undefined) {
    return opcode.startsWith('V') ? 'it uses a virtual table' : `it has the instruction ${opcode}`;
  }
  // `DROP … IF EXISTS` of nothing looks into all schemas: reading that of the engine's temporary triggers changes nothing.
  if (opcode === 'Transaction' && p1 === temporaryDatabase && p2 === 0) return undefined;
  if (instruction[database] !== 0 && !(keyword === 'ALTER' && isTemporarySchemaAccess(instruction))) {
    return 'it makes or uses something temporary';
  }
  if (rootOperands[opcode] === undefined) return undefined;
  return rootRefusalReason(instruction, rootOperands[opcode], judged);
}

function isTemporarySchemaAccess({ opcode, p2 }: Instruction): boolean {
  const opensSchema = (opcode === 'OpenRead' || opcode === 'OpenWrite') && p2 === schemaRoot;
  return opensSchema || opcode === 'Transaction' || opcode === 'ParseSchema';
}

function rootRefusalReason(
  instruction: Instruction,
  at: 'p1' | 'p2',
  { keyword, rootPages }: ProgramContext,
): string | undefined {
  const { opcode, p5 } = instruction;
  const root = instruction[at];
  if (opcode === 'OpenWrite' && (p5 & rootInRegisterFlag) !== 0) {
    return changesSchema(keyword) ? undefined : 'it writes to a table that it makes';
  }
  if (root === schemaRoot) {
    const isChange = changesSchema(keyword) && (opcode === 'OpenWrite' || keyword !== 'CREATE');
    return isChange ? undefined : "it reads the file's schema";
  }
  return rootPages.has(root) ? undefined : "it reaches a table that is not the application's";
}

/** Returns the instructions of the statement and of its foreign key actions, without those of the engine's triggers. */
function withoutGuards(program: readonly Instruction[]): Instruction[] {
  let isGuard = false;
  return program.filter(({ addr, opcode, p4 }) => {
    if (addr === 0 && opcode === 'Init')
      isGuard = p4?.startsWith(`-- TRIGGER ${guardTriggerPrefix}`) ?? false;
    return !isGuard;
  });
}

/** Root pages of the tables and indexes that a statement of rows writes to, cascades included. */
export function writtenRoots(program: readonly Instruction[]): Set<number> {
  const roots = new Set<number>();
  for (const { opcode, p1, p2 } of program) {
    if (opcode === 'OpenWrite') roots.add(p2);
    else if (opcode === 'Clear') roots.add(p1);
  }
  return roots;
}

/** Whether the statement itself, not what it triggers, inserts rows that have a rowid. */
export function insertsRows(program: readonly Instruction[]): boolean {
  const end = program.findIndex(({ addr }, index) => index > 0 && addr === 0); // where the program of a trigger begins
  const main = end < 0 ? program : program.slice(0, end);
  return main.some(({ opcode, p5 }) => opcode === 'Insert' && (p5 & lastRowidFlag) !== 0);
}
