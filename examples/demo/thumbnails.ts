import { mkdir, readdir, rename } from 'node:fs/promises';
import path from 'node:path';
import type { Errand } from 'errand';
import * as z from 'zod';
import { locate, type Place } from './place.ts';

const IMAGES = /\.(jpe?g|png|webp|gif|avif|tiff?)$/i;

/** `thumbnails`: asks the caller before it writes anything, then makes one thumbnail a step. */
export function addThumbnails(errand: Errand, place: Place): void {
  errand.tool(
    'thumbnails',
    {
      title: 'Make thumbnails',
      description: 'Small versions of all images in a folder, after the caller has approved.',
      inputSchema: z.object({
        path: z.string().default('examples/demo/images').describe('A folder of images, from the root of the server'),
        width: z.int().min(16).max(2048).default(256),
      }),
      outputSchema: z.object({ written: z.array(z.string()) }),
      task: 'always',
      pollInterval: '500ms',
    },
    async ({ path: wanted, width }, task) => {
      const folder = await task.step('find the folder', () => locate(place, wanted));
      const images = await task.step('list images', async () =>
        (await readdir(folder)).filter((name) => IMAGES.test(name)),
      );
      if (images.length === 0) throw new Error(`There are no images in ${wanted}.`);

      const target = path.join(place.data, 'thumbnails');
      const answer = await task.elicit('approve', {
        message: `Write ${images.length} thumbnails, ${width} pixels wide, to ${target}?`,
        schema: z.object({ format: z.enum(['webp', 'jpeg', 'png']).default('webp') }),
      });
      if (answer.action !== 'accept') {
        return { content: [{ type: 'text', text: 'Nothing was written.' }], structuredContent: { written: [] } };
      }

      const written: string[] = [];
      for (const name of images.sort()) {
        const file = path.join(target, `${path.parse(name).name}.${answer.content.format}`);
        written.push(await task.step(`shrink ${name}`, () => shrink(path.join(folder, name), file, width)));
        task.status(`${written.length} of ${images.length} thumbnails written`);
      }
      return { content: [{ type: 'text', text: written.join('\n') }], structuredContent: { written } };
    },
  );
}

/** May run twice after a crash: the file appears whole or not at all, and the same both times. */
async function shrink(source: string, file: string, width: number): Promise<string> {
  // Loaded when needed: where this platform has no sharp, the other tools still work.
  const { default: sharp } = await import('sharp');
  const { dir, base } = path.parse(file);
  const unfinished = path.join(dir, `.unfinished-${base}`);
  await mkdir(dir, { recursive: true });
  await sharp(source).rotate().resize({ width, withoutEnlargement: true }).toFile(unfinished);
  await rename(unfinished, file);
  return file;
}
