import { agreementAim, isWithinAim } from '@shardlab/model';
import { formatRate } from '../../model/format.ts';
import { systemInWords } from '../../model/system-words.ts';
import { comparedFigures, type ModelError } from '../../model/what-if-series.ts';
import { ScrollX } from '../../parts/scroll-x.tsx';

const signed = (error: number) => `${error < 0 ? '−' : '+'}${Math.abs(Math.round(error * 100))} %`;
const aim = `${agreementAim * 100} %`;

const otherError = (error: number | null) => {
  if (error === null) return '–';
  return isWithinAim({ error }) ? signed(error) : <b>{signed(error)}</b>;
};

/**
 * Compares the simulated with the measured rates, and names those that differ by more than the model aims at. Errors of
 * the other figures stand beside them; those outside the same aim are bold.
 */
export function ModelAgreement({
  errors,
  isOfThisMachine,
}: {
  errors: readonly ModelError[];
  /** Whether the costs of the model were measured on the machine that measured the points. */
  isOfThisMachine: boolean;
}) {
  const misses = errors.filter((error) => error.misses).length;
  return (
    <section className="section" aria-labelledby="agreement">
      <div className="section-head">
        <h2 id="agreement">Compared with measurement</h2>
        <p className="small muted">
          {misses === 0
            ? `All ${errors.length} simulated rates are within ${aim} of the measured ones.`
            : `${misses} of ${errors.length} simulated rates differ by more than ${aim}.`}
        </p>
      </div>
      {isOfThisMachine ? null : (
        <p>
          The points were measured on this machine and the costs on another one: these errors show how the
          machines differ, not how good the model is.
        </p>
      )}
      <ScrollX label="Measured and simulated rates" framed>
        <table className="table">
          <thead>
            <tr>
              <th scope="col">Queue</th>
              <th scope="col" className="number">
                Threads
              </th>
              <th scope="col" className="number">
                Measured
              </th>
              <th scope="col" className="number">
                Simulated
              </th>
              <th scope="col" className="number">
                Error
              </th>
              <th scope="col">Within {aim}</th>
              {comparedFigures.map(({ figure, title }) => (
                <th key={figure} scope="col" className="number">
                  {title} error
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {errors.map(({ system, threads, measured, simulated, error, misses: isMiss, others }) => (
              <tr key={`${system}/${threads}`}>
                <th scope="row">{systemInWords(system)}</th>
                <td className="number">{threads}</td>
                <td className="number">{formatRate(measured)}</td>
                <td className="number">{formatRate(simulated)}</td>
                <td className="number">{signed(error)}</td>
                <td>{isMiss ? <b>no</b> : 'yes'}</td>
                {comparedFigures.map(({ figure }, index) => (
                  <td key={figure} className="number">
                    {otherError(others[index] ?? null)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </ScrollX>
    </section>
  );
}
