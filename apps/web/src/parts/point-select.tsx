import type { ActivityGroup } from '../model/active-sessions.ts';

/** A choice of one point of a run by its key. */
export function PointSelect(props: {
  groups: readonly ActivityGroup[];
  selected: string;
  onSelect(key: string): void;
}) {
  return (
    <label className="field explain-against">
      <span>Point</span>
      <select
        className="input"
        value={props.selected}
        onChange={(event) => props.onSelect(event.target.value)}
      >
        {props.groups.flatMap(({ title, points }) =>
          points.map(({ key, words }) => (
            <option key={key} value={key}>
              {[title, words].filter((part) => part !== '').join(', ')}
            </option>
          )),
        )}
      </select>
    </label>
  );
}
