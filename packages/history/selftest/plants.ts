/**
 * Bugs that the checker must find, each as edits of the engine's sources. The texts are found exactly once, or the test of
 * these tables fails: when code moves, only they change.
 */
import { commitPlants } from './plants/commit-plants.ts';
import { deliveryPlants } from './plants/delivery-plants.ts';
import { featurePlants } from './plants/feature-plants.ts';
import type { Plant } from './plants/plant.ts';

export const plants: readonly Plant[] = [...commitPlants, ...deliveryPlants, ...featurePlants];
