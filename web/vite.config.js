import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// One script and one style sheet for each page, without hashes in their names:
// the Go side embeds them, and a rebuild of the same sources must give the same
// bytes. `vite build --mode NAME` builds one of them.
const pages = {
  report: { entry: "src/report/main.ts", outDir: "../internal/report/assets", emptyOutDir: true },
  sandbox: { entry: "src/sandbox/main.ts", outDir: "../internal/sandbox/serve/assets", emptyOutDir: true },
  console: { entry: "src/console/main.ts", outDir: "../internal/console/page/assets", emptyOutDir: true },
  worker: { entry: "src/sandbox/worker.ts", outDir: "../internal/sandbox/serve/assets", emptyOutDir: false },
};

// The licence of what is bundled travels with it. Minifying drops comments, so
// it is put in front afterwards.
const licence = (name) => ({
  name: "licence",
  generateBundle(_, bundle) {
    const script = bundle[`${name}.js`];
    if (!Object.keys(script.modules).some((id) => id.includes("/uplot/"))) return;
    const text = readFileSync(new URL("node_modules/uplot/LICENSE", import.meta.url), "utf8").trim();
    script.code = `/*! uPlot, bundled below:\n${text}\n*/\n${script.code}`;
  },
});

export default defineConfig(({ mode }) => {
  const page = pages[mode];
  if (!page) throw new Error(`no page ${mode}: use --mode ${Object.keys(pages).join(", ")}`);
  return {
    plugins: [licence(mode)],
    define: { "process.env.NODE_ENV": '"production"' },
    build: {
      outDir: page.outDir,
      emptyOutDir: page.emptyOutDir,
      target: "es2022",
      cssCodeSplit: false,
      reportCompressedSize: false,
      minify: true,
      lib: {
        entry: page.entry,
        formats: ["iife"],
        name: `loadline${mode[0].toUpperCase()}${mode.slice(1)}`,
        fileName: () => `${mode}.js`,
        cssFileName: mode,
      },
    },
  };
});
