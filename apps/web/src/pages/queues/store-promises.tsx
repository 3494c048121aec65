import { useQuery } from '@tanstack/react-query';
import { storeQuery } from '../../api/queries.ts';

/** The name of the queues' store, within a sentence. */
export function StoreName() {
  const { data } = useQuery(storeQuery);
  if (data === undefined || data.store === 'local') return 'the engine that the lab measures';
  return <>NATS JetStream ({data.servers.join(', ')})</>;
}

/** The promises of the store, line by line. */
export function StorePromises() {
  const { data } = useQuery(storeQuery);
  if (data === undefined) return null;
  const count = (support: string) => data.features.filter((each) => each.support === support).length;
  return (
    <details className="panel store-promises">
      <summary>
        What this store promises: of {data.features.length} features it has {count('yes')} in full,{' '}
        {count('weaker')} in part, and {count('no')} not
      </summary>
      <table className="table">
        <thead>
          <tr>
            <th scope="col">Feature</th>
            <th scope="col">Support</th>
            <th scope="col">Note</th>
          </tr>
        </thead>
        <tbody>
          {data.features.map(({ feature, about, support, note }) => (
            <tr key={feature}>
              <td className="wrap">{about}</td>
              <td>{support}</td>
              <td className="wrap">{note?.replaceAll('`', '')}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
