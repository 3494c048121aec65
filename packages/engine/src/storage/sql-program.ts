/**
 * Judges a statement by its compiled program, as `EXPLAIN` lists it with the programs of triggers and foreign keys that it
 * runs: the binding has no authorizer. Whatever name a table goes by, its rows lie in a b-tree, and an instruction that
 * opens, clears or destroys one names its root page. Only roots of the application's tables pass, and only instructions
 * that are known to touch nothing else: one that a later SQLite brings is refused until it was looked at.
 */
import { changesSchema, type StatementKeyword } from '../core/sql-statement.ts';

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
const harmless = new Set(
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

/** Where the number of the database stands; 0 is the file, 1 that of temporary tables. */
const onDatabase: Record<string, 'p1' | 'p2' | 'p3'> = {
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

const onRoot: Record<string, 'p1' | 'p2'> = {
  Destroy: 'p1',
  Clear: 'p1',
  OpenRead: 'p2',
  OpenWrite: 'p2',
  ReopenIdx: 'p2',
};

const ofSchemaChanges = ['SetCookie', 'CreateBtree', 'ParseSchema', 'DropTable', 'DropIndex', 'Destroy'];

/** `ALTER TABLE` looks for the table among the temporary ones too, and has a changed one checked by `quick_check`. */
const ofAlter = ['VOpen', 'VFilter', 'VColumn', 'VNext'];

/** The table of all tables: SQLite itself lets no statement but a change of the schema write to it. */
const schemaRoot = 1;

/** The root is that of a table that the program has just made. */
const rootInRegister = 0x10;
/** Halt with all of the transaction rolled back, which is the group's. */
const rollsBack = 1;
/** `CREATE … IF NOT EXISTS` of what is there asks for the journal's mode, so as to count as a statement that writes. */
const asksOnly = -1;
/** SQLite looks at a table that it has just made with generated columns, all of its own accord. */
const looksAtNew = 'SELECT*FROM"main".';
/** The instruction sets the rowid that `last_insert_rowid()` tells. */
const setsLastRowid = 0x20;

const functionsRefused = /^(load_extension|fts3_tokenizer|sqlite_attach|sqlite_detach)\(/;

export interface Judged {
  keyword: StatementKeyword;
  /** Root pages of the application's tables and indexes. */
  roots: ReadonlySet<number>;
}

/** Why the program may not run, in words; undefined: it may. */
export function refusalOf(program: readonly Instruction[], judged: Judged): string | undefined {
  for (const instruction of program) {
    const reason = refusalOfInstruction(instruction, judged);
    if (reason !== undefined) return reason;
  }
  return undefined;
}

function refusalOfInstruction(instruction: Instruction, judged: Judged): string | undefined {
  const { opcode, p1, p2, p3, p4 } = instruction;
  const { keyword } = judged;
  if (opcode === 'Halt' || opcode === 'HaltIfNull') {
    return p1 !== 0 && p2 === rollsBack
      ? 'it would roll back other transactions (ON CONFLICT ROLLBACK)'
      : undefined;
  }
  if (opcode === 'FkCounter') {
    return p1 === 0 ? undefined : 'a deferred foreign key is checked only when others have committed with it';
  }
  if (opcode === 'Function' || opcode === 'PureFunc') {
    return functionsRefused.test(p4 ?? '') ? `it calls ${p4}` : undefined;
  }
  if (harmless.has(opcode)) return undefined;
  if (keyword === 'ALTER' && ofAlter.includes(opcode)) return undefined;
  if (opcode === 'JournalMode' && p3 === asksOnly) return undefined;
  if (opcode === 'SqlExec' && keyword === 'CREATE' && p4?.startsWith(looksAtNew)) return undefined;
  if (ofSchemaChanges.includes(opcode) && !changesSchema(keyword)) return `it has the instruction ${opcode}`;
  const database = onDatabase[opcode];
  if (database === undefined) {
    return opcode.startsWith('V') ? 'it uses a virtual table' : `it has the instruction ${opcode}`;
  }
  if (instruction[database] !== 0 && !(keyword === 'ALTER' && isLookAtTemporary(instruction))) {
    return 'it makes or uses something temporary';
  }
  if (onRoot[opcode] === undefined) return undefined;
  return refusalOfRoot(instruction, onRoot[opcode], judged);
}

function isLookAtTemporary({ opcode, p2 }: Instruction): boolean {
  const opensSchema = (opcode === 'OpenRead' || opcode === 'OpenWrite') && p2 === schemaRoot;
  return opensSchema || opcode === 'Transaction' || opcode === 'ParseSchema';
}

function refusalOfRoot(
  instruction: Instruction,
  at: 'p1' | 'p2',
  { keyword, roots }: Judged,
): string | undefined {
  const { opcode, p5 } = instruction;
  const root = instruction[at];
  if (opcode === 'OpenWrite' && (p5 & rootInRegister) !== 0) {
    return changesSchema(keyword) ? undefined : 'it writes to a table that it makes';
  }
  if (root === schemaRoot) {
    const isChange = changesSchema(keyword) && (opcode === 'OpenWrite' || keyword !== 'CREATE');
    return isChange ? undefined : "it reads the file's schema";
  }
  return roots.has(root) ? undefined : "it reaches a table that is not the application's";
}

/** Whether the statement itself, not what it triggers, inserts rows that have a rowid. */
export function insertsRows(program: readonly Instruction[]): boolean {
  const end = program.findIndex(({ addr }, index) => index > 0 && addr === 0); // where the program of a trigger begins
  const main = end < 0 ? program : program.slice(0, end);
  return main.some(({ opcode, p5 }) => opcode === 'Insert' && (p5 & setsLastRowid) !== 0);
}
