/** The texts of a run's report: verdicts, results, each claim by its clauses, and the provenance of the figures. */
import type { ClaimClause, ClaimResult, ProgramInfo, Run } from '@shardlab/contract';
import { environmentFacts } from './environment-facts.ts';
import { trustOf } from './evidence.ts';
import { plural } from './format.ts';
import type { ReportText } from './html-report.ts';
import { runHighlights } from './run-highlights.ts';
import {
  claimFigure,
  describeClause,
  describeGrade,
  judgedOn,
  verdictLabel,
  verdictsInWords,
} from './verdicts.ts';

export function runReport(run: Run, program: ProgramInfo): ReportText[] {
  const { claims, status } = run;
  const isRecorded = run.recordedOn !== undefined;
  const verdicts = verdictsInWords(claims, isRecorded);
  return [
    {
      title: 'Result',
      facts: runHighlights(run),
      paragraphs: [
        claims.length === 0
          ? 'This run judged no claims.'
          : `${plural(claims.length, 'claim')}, judged ${judgedOn(status)}: ${verdicts}.`,
      ],
      items: [],
    },
    ...claims.map((claim) => claimText(claim, isRecorded)),
    {
      title: 'Where the figures come from',
      facts: environmentFacts(run, program) ?? [],
      paragraphs: noiseOf(run),
      items: [],
    },
  ];
}

function claimText(claim: ClaimResult, isRecorded: boolean): ReportText {
  const { id, title, document, grade, reason, weak, clauses } = claim;
  return {
    title: `${id}: ${title}`,
    facts: [],
    paragraphs: [
      `${verdictLabel({ ...claim, isRecorded })}${figureInWords(claim)}. ${reason}`,
      `The document (${describeGrade(grade)}): ${document}`,
      ...(weak === null ? [] : [`Weak: ${weak}`]),
    ],
    // A single clause is the claim itself.
    items: clauses.length < 2 ? [] : clauses.map((clause) => clauseInWords(clause, isRecorded)),
  };
}

const clauseInWords = (clause: ClaimClause, isRecorded: boolean): string =>
  `${verdictLabel({ ...clause, isRecorded })}: ${describeClause(clause)}${figureInWords(clause)}${clause.provenance === 'measured' ? '' : `, ${clause.provenance}`}`;

/** ": 0.89 × the best of several instances (0.81 to 0.97)"; empty if nothing was measured. */
function figureInWords(judged: Pick<ClaimResult, 'value' | 'unit' | 'interval'>): string {
  const figure = claimFigure(judged);
  return figure === null ? '' : `: ${figure.value}${figure.unit}${figure.range}`;
}

/** A note about a run during which other work ran on the machine; empty for a quiet one. */
function noiseOf(run: Run): string[] {
  if (run.points.length === 0) return [];
  const trust = trustOf(run, Math.min(...run.points.map(({ repeats }) => repeats.length)));
  return trust.doubt !== null ? [`${trust.doubt}: ${trust.load}; ${trust.noise}.`] : [];
}
