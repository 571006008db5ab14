// Writes the dashboards as TypeScript values of Grafana's type and has the compiler check them:
// a literal may have no field that the type has not, and no value that it does not allow.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = join(here, "../../deploy/grafana");
const files = readdirSync(folder).filter((name) => name.endsWith(".json"));
if (files.length < 2) {
  throw new Error(`${folder} has ${files.length} dashboards`);
}
// In JSON a value of an enumeration is its text or number.
let source = `import type { Dashboard } from "@grafana/schema";
type Plain<T> = T extends string ? \`\${T}\` : T extends number ? number : T extends boolean ? T
  : T extends (infer U)[] ? Plain<U>[] : T extends object ? { [K in keyof T]: Plain<T[K]> } : T;
`;
files.forEach((name, i) => {
  source += `export const d${i}: Plain<Dashboard> = ${readFileSync(join(folder, name), "utf8")};\n`;
});
const dir = mkdtempSync(join(here, "check-")); // beside node_modules
try {
  writeFileSync(join(dir, "dashboards.ts"), source);
  execFileSync(process.execPath, [join(here, "node_modules/typescript/bin/tsc"), "--noEmit", "--strict", "--skipLibCheck",
    "--moduleResolution", "bundler", "--module", "esnext", "--target", "es2022", join(dir, "dashboards.ts")], { stdio: "inherit" });
} finally {
  rmSync(dir, { recursive: true });
}
console.log(`${files.join(" and ")} are dashboards of Grafana's schema`);
