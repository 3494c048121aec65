export * from './cluster.ts';
export * from './hardware.ts';
export * from './load.ts';
export * from './params-in-words.ts';
export * from './queue.ts';
export * from './run.ts';
export * from './scenario.ts';
export * from './service.ts';
