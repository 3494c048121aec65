/** What a study is: a document, what it claims, and how each claim is judged. Each study is a folder beside this file. */
import type { ClaimResult, DocumentTable, Point, StudyDocument } from '@shardlab/contract';
import type { Judge } from '../judging/judgement.ts';
import type { Program } from '../programs/program.ts';

export interface Claim extends Pick<ClaimResult, 'id' | 'title' | 'document' | 'grade'> {
  judge: Judge;
  /** Why holding tells little: which system that only pretends can reach it. The impostors' test keeps it true. */
  weak?: string;
  /** Why holding at these points tells little; null if it is not for them. */
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
  /** What the engine has instead, or does when asked for it. */
  instead: string;
}

export interface Study {
  /** The name of its folder, and of the study in scenarios: lower-case words and dashes. */
  id: string;
  document: StudyDocument;
  /** In the order in which they are listed. Their ids are unique over all studies. */
  claims: readonly Claim[];
  notMeasured: readonly NotMeasured[];
  notBuilt?: readonly NotBuilt[];
  /** The document's own numbers, for charts that show them beside measured ones. */
  tables?: readonly DocumentTable[];
  /** Programs that only its scenarios need. */
  programs?: readonly Program[];
  /** Names of the figures that its report shows, by program; default: all that were measured. */
  reportFigures?: Readonly<Record<string, readonly string[]>>;
}
