/** Links to the sections of a long page, under its head. */
export function JumpLinks({ links }: { links: readonly { id: string; label: string }[] }) {
  return (
    <nav aria-label="On this page">
      <ul className="row small jump-links">
        {links.map(({ id, label }) => (
          <li key={id}>
            <a href={`#${id}`}>{label}</a>
          </li>
        ))}
      </ul>
    </nav>
  );
}
