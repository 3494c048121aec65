import { formatTenths } from '../../model/format.ts';
import type { WakeUpRow } from '../../model/gets-model.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

const cell = (value: number | null | undefined): string =>
  value === null || value === undefined ? '–' : formatTenths(value);

/** False wake-ups derived from the gets, in the document and here, beside those that were counted. */
export function FalseWakeUps({ rows }: { rows: readonly WakeUpRow[] }) {
  return (
    <article className="panel explain-panel" aria-label="Wake-ups for nothing">
      <h3>Wake-ups for nothing, for each dequeue</h3>
      <p className="small muted">
        Computed from the gets that a dequeue takes beyond those of one that is woken once. The formula
        expects one such wake-up for each other session. Where mutex and latch disagree, some gets had another
        purpose: a wake-up that reads several posts takes further gets of the latch.
      </p>
      <ScrollX label="Wake-ups for nothing">
        <table className="table">
          <thead>
            <tr>
              {[
                'Pairs',
                'Formula',
                'Document, by its mutex gets',
                'Document, by its latch gets',
                'Here, by the mutex gets',
                'Here, by the latch gets',
                'Here, counted',
              ].map((title) => (
                <th key={title} scope="col" className="number">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ pairs, document, here, counted }) => (
              <tr key={pairs}>
                <th scope="row" className="number">
                  {pairs}
                </th>
                <td className="number">{cell(pairs - 1)}</td>
                <td className="number">{cell(document?.mutex)}</td>
                <td className="number">{cell(document?.latch)}</td>
                <td className="number">{cell(here?.mutex)}</td>
                <td className="number">{cell(here?.latch)}</td>
                <td className="number">{cell(counted)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
    </article>
  );
}
