import { useCallback, useMemo, useState } from 'react';
import { createTopologyChart } from '../../charts/topology-chart.ts';
import { systemColor } from '../../charts/visual-encoding.ts';
import { plannedProvenance } from '../../model/provenance.ts';
import type { JsonObject } from '../../model/scenario-draft.ts';
import { systemInWords } from '../../model/system-words.ts';
import {
  layoutPlan,
  type PlannedTopology,
  planInWords,
  plannedTopology,
  systemsOf,
} from '../../model/topology-plan.ts';
import { ChartFrame } from '../../parts/chart-frame.tsx';
import { Choice } from '../../parts/choice.tsx';
import { useChart, useWidth } from '../../parts/use-chart.ts';

/** The topology of the draft's largest point; empty if the program has no instances. */
export function PlannedTopologyChart({ draft }: { draft: JsonObject }) {
  const systems = systemsOf(draft);
  const [chosen, setChosen] = useState('');
  const system = systems.includes(chosen) ? chosen : systems[0];
  const plan = system === undefined ? null : plannedTopology(draft, system);
  if (plan === null) return null;
  return (
    <section className="section" aria-labelledby="planned-topology">
      <h2 id="planned-topology">Topology</h2>
      <PlanView draft={draft} plan={plan} systems={systems} onSystem={setChosen} />
    </section>
  );
}

function PlanView(props: {
  draft: JsonObject;
  plan: PlannedTopology;
  systems: readonly string[];
  onSystem(system: string): void;
}) {
  const { draft, plan, systems, onSystem } = props;
  const { box, width } = useWidth();
  const { system, instances, enqueuers, dequeuers, placement, shardsPerInstance } = plan;
  const layout = useMemo(
    () =>
      layoutPlan(
        { system, instances, enqueuers, dequeuers, placement, shardsPerInstance },
        Math.max(width, 240),
      ),
    [system, instances, enqueuers, dequeuers, placement, shardsPerInstance, width],
  );
  const create = useCallback((svg: SVGSVGElement) => createTopologyChart(svg), []);
  const { element } = useChart(create, layout);
  return (
    <ChartFrame
      title="The largest point of the sweep"
      unit="instances, and the sessions on each"
      fileName="planned-topology"
      table={() => ({
        columns: ['Instance', 'Enqueuers', 'Dequeuers'],
        rows: layout.cards.map(({ instance, words }) => [instance, words?.in ?? '', words?.out ?? '']),
      })}
      svg={element}
      box={box}
      height={layout.height}
      saved={{
        legend: [{ label: systemInWords(system), color: systemColor(system) }],
        provenance: `${planInWords(plan)}. ${plannedProvenance(nameOf(draft))}`,
      }}
      controls={
        systems.length < 2 ? null : (
          <Choice
            label="System"
            value={system}
            options={systems.map((value) => ({ value, label: systemInWords(value) }))}
            onChange={onSystem}
          />
        )
      }
      readout={planInWords(plan)}
      spoken={planInWords(plan)}
    />
  );
}

const nameOf = ({ id }: JsonObject): string => (typeof id === 'string' ? `scenario ${id}` : 'a new scenario');
