import type { Fault } from '@shardlab/contract';
import type { ApiError } from '../../api/client.ts';
import { plural } from '../../model/format.ts';
import { type Excerpt, excerptAt, excerptOfLine } from '../../model/json-excerpt.ts';

interface UploadFaultsProps {
  name: string;
  text: string;
  error: ApiError;
  /** Adds another text in place of the rejected one. */
  onAdd(text: string): void;
}

/** The errors in a rejected scenario, each with its path and the lines around it. */
export function UploadFaults({ name, text, error, onAdd }: UploadFaultsProps) {
  const { line, translation } = error.details;
  return (
    <section className="panel faults" role="alert" aria-label="Errors in the scenario">
      <h3>
        {name} was not added: {plural(error.faults.length, 'error')}
      </h3>
      <ul className="faults-list section">
        {error.faults.map((fault) => (
          <li key={`${fault.path} ${fault.message}`} className="fault">
            <p>
              <span className="fault-path">{fault.path === '' ? 'whole document' : fault.path}</span>{' '}
              {fault.message}
            </p>
            <FaultExcerpt excerpt={excerptOf(fault, text, line)} />
          </li>
        ))}
      </ul>
      {translation === undefined ? null : <Translation scenario={translation} onAdd={onAdd} />}
    </section>
  );
}

/** The same scenario in the present version. */
function Translation({ scenario, onAdd }: { scenario: unknown; onAdd(text: string): void }) {
  const text = JSON.stringify(scenario, null, 2);
  return (
    <div className="section">
      <h4>The same scenario in the present version</h4>
      <pre className="code">{text}</pre>
      <div>
        <button type="button" className="button button-primary" onClick={() => onAdd(text)}>
          Add this one
        </button>
      </div>
    </div>
  );
}

function excerptOf(fault: Fault, text: string, line: unknown): Excerpt | null {
  if (typeof line === 'number') return excerptOfLine(text, line);
  return excerptAt(text, fault.path);
}

function FaultExcerpt({ excerpt }: { excerpt: Excerpt | null }) {
  if (excerpt === null) return null;
  return (
    <pre className="code">
      {excerpt.lines.map(({ number, text }) => (
        <code
          key={number}
          className="code-line"
          data-number={number}
          data-fault={number === excerpt.line ? '' : undefined}
        >
          {text.length > 160 ? `${text.slice(0, 160)}…` : text || ' '}
        </code>
      ))}
    </pre>
  );
}
