import type { ClaimResult, ClaimStatement } from '@shardlab/contract';
import { describeGrade } from '../model/verdicts.ts';
import { CodeText } from './code-text.tsx';
import { useStatement } from './use-statement.ts';

/** A claim in the document's own words, where they are found, and what they come to in ours. */
export function DocumentWords({ claim }: { claim: Pick<ClaimResult, 'id' | 'document' | 'grade'> }) {
  const found = useStatement(claim.id);
  const isQuoted = found !== undefined && found.statement.stated !== claim.document;
  return (
    <blockquote className="document-words">
      {isQuoted ? (
        <Quote statement={found.statement} language={found.language} />
      ) : (
        <p>
          <CodeText text={claim.document} />
        </p>
      )}
      <footer className="small muted">
        {found === undefined ? 'The document, in our words' : found.statement.where},{' '}
        {describeGrade(claim.grade)}
        {isQuoted ? (
          <>
            . In our words: <CodeText text={claim.document} />
          </>
        ) : null}
      </footer>
    </blockquote>
  );
}

/** Words of a document, with their translation if they are not English. */
export function Quote(props: { statement: ClaimStatement; language: string | undefined }) {
  const { stated, translation } = props.statement;
  return (
    <>
      <p lang={props.language}>
        “<CodeText text={stated} />”
      </p>
      {translation === undefined ? null : <p className="small">In English: {translation}</p>}
    </>
  );
}
