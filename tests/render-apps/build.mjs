// Bundles each application into OUT/NAME.js: node build.mjs OUT, where the packages are installed.
import { build } from 'esbuild';
import { compile } from 'svelte/compiler';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const here = path.dirname(fileURLToPath(import.meta.url));
const out = process.argv[2];

const svelte = {
  name: 'svelte',
  setup(within) {
    within.onLoad({ filter: /\.svelte$/ }, async ({ path: file }) => {
      const source = await readFile(file, 'utf8');
      return { contents: compile(source, { filename: file, generate: 'client' }).js.code };
    });
  },
};

for (const [name, entry] of [
  ['angular', 'angular.ts'],
  ['preact', 'preact.jsx'],
  ['react', 'react.jsx'],
  ['svelte', 'svelte.js'],
  ['vue', 'vue.js'],
]) {
  await build({
    entryPoints: [path.join(here, entry)],
    outfile: path.join(out, `${name}.js`),
    bundle: true,
    minify: true,
    format: 'iife',
    conditions: ['browser', 'production'],
    define: {
      'process.env.NODE_ENV': '"production"',
      __VUE_OPTIONS_API__: 'true',
      __VUE_PROD_DEVTOOLS__: 'false',
      __VUE_PROD_HYDRATION_MISMATCH_DETAILS__: 'false',
    },
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, useDefineForClassFields: false } },
    alias: { vue: 'vue/dist/vue.esm-bundler.js' },
    ...(name === 'preact' ? { jsxFactory: 'h', jsxFragment: 'Fragment' } : { jsx: 'automatic' }),
    plugins: [svelte],
  });
}
