import { useQuery } from '@tanstack/react-query';
import { studiesQuery } from '../api/queries.ts';

/** Contradictions between the document's own numbers on which a claim is based; empty if they agree. */
export function ClaimSlips({ claim }: { claim: string }) {
  const { data } = useQuery(studiesQuery);
  const slips = (data?.studies ?? []).flatMap((study) =>
    study.slips.filter(({ claims }) => claims.includes(claim)),
  );
  if (slips.length === 0) return null;
  return (
    <ul className="slips small" aria-label={`Slips in the document's numbers for ${claim}`}>
      {slips.map(({ what, slip }) => (
        <li key={`${what} ${slip}`}>
          <span className="tag">Slip</span> {what}: {slip}.
        </li>
      ))}
    </ul>
  );
}
