import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useMemo, useState } from 'react';
import { openApiQuery, sessionQuery } from '../../api/queries.ts';
import { type ApiGroup, apiGroups, countCalls, type OpenApi, searchApi } from '../../model/api-reference.ts';
import { plural } from '../../model/format.ts';
import { SearchField } from '../../parts/field.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { CallDetails } from './call-details.tsx';

/** The server's API, from the description that it makes of itself. */
export function ApiPage() {
  useTitle('API');
  const description = useQuery(openApiQuery);
  const session = useQuery(sessionQuery);
  return (
    <QueryResult query={description} name="the description of the API">
      {(api) => <Reference api={api} hasKey={session.data?.keyRequired === true} />}
    </QueryResult>
  );
}

function Reference({ api, hasKey }: { api: OpenApi; hasKey: boolean }) {
  const { text = '', call } = useSearch({ from: '/docs' });
  const navigate = useNavigate({ from: '/docs' });
  const [typed, setTyped] = useState(text);
  const searched = useDeferredValue(typed);
  const groups = useMemo(() => apiGroups(api, window.location.origin, hasKey), [api, hasKey]);
  const found = useMemo(() => searchApi(groups, searched), [groups, searched]);
  const go = (search: { text?: string | undefined; call?: string | undefined }) =>
    void navigate({
      search: (before) => {
        const { text: nextText, call: nextCall } = { ...before, ...search };
        return { ...(nextText ? { text: nextText } : {}), ...(nextCall ? { call: nextCall } : {}) };
      },
      replace: true,
      resetScroll: false,
    });
  return (
    <>
      <header className="page-head">
        <h1>API reference</h1>
        <p className="lead">
          Everything that these pages do, any HTTP client can do. Errors are JSON with a stable code, a
          message, details, and whether the same call may succeed later. Version {api.info.version}; the
          description as <a href="/openapi.json">OpenAPI 3.1</a> serves generators and other tools.
        </p>
      </header>
      <div className="api">
        <div className="api-index">
          <SearchField
            label="Search"
            value={typed}
            placeholder="path, field or word"
            onChange={(text) => {
              setTyped(text);
              go({ text });
            }}
          />
          <p className="small muted" role="status">
            {plural(countCalls(found), 'call')}
            {searched === '' ? '' : ` of ${countCalls(groups)}`}
          </p>
          <nav aria-label="Groups of calls">
            <ul>
              {found.map(({ name, calls }) => (
                <li key={name}>
                  <a href={`#${name}`}>{name}</a> <span className="muted small">{calls.length}</span>
                </li>
              ))}
            </ul>
          </nav>
        </div>
        <div className="api-groups">
          {found.length === 0 ? <p className="empty">No call contains all of these words.</p> : null}
          {found.map((group) => (
            <Group key={group.name} group={group} open={call} onOpen={(id) => go({ call: id })} />
          ))}
        </div>
      </div>
    </>
  );
}

function Group(props: {
  group: ApiGroup;
  /** Id of the call that the address names. */
  open: string | undefined;
  onOpen(id: string | undefined): void;
}) {
  const { group, open, onOpen } = props;
  return (
    <section className="section" id={group.name} aria-labelledby={`group-${group.name}`}>
      <div className="section-head">
        <h2 id={`group-${group.name}`}>{group.name}</h2>
        <p className="small muted">{group.description}</p>
      </div>
      <ul className="panel api-calls">
        {group.calls.map((call) => (
          <li key={call.id}>
            <CallDetails call={call} isNamed={call.id === open} onOpen={onOpen} />
          </li>
        ))}
      </ul>
    </section>
  );
}
