/** All studies: what scenarios may name, what the claims page lists, and who judges a claim. */
import type { ClaimResult, ClaimStatement, Point, StudyList } from '@shardlab/contract';
import { lintDocument } from '../document-lint/lint-document.ts';
import { needs } from '../judging/clause.ts';
import { combine } from '../judging/combine.ts';
import { isDisturbed, isFaulty, isNotSteady, type JudgeContext } from '../judging/judgement.ts';
import type { Program } from '../programs/program.ts';
import { queueProgram, topicProgram } from '../programs/queue/queue-program.ts';
import { loadStudies } from './load-studies.ts';
import type { Claim, Study } from './study.ts';

const commonPrograms: readonly Program[] = [queueProgram, topicProgram];

export class StudyRegistry {
  readonly studies: readonly Study[];
  /** Programs that every study may use, then those of single studies. */
  readonly programs: readonly Program[];
  /** Folders from which a thread can load the same registry; null if it was not loaded from folders. */
  readonly folders: readonly URL[] | null;
  readonly #byClaim = new Map<string, { study: Study; claim: Claim }>();

  /** The studies of these folders, folder by folder. Throws what `loadStudies` and the constructor throw. */
  static async load(folders: readonly URL[]): Promise<StudyRegistry> {
    const studies = await Promise.all(folders.map((folder) => loadStudies(folder)));
    return new StudyRegistry(studies.flat(), { folders });
  }

  /**
   * Throws a RangeError if two studies have the same id, or two programs or claims. `common`: programs that every study may use; only
   * impostors replace them.
   */
  constructor(
    studies: readonly Study[],
    {
      common = commonPrograms,
      folders = null,
    }: { common?: readonly Program[]; folders?: readonly URL[] | null } = {},
  ) {
    this.studies = studies;
    this.folders = folders;
    this.programs = [...common, ...studies.flatMap(({ programs = [] }) => programs)];
    refuseTwice('studies', studies);
    refuseTwice('programs', this.programs);
    for (const study of studies) {
      for (const claim of study.claims) {
        const other = this.#byClaim.get(claim.id);
        if (other !== undefined)
          throw new RangeError(`${study.id} and ${other.study.id} both have a claim ${claim.id}`);
        this.#byClaim.set(claim.id, { study, claim });
      }
    }
  }

  /** The program of a scenario that has been validated. Throws a RangeError for an unknown one. */
  program(id: string): Program {
    const program = this.programs.find((each) => each.id === id);
    if (program === undefined) throw new RangeError(`there is no program ${id}`);
    return program;
  }

  /** The claims of all studies, in their order. */
  get claims(): readonly Claim[] {
    return this.studies.flatMap(({ claims }) => claims);
  }

  get claimIds(): readonly string[] {
    return [...this.#byClaim.keys()];
  }

  /** The study to which a claim belongs; undefined if there is no such claim. */
  studyOf(claimId: string): Study | undefined {
    return this.#byClaim.get(claimId)?.study;
  }

  /** Describes the studies for clients. */
  describe(): StudyList {
    const systems = new Map(
      this.programs.flatMap((program) => program.systems.map((each) => [each.id, each])),
    );
    return {
      studies: this.studies.map(
        ({
          id,
          document,
          claims,
          notMeasured,
          notBuilt = [],
          tables = [],
          documentNumbers = [],
          heroes = [],
        }) => ({
          id,
          document,
          claims: claims.map((claim) => claim.id),
          statements: claims.map(statementOf),
          notMeasured: [...notMeasured],
          notBuilt: [...notBuilt],
          tables: [...tables],
          slips: lintDocument(documentNumbers),
          heroes: [...heroes],
        }),
      ),
      programs: this.programs.map(({ id, title, parameters, figures, hasTicks = false }) => ({
        id,
        title,
        parameters: parameters.map(({ schema: _, default: _usual, optional: _optional, ...info }) => info),
        figures: [...figures],
        hasTicks,
      })),
      systems: [...systems.values()],
    };
  }

  /**
   * The verdicts of the given claims, in that order. A point with an integrity fault proves nothing, so one such point
   * makes every claim inconclusive, except claims about integrity itself. Throws a RangeError for an unknown claim.
   */
  judge(ids: readonly string[], points: readonly Point[], context: JudgeContext): ClaimResult[] {
    const faulty = points.filter(isFaulty);
    const [notSteady, disturbed] = [points.some(isNotSteady), points.some(isDisturbed)];
    return ids.map((id) => {
      const found = this.#byClaim.get(id);
      if (found === undefined) throw new RangeError(`there is no claim ${id}`);
      const { title, document, grade, judge, aboutIntegrity } = found.claim;
      const clauses =
        faulty.length > 0 && aboutIntegrity !== true
          ? needs(
              `Messages were lost, duplicated, damaged or out of order at ${faulty.length} of the points.`,
            )
          : judge(points, context);
      return {
        id,
        title,
        document,
        grade,
        weak: found.claim.weak ?? found.claim.weakAt?.(points) ?? null,
        notSteady,
        disturbed,
        ...combine(clauses.length === 0 ? needs('Needs points.') : clauses),
      };
    });
  }
}

const statementOf = ({ id, where, stated, translation }: Claim): ClaimStatement => ({
  claim: id,
  where,
  stated,
  ...(translation === undefined ? {} : { translation }),
});

function refuseTwice(what: string, named: readonly { id: string }[]): void {
  const ids = named.map(({ id }) => id);
  const twice = ids.find((id, index) => ids.indexOf(id) !== index);
  if (twice !== undefined) throw new RangeError(`two ${what} are named ${twice}`);
}

/** The folder of the bundled studies, which is this one. */
export const bundledStudyFolder = new URL('./', import.meta.url);

export const bundledStudies = await StudyRegistry.load([bundledStudyFolder]);
