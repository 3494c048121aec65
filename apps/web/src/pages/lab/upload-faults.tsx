import type { Fault } from '@shardlab/contract';
import type { ApiError } from '../../api/client.ts';
import { plural } from '../../model/format.ts';
import { type Excerpt, excerptAt, excerptOfLine } from '../../model/json-excerpt.ts';

/** The errors in a rejected scenario, each with its path and the lines around it. */
export function UploadFaults({ name, text, error }: { name: string; text: string; error: ApiError }) {
  const { line } = error.details;
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
    </section>
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
