/** The folder of lessons: one JSON file each, so a new lesson is listed nowhere. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Lesson } from '@shardlab/contract';
import { LabError } from '../errors/errors.ts';
import { bundledScenarioFolder } from '../scenario/scenario-folder.ts';
import { parseLesson } from './parse-lesson.ts';

const bundledLessonFolder = join(bundledScenarioFolder, 'lessons');

/** Reads every lesson of a folder, sorted by file name. Invalid files are returned as errors, not thrown. */
export async function readLessonFolder(
  folder: string = bundledLessonFolder,
): Promise<{ file: string; read: Lesson | LabError }[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.json'));
  return Promise.all(
    names.sort().map(async (file) => {
      const text = await readFile(join(folder, file), 'utf8');
      try {
        return { file, read: parseLesson(text) };
      } catch (error) {
        if (!(error instanceof LabError)) throw error;
        return { file, read: error };
      }
    }),
  );
}
