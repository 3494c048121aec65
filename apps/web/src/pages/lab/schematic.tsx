/** A sketch of the two designs, shown until something has been measured. */
export function Schematic() {
  return (
    <figure className="panel replay">
      <svg viewBox="0 0 460 236" role="img" aria-label="The two designs that are compared">
        <g fontSize="13" fill="var(--ink)" fontWeight="600">
          <text x="0" y="14">
            Sharded
          </text>
          <text x="244" y="14">
            Unsharded
          </text>
        </g>
        {[0, 1].map((row) => (
          <ShardedInstance key={row} y={28 + row * 76} instance={row + 1} />
        ))}
        {[0, 1].map((column) => (
          <UnshardedInstance key={column} x={244 + column * 112} instance={column + 1} />
        ))}
        <rect
          x="244.5"
          y="132.5"
          width="215"
          height="43"
          rx="6"
          fill="var(--well)"
          stroke="var(--line-strong)"
        />
        <rect x="246" y="134" width="150" height="40" rx="5" fill="var(--unsharded)" fillOpacity="0.3" />
        <text x="256" y="159" fontSize="12" fill="var(--ink)">
          one table, one file
        </text>
        <g fontSize="12" fill="var(--ink-3)">
          <text x="0" y="202">
            Each instance commits to
          </text>
          <text x="0" y="219">
            its own partitions.
          </text>
          <text x="244" y="202">
            All sessions share one global
          </text>
          <text x="244" y="219">
            index and one write lock.
          </text>
        </g>
      </svg>
    </figure>
  );
}

function ShardedInstance({ y, instance }: { y: number; instance: number }) {
  const cells = [
    { drained: 1, waiting: 0 },
    { drained: 0.55, waiting: 0.45 },
    { drained: 0, waiting: 0.6 },
  ];
  return (
    <g>
      <rect x="0.5" y={y + 0.5} width="203" height="63" rx="6" fill="none" stroke="var(--line-strong)" />
      <text x="12" y={y + 21} fontSize="12" fill="var(--ink-2)">
        instance {instance}
      </text>
      <Flow y={y + 42} from={12} to={42} color="var(--sharded)" />
      {cells.map(({ drained, waiting }, index) => {
        const x = 48 + index * 37;
        return (
          <g key={x}>
            <rect
              x={x}
              y={y + 34}
              width="33"
              height="16"
              rx="2"
              fill="var(--well)"
              stroke="var(--line-strong)"
            />
            <rect
              x={x}
              y={y + 34}
              width={33 * drained}
              height="16"
              fill="var(--sharded)"
              fillOpacity="0.25"
            />
            <rect x={x + 33 * drained} y={y + 34} width={33 * waiting} height="16" fill="var(--sharded)" />
          </g>
        );
      })}
      <Flow y={y + 42} from={162} to={192} color="var(--sharded)" />
    </g>
  );
}

function UnshardedInstance({ x, instance }: { x: number; instance: number }) {
  return (
    <g>
      <rect x={x + 0.5} y="28.5" width="103" height="63" rx="6" fill="none" stroke="var(--line-strong)" />
      <text x={x + 12} y="49" fontSize="12" fill="var(--ink-2)">
        instance {instance}
      </text>
      <Flow y={70} from={x + 12} to={x + 42} color="var(--unsharded)" />
      <Flow y={70} from={x + 62} to={x + 92} color="var(--unsharded)" />
      <path d={`M${x + 52} 92V132`} stroke="var(--unsharded)" strokeWidth="4" strokeOpacity="0.6" />
    </g>
  );
}

function Flow({ y, from, to, color }: { y: number; from: number; to: number; color: string }) {
  return <path d={`M${from} ${y}H${to}`} stroke={color} strokeWidth="4" strokeDasharray="8 4" />;
}
