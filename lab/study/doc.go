// Package study compares settings of agents: it trains one agent for each cell of a grid and
// each seed ([Run], study.go), several in parallel, and reports the results (report.go). The
// available agents are in agents.go; tasks.go lists small
// environments with known answers, to check agents and to try settings on.
package study
