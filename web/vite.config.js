import { readFileSync } from "node:fs";
import { defineConfig } from "vite";

// The licence of what is bundled travels with it. Minifying drops comments, so
// it is put in front afterwards.
const licence = {
  name: "licence",
  generateBundle(_, bundle) {
    const text = readFileSync(new URL("node_modules/uplot/LICENSE", import.meta.url), "utf8").trim();
    bundle["report.js"].code = `/*! uPlot, bundled below:\n${text}\n*/\n${bundle["report.js"].code}`;
  },
};

// One script and one style sheet, without hashes in their names: the Go side
// embeds them, and a rebuild of the same sources must give the same bytes.
export default defineConfig({
  plugins: [licence],
  build: {
    outDir: "../internal/report/assets",
    emptyOutDir: true,
    target: "es2022",
    cssCodeSplit: false,
    reportCompressedSize: false,
    lib: {
      entry: "src/report/main.ts",
      formats: ["iife"],
      name: "loadlineReport",
      fileName: () => "report.js",
      cssFileName: "report",
    },
  },
});
