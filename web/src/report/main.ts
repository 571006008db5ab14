// The report, from top to bottom.

import "./style.css";
import { setTheme } from "../charts/theme";
import { readSummary } from "./data";
import { h } from "../base/dom";
import { filters } from "./filters";
import { header } from "./header";
import { latency } from "./latency";
import { lead } from "./lead";
import { learning } from "./learning";
import { perturbations } from "./perturbations";
import { looks } from "./policies";
import { Store } from "./state";
import { stories } from "./stories";
import { table } from "./table";
import { tradeoff } from "./tradeoff";
import { verdicts } from "./verdicts";

setTheme("auto");
const summary = readSummary();
const store = new Store(summary);
const look = looks(summary);

// One answer: verdicts on single scenarios would contradict the one over all of them.
const first = summary.lead ? lead(summary, summary.lead, look) : verdicts(store, look);
const main = h("main", {}, first, table(store, look), tradeoff(store, look), latency(store, look));
const disturbed = perturbations(store, look);
if (disturbed) main.append(disturbed);
const learned = learning(store, look);
if (learned) main.append(learned);
main.append(stories(store, look));
document.body.prepend(header(summary), filters(store), main);
document.documentElement.dataset["ready"] = "";
