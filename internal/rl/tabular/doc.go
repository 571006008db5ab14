// Package tabular learns action values in a table: [Q] (q.go) is Q-learning, as
// CoScal uses it; [SARSA] (sarsa.go) is SARSA(lambda), as A-SARSA uses it. Their
// states are observations cut into bins (table.go).
package tabular
