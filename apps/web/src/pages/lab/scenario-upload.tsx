import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../../api/client.ts';
import { uploadScenario } from '../../api/queries.ts';
import { looksLikeScenario, uploadRejection } from '../../model/upload-rejection.ts';
import { ErrorNotice } from '../../parts/query-states.tsx';
import { UploadFaults } from './upload-faults.tsx';

interface Upload {
  name: string;
  text: string;
}

/** Uploads a scenario that is dropped on the page, pasted, or chosen as a file. */
export function ScenarioUpload() {
  const client = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const upload = useMutation({
    mutationFn: ({ text }: Upload) => uploadScenario(text),
    onSuccess: () => client.invalidateQueries({ queryKey: ['scenarios'] }),
  });
  const [rejection, setRejection] = useState<string | null>(null);
  /** Rejects what the server would reject before it is read: a dropped video must not fill the memory of the page. */
  const send = async (name: string, content: Blob) => {
    upload.reset();
    const reason = uploadRejection(name, content.size);
    setRejection(reason);
    if (reason === null) upload.mutate({ name, text: await content.text() });
  };
  const uploadFile = (file: File) => send(file.name, file);
  const dragging = usePageDrop((file) => void uploadFile(file));
  usePagePaste((text) => {
    if (looksLikeScenario(text)) void send('Pasted text', new Blob([text]));
  });
  return (
    <>
      {dragging ? <div className="drop-overlay">Drop to add the scenario</div> : null}
      <section className="panel upload" aria-label="Add a scenario">
        <p>
          <strong>Your own scenario:</strong>{' '}
          <span className="muted">drop a JSON file anywhere on this page, or paste its text.</span>
        </p>
        <label className="button">
          Choose a file
          <input
            ref={input}
            className="visually-hidden"
            type="file"
            accept="application/json,.json"
            onChange={(event) => {
              const file = event.target.files?.[0];
              event.target.value = '';
              if (file !== undefined) void uploadFile(file);
            }}
          />
        </label>
      </section>
      <div aria-live="polite">
        {upload.data === undefined ? null : (
          <p className="notice">
            <span>
              Added{' '}
              <Link to="/scenarios/$scenarioId" params={{ scenarioId: upload.data.id }}>
                {upload.data.id}
              </Link>
              . It is now among your scenarios.
            </span>
          </p>
        )}
      </div>
      {rejection === null ? null : (
        <div className="notice" data-tone="bad" role="alert">
          <p>{rejection}.</p>
        </div>
      )}
      <UploadError
        error={upload.error}
        upload={upload.variables}
        onAdd={(text) => upload.mutate({ name: 'The translation', text })}
      />
    </>
  );
}

function UploadError(props: { error: Error | null; upload: Upload | undefined; onAdd(text: string): void }) {
  const { error, upload, onAdd } = props;
  if (error === null) return null;
  if (error instanceof ApiError && error.faults.length > 0 && upload !== undefined)
    return <UploadFaults name={upload.name} text={upload.text} error={error} onAdd={onAdd} />;
  return <ErrorNotice error={error} />;
}

/** Accepts files dropped anywhere on the page. Returns whether a file is being dragged over it. */
function usePageDrop(onFile: (file: File) => void): boolean {
  const [dragging, setDragging] = useState(false);
  const latest = useRef(onFile);
  latest.current = onFile;
  useEffect(() => {
    const events = new AbortController();
    const { signal } = events;
    const carriesFile = (event: DragEvent) => event.dataTransfer?.types.includes('Files') === true;
    document.addEventListener(
      'dragover',
      (event) => {
        if (!carriesFile(event)) return;
        event.preventDefault();
        setDragging(true);
      },
      { signal },
    );
    document.addEventListener(
      'dragleave',
      (event) => {
        if (event.relatedTarget === null) setDragging(false);
      },
      { signal },
    );
    document.addEventListener(
      'drop',
      (event) => {
        if (!carriesFile(event)) return;
        event.preventDefault();
        setDragging(false);
        const file = event.dataTransfer?.files[0];
        if (file !== undefined) latest.current(file);
      },
      { signal },
    );
    return () => events.abort();
  }, []);
  return dragging;
}

/** Accepts text pasted anywhere on the page except into an input. */
function usePagePaste(onText: (text: string) => void): void {
  const latest = useRef(onText);
  latest.current = onText;
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const target = event.target as HTMLElement | null;
      if (target?.closest('input, textarea, [contenteditable]')) return;
      const text = event.clipboardData?.getData('text/plain').trim();
      if (text) latest.current(text);
    };
    document.addEventListener('paste', paste);
    return () => document.removeEventListener('paste', paste);
  }, []);
}
