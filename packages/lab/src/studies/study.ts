/** The type of a study: a document, its claims, and how each is judged. Each study is a folder beside this file. */
import type {
  ClaimResult,
  ClaimStatement,
  DocumentTable,
  Point,
  StudyDocument,
  StudyHero,
} from '@shardlab/contract';
import type { DocumentNumbers } from '../document-lint/document-numbers.ts';
import type { Judge } from '../judging/judgement.ts';
import type { Program } from '../programs/program.ts';

/** `document` is in our words; `stated` is quoted, never reworded, and short. */
export interface Claim
  extends Pick<ClaimResult, 'id' | 'title' | 'document' | 'grade'>,
    Omit<ClaimStatement, 'claim'> {
  judge: Judge;
  /** Why a verdict of "holds" proves little: which impostor can reach it. The impostors' test keeps this correct. */
  weak?: string;
  /** Why a verdict of "holds" at these points proves little; null if it proves enough. */
  weakAt?(points: readonly Point[]): string | null;
  /** The claim is about integrity itself, so points with integrity faults are judged too. */
  aboutIntegrity?: true;
}

/** A statement of the document that no scenario measures. */
export interface NotMeasured {
  statement: string;
  reason: string;
}

/** Something that the document names and the engine does not have. */
export interface NotBuilt {
  feature: string;
  /** What the engine has instead, or does if it is requested. */
  instead: string;
}

export interface Study {
  /** The name of its folder, and of the study in scenarios: lower-case words and dashes. */
  id: string;
  document: StudyDocument;
  /** Claims in listing order. Their ids are unique over all studies. */
  claims: readonly Claim[];
  notMeasured: readonly NotMeasured[];
  notBuilt?: readonly NotBuilt[];
  /** Numbers of the document that can be compared with each other. */
  documentNumbers?: readonly DocumentNumbers[];
  /** The document's own numbers, for charts that show them beside measured ones. */
  tables?: readonly DocumentTable[];
  /** The charts that runs of its scenarios are about, where it is not what they measure over their sweep; the first that applies. */
  heroes?: readonly StudyHero[];
  /** Programs that only its scenarios need. */
  programs?: readonly Program[];
  /** Names of the figures that its report shows, by program; default: all that were measured. */
  reportFigures?: Readonly<Record<string, readonly string[]>>;
}
