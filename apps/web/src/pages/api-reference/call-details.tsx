import { useEffect, useRef, useState } from 'react';
import type { ApiAnswer, ApiBody, ApiCall } from '../../model/api-reference.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';
import { useCopy } from '../../parts/use-copy.ts';
import { SchemaRows } from './schema-rows.tsx';

/** One call: closed, its method, path and summary; open, all that it takes and answers. */
export function CallDetails(props: {
  call: ApiCall;
  /** Whether the address names it: it is open then, and in sight. */
  isNamed: boolean;
  /** Called with its id when it is opened, without when it is closed. */
  onOpen(id: string | undefined): void;
}) {
  const { call, isNamed, onOpen } = props;
  const [isOpen, setIsOpen] = useState(isNamed);
  const details = useRef<HTMLDetailsElement>(null);
  const wasNamed = useRef(isNamed);
  useEffect(() => {
    if (wasNamed.current) details.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <details
      ref={details}
      className="api-call"
      open={isOpen}
      onToggle={(event) => {
        const { open } = event.currentTarget;
        if (open === isOpen) return;
        setIsOpen(open);
        if (open || isNamed) onOpen(open ? call.id : undefined);
      }}
    >
      <summary>
        <span className="api-method" data-method={call.method}>
          {call.method}
        </span>
        <code className="api-path">{call.path}</code>
        <span className="api-summary">{call.summary}</span>
      </summary>
      {isOpen ? <Parts call={call} /> : null}
    </details>
  );
}

function Parts({ call }: { call: ApiCall }) {
  const { parameters, bodies, bodyRequired, answers, curl, description } = call;
  return (
    <div className="api-parts">
      {description === '' ? null : <p>{description}</p>}
      <Example text={curl} />
      {parameters.length === 0 ? null : (
        <section aria-label="Parameters">
          <h3>Parameters</h3>
          <SchemaRows
            label={`Parameters of ${call.method} ${call.path}`}
            rows={parameters.map(({ row, place }) => ({ ...row, place }))}
          />
        </section>
      )}
      {bodies.length === 0 ? null : (
        <section aria-label="Body">
          <h3>
            Body <span className="muted small">{bodyRequired ? '' : 'may be left out'}</span>
          </h3>
          {bodies.map((body) => (
            <Body key={body.type} body={body} label={`Body of ${call.method} ${call.path}`} />
          ))}
        </section>
      )}
      <section aria-label="Answers">
        <h3>Answers</h3>
        <ul className="api-answers">
          {answers.map((answer) => (
            <Answer key={answer.status} answer={answer} call={call} />
          ))}
        </ul>
      </section>
    </div>
  );
}

function Body({ body, label }: { body: ApiBody; label: string }) {
  const { type, words, rows, description } = body;
  return (
    <>
      <p className="small muted">
        <code>{type}</code>: {words}
        {description === '' ? '' : `. ${description}`}
      </p>
      {rows.length === 0 ? null : <SchemaRows label={label} rows={rows} />}
    </>
  );
}

/** Errors look all alike, so that only what succeeds shows its fields. */
function Answer({ answer, call }: { answer: ApiAnswer; call: ApiCall }) {
  const { status, description, bodies } = answer;
  const isSuccess = status.startsWith('2');
  return (
    <li>
      <span className="api-status" data-success={isSuccess}>
        {status}
      </span>
      <div>
        <p className="small">
          {description === '' ? (bodies.length === 0 ? 'No body' : 'Success') : description}
        </p>
        {isSuccess
          ? bodies.map((body) => (
              <Body key={body.type} body={body} label={`Answer ${status} of ${call.method} ${call.path}`} />
            ))
          : null}
      </div>
    </li>
  );
}

function Example({ text }: { text: string }) {
  const { isCopied, copy } = useCopy();
  return (
    <section aria-label="Example">
      <div className="section-head">
        <h3>Example</h3>
        <button type="button" className="button button-quiet" onClick={() => void copy(text)}>
          {isCopied ? 'Copied' : 'Copy'}
        </button>
      </div>
      <ScrollX label="Example with curl">
        <pre className="code">
          <code>{text}</code>
        </pre>
      </ScrollX>
    </section>
  );
}
