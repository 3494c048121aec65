import { describe, expect, it } from 'vitest';
import { type ConversionStage, conversionSteps } from '../../src/api/conversion.ts';
import { type ConversionCommand, canCancel, nextConversionStage } from '../../src/model/conversion.ts';

const stages: readonly ConversionStage[] = [...conversionSteps, 'done'];

describe('the steps of a conversion', () => {
  it('are those of the white paper, in its order, with the name kept throughout', () => {
    expect(conversionSteps).toEqual([
      'stop-enqueue',
      'drain',
      'stop-dequeue',
      'check-empty',
      'drop',
      'size-cache',
      'create',
      'start',
    ]);
  });

  it('lead from one to the next, and from the last to the end', () => {
    for (const [index, stage] of stages.entries()) {
      expect(nextConversionStage(stage, 'pass')).toBe(stages[index + 1]);
    }
  });

  it('can be cancelled until the sharded queue has taken the place of the old one', () => {
    expect(stages.filter(canCancel)).toEqual(stages.slice(0, stages.indexOf('start')));
    for (const stage of stages.filter(canCancel))
      expect(nextConversionStage(stage, 'cancel')).toBe('cancelled');
  });

  it('go back only if the queue turns out not to be empty, and only to its drain', () => {
    const back = stages.filter((stage) => nextConversionStage(stage, 'refill') !== undefined);
    expect(back).toEqual(['check-empty']);
    expect(nextConversionStage('check-empty', 'refill')).toBe('drain');
  });

  it('allow no command once the conversion is done', () => {
    const commands: ConversionCommand[] = ['pass', 'refill', 'cancel'];
    expect(commands.map((command) => nextConversionStage('done', command))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});
