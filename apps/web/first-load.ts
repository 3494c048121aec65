/** Measures what a browser loads before it shows the first page, and fails the build if that has grown too large. */
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

/** Bytes after compression: a second on a slow mobile connection. */
const firstLoadBytesMax = 250_000;

export function firstLoad(): Plugin {
  return {
    name: 'first-load',
    apply: 'build',
    generateBundle(_options, bundle) {
      const files = new Set<string>();
      const add = (name: string): void => {
        const chunk = bundle[name];
        if (files.has(name) || chunk?.type !== 'chunk') return;
        files.add(name);
        for (const css of chunk.viteMetadata?.importedCss ?? []) files.add(css);
        for (const imported of chunk.imports) add(imported);
      };
      for (const chunk of Object.values(bundle))
        if (chunk.type === 'chunk' && chunk.isEntry) add(chunk.fileName);
      let bytes = 0;
      for (const name of files) {
        const file = bundle[name]!;
        bytes += gzipSync(file.type === 'chunk' ? file.code : file.source).length;
      }
      const words = `${Math.round(bytes / 1000)} kB compressed in ${files.size} files`;
      if (bytes > firstLoadBytesMax)
        this.error(`the first page loads ${words}, more than ${firstLoadBytesMax / 1000} kB`);
      this.info(`the first page loads ${words}`);
    },
  };
}
