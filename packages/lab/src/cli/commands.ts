/** Parses the arguments and runs the command. Every command resolves with the exit code of the process. */
import { parseArgs } from 'node:util';
import { isStoreAddress } from '@shardlab/engine';
import { exitCodes } from '../errors/exit-codes.ts';
import { backupCommand } from './backup.ts';
import { calibrateCommand } from './calibrate.ts';
import { checkCommand } from './check.ts';
import { claimsCommand } from './claims.ts';
import { convertCommand } from './convert.ts';
import { listCommand } from './list.ts';
import { modelCommand } from './model.ts';
import { moveCommand } from './move.ts';
import { pairsCommand } from './pairs.ts';
import { placesFault } from './places.ts';
import { recordCommand } from './record.ts';
import { runScenariosCommand } from './run.ts';
import { studyCommand } from './study.ts';
import { validateCommand } from './validate.ts';

const help = `Usage: npm run lab -- <command>

  run <scenario>... [options]  run one or more scenarios, given as files or as ids from scenarios/
    --quick                  use the smaller sweep and shorter phases that the scenario defines
    --json <file>            write the run as JSON, with points, claims and environment; with several
                             scenarios this is a folder that gets one file per scenario
    --require <claim>        fail unless this claim holds; can be repeated
    --data-dir <folder>      folder for scratch data and verdicts, on a disk; default: DATA_DIR or data/
  study <study> [options]    run all scenarios of a study with the systems that this machine has, and install client
                             libraries, and as root on Debian servers, where they are missing; takes the options of run
    --json <folder>          write each run to a file of this folder
    --resume                 do not repeat trials that an interrupted study has measured with the same code
    --write <file>           write the report into its section of a Markdown file
    --recorded               measure nothing: report what scenarios/recorded/ has
    --data-dir <folder>      folder for scratch data and verdicts, on a disk; default: DATA_DIR or data/
  record [scenario]...       run the built-in scenarios, or the named ones, at full scale, and keep the runs in
                             scenarios/recorded/. Stopped with Ctrl-C, it continues when it is repeated; a
                             scenario that the same code has recorded is left out, and figures that show the
                             same workload share their trials
    --hours <n>              stop after so many hours
    --into <folder>          folder of the recorded runs
    --quick                  record at the smaller scale, to try it
    --judge-only             measure nothing: give recorded runs the verdicts of today's judges, whichever code measured
                             them
    --data-dir <folder>      folder for scratch data and the trials measured so far, on a disk; default:
                             DATA_DIR or data/
  claims                     show each claim of the documents and its verdict
    --data-dir <folder>      folder of the verdicts; default: DATA_DIR or data/
  validate <file>            list every fault of a scenario
  list                       list the built-in scenarios
  calibrate [options]        measure the costs of the engine's work on this machine, for the model; about 15 s
    --json <file>            output file; default: scenarios/hardware/this-machine.json
    --data-dir <folder>      folder for scratch data, on a disk; default: DATA_DIR or data/
  model <hardware> [options] simulate a machine, given as a file or as an id from scenarios/hardware/
    --fit                    fit the free parameters to the observations again and write the file
    --run <file>             compare the model with the points of a run written by run --json, or of
                             a recorded scenario, given by its id; can be repeated
    --structure              judge the predictions again with drawn costs, to tell which of them follow from
                             the structure of the model; some minutes
    --scale                  predict the effect of more instances and larger machines
    --write <file>           write the tables into their sections of a Markdown file
    --json <file>            write the predictions and the comparisons as JSON
  check <folder> [options]   verify the data of an engine: every block, and every acknowledged commit
    --json <file>            write the findings as JSON
    --accept-loss            save what can be read and give up the rest; copy the folder first
  backup <folder> <into>     copy the data of an engine, which may be running, to a new folder: everything that was
                             committed before
  convert <folder> <queue>   convert an unsharded queue to a sharded queue of the same name: stop enqueue,
                             drain, stop dequeue, check that it is empty, drop, size the cache, create, start.
                             Clients may stay connected. Repeat the command to resume after an interruption
    --shards <n>             shards per instance; default: 1
    --attempts-max <n>       deliveries before a message moves to the exception queue; default: 5
    --retry-delay <ms>       pause before a returned message is delivered again
    --priorities             deliver by priority
    --cache-mib <n>          size of each instance's message cache; default: unchanged
    --drain-s <n>            seconds to wait for the queue to be emptied; default: 600
    --cancel                 cancel an unfinished conversion; the queue can be used as before
    --json <file>            write the conversion as JSON, with the time of each step
  move <folder> <queue> <address>
  move <address> <queue> <folder>
                             move a queue to the servers of a NATS cluster, or back: stop, wait until no session holds a
                             message, copy, check, switch, drop. Repeat the command to continue after an interruption.
                             The address is nats://host:port,... with ?replicas=3&sync=always as the servers are
    --drain-s <n>            seconds to wait until no session holds a message; default: 600
  pairs <before> <after> [case]...
                             compare the engines of two checkouts under the same workloads, trial beside trial: ratios
                             with their 95 % intervals, CPU time of others, and counts of one session
    --pairs <n>              number of pairs; default: 20
    --seconds <n>            window of each trial; default: 2.5
    --json <file>            write the comparisons as JSON
    --data-dir <folder>      folder for scratch data, on a disk; default: DATA_DIR or data/
  --help                     show this text

Exit codes: 0 success; 1 an error, or messages lost, duplicated, damaged or out of order, or a
required claim that does not hold, or a case of pairs that lost speed; 2 invalid arguments or scenario; 130 interrupted.
A claim that does not hold is a finding, not an error, unless --require names it.
`;

/** The options that each command takes. */
const optionsOf: Readonly<Record<string, readonly string[]>> = {
  run: ['quick', 'json', 'require', 'data-dir'],
  study: ['quick', 'json', 'require', 'resume', 'write', 'recorded', 'data-dir'],
  record: ['hours', 'into', 'quick', 'judge-only', 'data-dir'],
  claims: ['data-dir'],
  validate: [],
  list: [],
  calibrate: ['json', 'data-dir'],
  model: ['fit', 'run', 'structure', 'scale', 'write', 'json'],
  check: ['json', 'accept-loss'],
  backup: [],
  convert: ['shards', 'attempts-max', 'retry-delay', 'priorities', 'cache-mib', 'drain-s', 'cancel', 'json'],
  move: ['drain-s'],
  pairs: ['pairs', 'seconds', 'json', 'data-dir'],
};

/** An option of another command would be ignored: nothing would be written to the file that it names. */
function ignoredFault(
  command: string | undefined,
  tokens: ReturnType<typeof parse>['tokens'],
): string | undefined {
  const taken = optionsOf[command ?? ''];
  const ignored = tokens.find((token) => token.kind === 'option' && taken?.includes(token.name) === false);
  if (ignored?.kind !== 'option' || taken === undefined) return undefined;
  const options = taken.length === 0 ? 'no options' : `only ${taken.map((name) => `--${name}`).join(', ')}`;
  return `${command} takes ${options}, not ${ignored.rawName}`;
}

/** Number of further arguments of commands that take more than one. */
const furtherArguments: Readonly<Record<string, number>> = { backup: 1, convert: 1, move: 2 };

export async function runCommand(args: string[]): Promise<number> {
  let parsed: ReturnType<typeof parse>;
  try {
    parsed = parse(args);
  } catch (error) {
    return usageError((error as Error).message);
  }
  const { values, positionals } = parsed;
  const [command, target, ...rest] = positionals;
  if (values.help || command === 'help') {
    process.stdout.write(help);
    return exitCodes.done;
  }
  const unexpected = ['run', 'record', 'pairs'].includes(command!)
    ? undefined
    : rest[furtherArguments[command!] ?? 0];
  if (unexpected !== undefined) return usageError(`Unexpected argument "${unexpected}"`);
  const fault = ignoredFault(command, parsed.tokens) ?? placesFault(positionals, values);
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`);
    return exitCodes.usage;
  }
  switch (command) {
    case 'run':
      if (target === undefined) return usageError('run needs a scenario');
      return runScenariosCommand([target, ...rest], values);
    case 'study':
      if (target === undefined) return usageError('study needs the name of a study');
      return studyCommand(target, values);
    case 'record':
      return recordCommand(positionals.slice(1), values);
    case 'validate':
      if (target === undefined) return usageError('validate needs a file');
      return validateCommand(target);
    case 'calibrate':
      if (target !== undefined) return usageError(`Unexpected argument "${target}"`);
      return calibrateCommand(values);
    case 'model':
      if (target === undefined) return usageError('model needs a hardware file');
      return modelCommand(target, values);
    case 'check':
      if (target === undefined) return usageError('check needs a folder');
      return checkCommand(target, { json: values.json, acceptLoss: values['accept-loss'] });
    case 'backup':
      if (target === undefined || rest[0] === undefined)
        return usageError('backup needs a folder and where to copy it');
      return backupCommand(target, rest[0]);
    case 'convert':
      if (target === undefined || rest[0] === undefined)
        return usageError('convert needs a folder and a queue');
      return convertCommand(target, rest[0], values);
    case 'move': {
      const [queue, to] = rest;
      const isOneAddress = isStoreAddress(target ?? '') !== isStoreAddress(to ?? '');
      if (target === undefined || queue === undefined || to === undefined || !isOneAddress)
        return usageError('move needs a folder, a queue and the address of servers, or the other way round');
      return moveCommand({ from: target, queue, to }, values);
    }
    case 'pairs':
      return pairsCommand(positionals.slice(1), values);
    case 'list':
      return listCommand();
    case 'claims':
      if (target !== undefined) return usageError(`Unexpected argument "${target}"`);
      return claimsCommand(values);
    case undefined:
      return usageError('No command was given');
    default:
      return usageError(`Unknown command "${command}"`);
  }
}

function parse(args: string[]) {
  return parseArgs({
    args,
    allowPositionals: true,
    tokens: true,
    options: {
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      require: { type: 'string', multiple: true, default: [] },
      'data-dir': { type: 'string' },
      'accept-loss': { type: 'boolean', default: false },
      fit: { type: 'boolean', default: false },
      run: { type: 'string', multiple: true, default: [] },
      structure: { type: 'boolean', default: false },
      scale: { type: 'boolean', default: false },
      write: { type: 'string' },
      shards: { type: 'string' },
      'attempts-max': { type: 'string' },
      'retry-delay': { type: 'string' },
      priorities: { type: 'boolean', default: false },
      'cache-mib': { type: 'string' },
      'drain-s': { type: 'string' },
      hours: { type: 'string' },
      into: { type: 'string' },
      pairs: { type: 'string' },
      seconds: { type: 'string' },
      'judge-only': { type: 'boolean', default: false },
      cancel: { type: 'boolean', default: false },
      recorded: { type: 'boolean', default: false },
      resume: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
}

function usageError(sentence: string): number {
  process.stderr.write(`${sentence}\n\n${help}`);
  return exitCodes.usage;
}
