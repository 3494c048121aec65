import { type RunList, runLabelLimits } from '@shardlab/contract';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { runPagesQuery } from '../../api/queries.ts';
import { EditRunDialog } from '../../parts/edit-run-dialog.tsx';
import { SearchField } from '../../parts/field.tsx';
import { QueryResult } from '../../parts/query-states.tsx';
import { RunTable } from '../../parts/run-table.tsx';
import { useTitle } from '../../parts/use-title.ts';
import { HistoryNotices } from './history-notices.tsx';
import { ImportRun } from './import-run.tsx';
import { nextOrder, origins, type RunsSearch, scales, statuses } from './runs-search.ts';

const pageSize = 25;
/** The compare page takes up to six. */
const chosenMax = 6;

/** All runs that the server has stored, in an order and with filters; named, compared, deleted; and runs of other machines. */
export function RunsPage() {
  useTitle('Runs');
  const search = useSearch({ from: '/runs' });
  const navigate = useNavigate({ from: '/runs' });
  const onSearch = (change: { [Name in keyof RunsSearch]: RunsSearch[Name] | undefined }) =>
    void navigate({
      search: (before) => ({ ...before, ...change }) as RunsSearch,
      replace: true,
      resetScroll: false,
    });
  const [chosen, setChosen] = useState<readonly string[]>([]);
  // Typed text reaches the address later than the field.
  const [typed, setTyped] = useState(search.text ?? '');
  const text = useDeferredValue(typed.trim());
  const { text: _ofAddress, sort, order = 'desc', ...filters } = search;
  const hasFilters = Object.keys(filters).length > 0;
  const runs = useInfiniteQuery({
    ...runPagesQuery({
      ...filters,
      ...(text === '' ? {} : { text }),
      ...(sort === undefined ? {} : { sort, order }),
      limit: pageSize,
    }),
    placeholderData: (before) => before,
  });
  const choose = (id: string) =>
    setChosen(chosen.includes(id) ? chosen.filter((each) => each !== id) : [...chosen, id].slice(-chosenMax));
  const { data, error, failureReason } = runs;
  return (
    <>
      <header className="page-head">
        <h1>Runs</h1>
        <p className="lead">
          {sort === undefined ? 'Newest first. ' : ''}A run continues when no page is open, and its results
          are kept.
        </p>
      </header>
      <section className="section" aria-label="All runs">
        <div className="section-head">
          <RunFilters
            search={search}
            typed={typed}
            onTyped={(value) => {
              setTyped(value);
              onSearch({ text: value || undefined });
            }}
            onSearch={onSearch}
          />
          <div className="row">
            <ImportRun />
            {data?.pages[0]?.runs.length === 0 && !hasFilters && text === '' ? (
              <span className="small">
                <Link to="/scenarios">Choose a scenario to run</Link>
              </span>
            ) : chosen.length < 2 ? (
              <span className="small muted">Choose two to six runs to compare them.</span>
            ) : (
              <Link className="button" to="/compare" search={{ runs: [...chosen] }}>
                Compare {chosen.length} runs
              </Link>
            )}
          </div>
        </div>
        <QueryResult query={{ data: data?.pages, error, failureReason }} name="runs">
          {(pages: readonly RunList[]) => (
            <>
              <HistoryNotices pages={pages} />
              {pages[0]?.runs.length === 0 && (hasFilters || text !== '') ? (
                <p className="empty">
                  No run{hasFilters ? ' of those chosen above' : ''}
                  {text === '' ? '' : ` contains “${text}”`}.
                </p>
              ) : (
                <RunTable
                  runs={pages.flatMap((page) => page.runs)}
                  order={{
                    sort: sort === undefined ? undefined : { by: sort, order },
                    onSort: (by) => onSearch({ sort: undefined, order: undefined, ...nextOrder(search, by) }),
                  }}
                  chosen={{ ids: chosen, onChoose: choose }}
                  tools={(run) =>
                    run.status === 'queued' || run.status === 'running' ? null : (
                      <EditRunDialog
                        label="Edit"
                        run={{ id: run.id, title: run.scenarioTitle, labels: run.labels }}
                      />
                    )
                  }
                />
              )}
              {runs.hasNextPage ? (
                <div>
                  <button
                    type="button"
                    className="button"
                    disabled={runs.isFetchingNextPage}
                    onClick={() => void runs.fetchNextPage()}
                  >
                    Show more runs
                  </button>
                </div>
              ) : null}
            </>
          )}
        </QueryResult>
      </section>
    </>
  );
}

function RunFilters(props: {
  search: RunsSearch;
  typed: string;
  onTyped(text: string): void;
  onSearch(change: { [Name in keyof RunsSearch]: RunsSearch[Name] | undefined }): void;
}) {
  const { search, typed, onTyped, onSearch } = props;
  return (
    <div className="run-filters">
      <SearchField
        className="run-filter-text"
        label="Filter"
        value={typed}
        maxLength={runLabelLimits.textMax}
        placeholder="Name, note, scenario or id"
        onChange={onTyped}
      />
      <FilterSelect
        label="Status"
        value={search.status}
        values={statuses}
        onChange={(status) => onSearch({ status })}
      />
      <FilterSelect
        label="Scale"
        value={search.scale}
        values={scales}
        onChange={(scale) => onSearch({ scale })}
      />
      <FilterSelect
        label="Measured"
        value={search.origin}
        values={origins}
        onChange={(origin) => onSearch({ origin })}
      />
    </div>
  );
}

function FilterSelect<Value extends string>(props: {
  label: string;
  value: Value | undefined;
  values: readonly Value[];
  onChange(value: Value | undefined): void;
}) {
  const { label, value, values, onChange } = props;
  return (
    <label className="field">
      <span>{label}</span>
      <select
        className="input"
        value={value ?? ''}
        onChange={(event) => onChange(values.find((each) => each === event.target.value))}
      >
        <option value="">any</option>
        {values.map((each) => (
          <option key={each} value={each}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}
