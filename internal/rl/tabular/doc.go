// Package tabular learns action values in a table: [Q] (q.go) is Q-learning, as used by CoScal;
// [SARSA] (sarsa.go) is SARSA(lambda), as used by A-SARSA. Their states are observations
// divided into bins (table.go).
package tabular
