/** All studies: what scenarios may name, what the claims page lists, and who judges a claim. */
import type { ClaimResult, Point, StudyInfo } from '@shardlab/contract';
import { inconclusive, isFaulty, type JudgeContext } from '../judging/judgement.ts';
import { loadStudies } from './load-studies.ts';
import type { Claim, Study } from './study.ts';

export class StudyRegistry {
  readonly studies: readonly Study[];
  readonly #byClaim = new Map<string, { study: Study; claim: Claim }>();

  /** Throws a RangeError if two studies have the same id, or two claims. */
  constructor(studies: readonly Study[]) {
    this.studies = studies;
    const ids = studies.map(({ id }) => id);
    const twice = ids.find((id, index) => ids.indexOf(id) !== index);
    if (twice !== undefined) throw new RangeError(`two studies are named ${twice}`);
    for (const study of studies) {
      for (const claim of study.claims) {
        const other = this.#byClaim.get(claim.id);
        if (other !== undefined)
          throw new RangeError(`${study.id} and ${other.study.id} both have a claim ${claim.id}`);
        this.#byClaim.set(claim.id, { study, claim });
      }
    }
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

  /** What clients are told of the studies. */
  describe(): StudyInfo[] {
    return this.studies.map(({ id, document, claims, notMeasured }) => ({
      id,
      document,
      claims: claims.map((claim) => claim.id),
      notMeasured: [...notMeasured],
    }));
  }

  /**
   * The verdicts of the given claims, in that order. A point with an integrity fault proves nothing, so one such point
   * makes every claim inconclusive, except claims about integrity itself. Throws a RangeError for an unknown claim.
   */
  judge(ids: readonly string[], points: readonly Point[], context: JudgeContext): ClaimResult[] {
    const faulty = points.filter(isFaulty);
    return ids.map((id) => {
      const found = this.#byClaim.get(id);
      if (found === undefined) throw new RangeError(`there is no claim ${id}`);
      const { title, document, grade, judge, select, aboutIntegrity } = found.claim;
      const judgement =
        faulty.length > 0 && aboutIntegrity !== true
          ? inconclusive(
              '',
              `Messages were lost, duplicated, damaged or out of order at ${faulty.length} of the points.`,
            )
          : judge(select === undefined ? points : select(points), context);
      return { id, title, document, grade, ...judgement };
    });
  }
}

/** The studies of this folder. */
export const bundledStudies = new StudyRegistry(await loadStudies());
