/** The head of a plain table. */
export function TableHead({ columns }: { columns: readonly { label: string; isNumber?: boolean }[] }) {
  return (
    <thead>
      <tr>
        {columns.map(({ label, isNumber }) => (
          <th key={label} scope="col" className={isNumber ? 'number' : undefined}>
            {label}
          </th>
        ))}
      </tr>
    </thead>
  );
}
