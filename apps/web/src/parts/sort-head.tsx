/** The head of a column by which rows can be ordered. */
export function SortHead(props: {
  label: string;
  isNumber: boolean;
  sorted: 'asc' | 'desc' | false;
  onSort(event: unknown): void;
}) {
  const { label, isNumber, sorted, onSort } = props;
  return (
    <th
      scope="col"
      className={isNumber ? 'number' : undefined}
      aria-sort={sorted === false ? 'none' : ariaSort[sorted]}
    >
      <button type="button" className="sort" onClick={onSort}>
        {label}
        <span className="sort-mark" aria-hidden="true" data-sorted={sorted === false ? '' : sorted} />
      </button>
    </th>
  );
}

const ariaSort = { asc: 'ascending', desc: 'descending' } as const;
